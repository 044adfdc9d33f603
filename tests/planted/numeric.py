"""Planted bugs for the numeric oracle that are wrong wherever the operator occurs.

The clean twins rewrite the same operators into something equal, so that there is a difference to judge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from relaxkit.passes.contract import Contract, Idempotence, NumericPromise

op = relax.op
FLOATS = ("float32", "float64")


def _rewrite(name: str, change: Any, visit_if: Any = None, visit_const: Any = None) -> Any:
    """A pass that replaces each operator call by ``change(operator's name, new call)`` where that is not ``None``."""

    @relax.expr_functor.mutator
    class Rewriter(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_call_(self, call: Any) -> Any:
            args = [self.visit_expr(arg) for arg in call.args]
            if not isinstance(call.op, tvm.ir.Op):
                return relax.Call(self.visit_expr(call.op), args, call.attrs, call.ty_args, call.span)
            same = relax.Call(call.op, args, call.attrs, call.ty_args, call.span)
            if change is None or not _known(call.ty):
                return same
            changed = change(call.op.name, call, args)
            return same if changed is None else changed

        def visit_if_(self, branch: Any) -> Any:
            new = relax.If(
                self.visit_expr(branch.cond),
                self.visit_expr(branch.true_branch),
                self.visit_expr(branch.false_branch),
                branch.span,
            )
            return visit_if(self.builder_, new) if visit_if else new

        def visit_generic_const_(self, const: Any) -> Any:
            changed = visit_const(const) if visit_const and hasattr(getattr(const, "value", None), "numpy") else None
            return const if changed is None else changed

    def run(mod: Any, _context: Any) -> Any:
        rewriter = Rewriter(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                rewriter.builder_.update_func(variable, rewriter.visit_expr(function))
        return rewriter.builder_.get()

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _known(ty: Any) -> bool:
    return isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and bool(str(ty.dtype))


def _dtype(call: Any) -> str:
    return str(call.ty.dtype)


def swapped_subtract() -> Any:
    """Takes subtraction for commutative."""
    return _rewrite(
        "swapped_subtract", lambda name, call, args: op.subtract(*args[::-1]) if name == "relax.subtract" else None
    )


def swapped_subtract_clean() -> Any:
    """Swaps the operands of additions, which are commutative."""
    return _rewrite("swapped_subtract", lambda name, call, args: op.add(*args[::-1]) if name == "relax.add" else None)


def _clips(name: str, call: Any) -> bool:
    return name == "relax.clip" and _dtype(call) in FLOATS and all(hasattr(bound, "value") for bound in call.args[1:])


def integer_clip() -> Any:
    """Drops what bounds of a clip have after the point, as if it were a clip of integers."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        return op.clip(args[0], *(float(int(bound.value)) for bound in args[1:])) if _clips(name, call) else None

    return _rewrite("integer_clip", change)


def integer_clip_clean() -> Any:
    """Clips twice."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        bounds = args[1:]
        return op.clip(op.clip(args[0], *bounds), *bounds) if _clips(name, call) else None

    return _rewrite("integer_clip", change)


def axis_off_by_one() -> Any:
    """Normalises softmax over the axis beside the right one."""
    return _rewrite("axis_off_by_one", lambda name, call, args: _softmax(name, call, args, 1))


def axis_off_by_one_clean() -> Any:
    """Writes the negative axis of a softmax as a positive one."""
    return _rewrite("axis_off_by_one", lambda name, call, args: _softmax(name, call, args, 0))


def _softmax(name: str, call: Any, args: list[Any], off: int) -> Any:
    if name not in ("relax.nn.softmax", "relax.nn.log_softmax", "relax.flip"):
        return None
    emit = {"relax.nn.softmax": op.nn.softmax, "relax.nn.log_softmax": op.nn.log_softmax, "relax.flip": op.flip}[name]
    rank = len(call.ty.shape.values)
    return emit(args[0], axis=(int(call.attrs.axis) + off) % rank) if rank else None


def wrong_branch() -> Any:
    """Takes the else branch of an ``If`` for the then branch."""
    return _rewrite(
        "wrong_branch",
        None,
        visit_if=lambda builder, old: relax.If(old.cond, old.false_branch, old.true_branch, old.span),
    )


def wrong_branch_clean() -> Any:
    """Exchanges the branches of an ``If`` and negates its condition."""

    def exchange(builder: Any, old: Any) -> Any:
        if not isinstance(old.cond.ty, relax.TensorType):
            return old
        return relax.If(builder.emit(op.logical_not(old.cond)), old.false_branch, old.true_branch, old.span)

    return _rewrite("wrong_branch", None, visit_if=exchange)


def rounded_constant() -> Any:
    """Keeps one digit of a float constant after the point."""

    def change(const: Any) -> Any:
        value = const.value.numpy()
        return relax.const(value.round(1), value.dtype.name) if value.dtype.name in FLOATS else None

    return _rewrite("rounded_constant", None, visit_const=change)


def rounded_constant_clean() -> Any:
    """Copies constants."""

    def change(const: Any) -> Any:
        value = const.value.numpy()
        return relax.const(value.copy(), value.dtype.name) if value.dtype.name in FLOATS else None

    return _rewrite("rounded_constant", None, visit_const=change)


def sums_in_half() -> Any:
    """Adds up and multiplies matrices in float16 and casts the result back."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        if _dtype(call) != "float32":
            return None
        if name == "relax.sum":
            return op.astype(op.sum(op.astype(args[0], "float16"), call.attrs.axis, call.attrs.keepdims), "float32")
        if name == "relax.matmul" and all(str(arg.ty.dtype) == "float32" for arg in args):
            return op.astype(op.matmul(*(op.astype(arg, "float16") for arg in args)), "float32")
        return None

    return _rewrite("sums_in_half", change)


def sums_in_half_clean() -> Any:
    """Adds up and multiplies matrices in float64 and casts the result back."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        if _dtype(call) != "float32":
            return None
        if name == "relax.sum":
            return op.astype(op.sum(op.astype(args[0], "float64"), call.attrs.axis, call.attrs.keepdims), "float32")
        if name == "relax.matmul" and all(str(arg.ty.dtype) == "float32" for arg in args):
            return op.astype(op.matmul(*(op.astype(arg, "float64") for arg in args)), "float32")
        return None

    return _rewrite("sums_in_half", change)


def one_percent() -> Any:
    """Makes every float32 product 1% too large."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        if name == "relax.multiply" and _dtype(call) == "float32":
            return op.multiply(op.multiply(*args), relax.const(1.01, "float32"))
        return None

    return _rewrite("one_percent", change)


def one_percent_clean() -> Any:
    """Multiplies every float32 product by one."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        if name == "relax.multiply" and _dtype(call) == "float32":
            return op.multiply(op.multiply(*args), relax.const(1.0, "float32"))
        return None

    return _rewrite("one_percent", change)


def one_element() -> Any:
    """Spoils the last element of what a float32 addition of static shape gives, and nothing else."""
    return _rewrite("one_element", lambda name, call, args: _offset(name, call, args, 0.5))


def one_element_clean() -> Any:
    """Adds a tensor of zeros."""
    return _rewrite("one_element", lambda name, call, args: _offset(name, call, args, 0.0))


def _offset(name: str, call: Any, args: list[Any], last: float) -> Any:
    if name != "relax.add" or _dtype(call) != "float32":
        return None
    if not all(isinstance(dim, tvm.tirx.IntImm) for dim in call.ty.shape.values):
        return None
    offset = np.zeros([int(dim) for dim in call.ty.shape.values], "float32")
    if offset.size:
        offset.flat[-1] = last
    return op.add(op.add(*args), relax.const(offset, "float32"))


def third_times_three() -> Any:
    """Breaks its promise of bit-exact results: multiplies float32 by a third and by three."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        if name == "relax.add" and _dtype(call) == "float32":
            third = op.multiply(op.add(*args), relax.const(1.0 / 3.0, "float32"))
            return op.multiply(third, relax.const(3.0, "float32"))
        return None

    return _rewrite("third_times_three", change)


def third_times_three_clean() -> Any:
    """Keeps the promise: multiplies float32 by one, twice (a half and two would lose the last bit of a denormal)."""

    def change(name: str, call: Any, args: list[Any]) -> Any:
        if name == "relax.add" and _dtype(call) == "float32":
            same = op.multiply(op.add(*args), relax.const(1.0, "float32"))
            return op.multiply(same, relax.const(1.0, "float32"))
        return None

    return _rewrite("third_times_three", change)


def sixteen_units() -> Any:
    """Breaks the same promise by 16 units in the last place or so, in one element."""
    return _rewrite("sixteen_units", lambda name, call, args: _last_times(name, call, args, 1.0 + 2.0**-19))


def sixteen_units_clean() -> Any:
    """Multiplies by one."""
    return _rewrite("sixteen_units", lambda name, call, args: _last_times(name, call, args, 1.0))


def _last_times(name: str, call: Any, args: list[Any], factor: float) -> Any:
    if name != "relax.subtract" or _dtype(call) != "float32":
        return None
    if not all(isinstance(dim, tvm.tirx.IntImm) for dim in call.ty.shape.values):
        return None
    factors = np.ones([int(dim) for dim in call.ty.shape.values], "float32")
    if factors.size:
        factors.flat[-1] = factor
    return op.multiply(op.subtract(*args), relax.const(factors, "float32"))


for _factory in (third_times_three, third_times_three_clean, sixteen_units, sixteen_units_clean):
    _factory.contract = Contract(  # type: ignore[attr-defined]  # where it is looked for
        _factory.__name__, idempotence=Idempotence.UNKNOWN, numeric=NumericPromise.BIT_EXACT
    )
