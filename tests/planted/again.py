"""Planted bugs for the numeric oracle that one call on inputs of the default domain does not show.

They are wrong on denormals, on infinities, on empty tensors, when they are called again, or in memory that is not
clean.  All promise exact bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxkit.passes.contract import Contract, Idempotence, NumericPromise

op = relax.op
_state: dict[Any, Any] = {}


def _rewrite(name: str, operator: str, change: Any) -> Any:
    """A pass that replaces float32 calls of an operator by ``change(call, new arguments)``."""

    @relax.expr_functor.mutator
    class Rewriter(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_call_(self, call: Any) -> Any:
            args = [self.visit_expr(arg) for arg in call.args]
            if isinstance(call.op, tvm.ir.Op) and call.op.name == operator and _fits(call.ty):
                return change(call, args)
            head = call.op if isinstance(call.op, tvm.ir.Op) else self.visit_expr(call.op)
            return relax.Call(head, args, call.attrs, call.ty_args, call.span)

    def run(mod: Any, _context: Any) -> Any:
        _state.clear()
        rewriter = Rewriter(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
        return rewriter.builder_.get()

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _fits(ty: Any) -> bool:
    tensor = isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr)
    return tensor and str(ty.dtype) == "float32" and len(ty.shape.values) > 0


def _one(value: float) -> Any:
    return relax.const(value, "float32")


def halves_first() -> Any:
    """Adds halves and doubles the sum: the last bit of a denormal is lost."""

    def change(_call: Any, args: list[Any]) -> Any:
        halves = [op.multiply(arg, _one(0.5)) for arg in args]
        return op.multiply(op.add(*halves), _one(2.0))

    return _rewrite("halves_first", "relax.add", change)


def halves_first_clean() -> Any:
    """Multiplies by one and adds."""
    return _rewrite("halves_first", "relax.add", lambda _, args: op.add(*[op.multiply(arg, _one(1.0)) for arg in args]))


def adds_nothing() -> Any:
    """Adds the difference of an operand and itself to a sum: for infinities that is NaN."""
    return _rewrite(
        "adds_nothing", "relax.add", lambda call, args: op.add(op.add(*args), op.subtract(args[0], args[0]))
    )


def adds_nothing_clean() -> Any:
    """Adds zero to a sum."""
    return _rewrite("adds_nothing", "relax.add", lambda _call, args: op.add(op.add(*args), _one(0.0)))


def _packed(name: str, function: Any) -> Any:
    """A pass that adds by a function of ours, which gets and gives NumPy arrays."""
    symbol = f"planted.{name}"

    def compute(*tensors: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*(tensor.numpy() for tensor in tensors))

    tvm.register_global_func(symbol, compute, override=True)
    return _rewrite(
        name,
        "relax.add",
        lambda call, args: op.call_pure_packed(symbol, *args, ty_args=relax.TensorType(call.ty.shape, "float32")),
    )


def memo_by_shape() -> Any:
    """Remembers results by shape: the first result of a shape is given for all operands of that shape."""

    def add(left: Any, right: Any) -> Any:
        total = np.asarray(left + right)
        return _state.setdefault(total.shape, tvm.runtime.tensor(total))

    return _packed("memo_by_shape", add)


def memo_by_shape_clean() -> Any:
    """Remembers results by shape and operands."""

    def add(left: Any, right: Any) -> Any:
        key = (left.shape, right.shape, left.tobytes(), right.tobytes())
        if key not in _state:
            _state[key] = left + right
        return tvm.runtime.tensor(np.array(_state[key]))

    return _packed("memo_by_shape", add)


def one_buffer() -> Any:
    """Gives every sum in the buffer that the last one of this shape was given in."""

    def add(left: Any, right: Any) -> Any:
        total = np.asarray(left + right)
        if total.shape not in _state:
            _state[total.shape] = tvm.runtime.tensor(total)
        return _state[total.shape].copyfrom(total)

    return _packed("one_buffer", add)


def one_buffer_clean() -> Any:
    """Gives every sum in a buffer of its own."""
    return _packed("one_buffer", lambda left, right: tvm.runtime.tensor(np.asarray(left + right)))


def greatest_of_none() -> Any:
    """Adds by a function that asks for the greatest operand first: an empty tensor has none."""

    def add(left: Any, right: Any) -> Any:
        assert left.max() >= left.min() or np.isnan(left).any()
        return tvm.runtime.tensor(np.asarray(left + right))

    return _packed("greatest_of_none", add)


def greatest_of_none_clean() -> Any:
    """Asks for the greatest operand where there is one."""

    def add(left: Any, right: Any) -> Any:
        assert not left.size or left.max() >= left.min() or np.isnan(left).any()
        return tvm.runtime.tensor(np.asarray(left + right))

    return _packed("greatest_of_none", add)


def reads_garbage() -> Any:
    """Adds the difference of a tensor that nobody has written and itself: nothing, unless NaN was in its memory."""

    def change(call: Any, args: list[Any]) -> Any:
        garbage = op.builtin.alloc_tensor(call.ty.shape, "float32", 0)
        return op.add(op.add(*args), op.subtract(garbage, garbage))

    return _rewrite("reads_garbage", "relax.add", change)


def reads_garbage_clean() -> Any:
    """Adds the difference of a tensor of ones and itself."""

    def change(call: Any, args: list[Any]) -> Any:
        ones = op.ones(call.ty.shape, "float32")
        return op.add(op.add(*args), op.subtract(ones, ones))

    return _rewrite("reads_garbage", "relax.add", change)


for _factory in (
    halves_first,
    halves_first_clean,
    adds_nothing,
    adds_nothing_clean,
    memo_by_shape,
    memo_by_shape_clean,
    one_buffer,
    one_buffer_clean,
    greatest_of_none,
    greatest_of_none_clean,
    reads_garbage,
    reads_garbage_clean,
):
    _factory.contract = Contract(  # type: ignore[attr-defined]  # where it is looked for
        _factory.__name__.removesuffix("_clean"), idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.BIT_EXACT
    )
