"""Planted bugs for the numeric oracle in how values flow: memory, effects, tuples, calls, constants, symbolic dims.

What they give is well formed and of the right types; only a run shows it.  The clean twins rewrite the same places.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.compat.shims import type_key
from relaxkit.passes.contract import default_contract
from relaxkit.passes.contracts import CONTRACTS

op = relax.op

Visits = dict[str, Callable[..., Any]]


def _rewrite(name: str, visits: Callable[[], Visits], before: Callable[[Any], Any] = lambda mod: mod) -> Any:
    """A pass that runs ``before``, and then goes through every function with a mutator that has these visits."""

    def run(mod: Any, _context: Any) -> Any:
        mod = before(mod)
        mutator = relax.expr_functor.mutator(type("Mutator", (relax.PyExprMutator,), visits()))(mod)
        for variable, function in mod.functions_items():
            if isinstance(function, relax.Function):
                mutator.builder_.update_func(variable, mutator.visit_expr(function))
        return mutator.builder_.get()

    return tvm.transform.module_pass(run, opt_level=0, name=name)


def _numbers(ty: Any, dtypes: tuple[str, ...] = ("float32",)) -> list[int] | None:
    """The dims of a tensor of one of these dtypes when they are numbers."""
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr) or str(ty.dtype) not in dtypes:
        return None
    dims = list(ty.shape.values)
    return [int(dim) for dim in dims] if all(isinstance(dim, tvm.tirx.IntImm) for dim in dims) else None


@functools.cache
def _adding_kernel(shape: tuple[int, ...]) -> Any:
    """A PrimFunc that adds its second buffer to its first."""
    axes = ", ".join(f"i{at}" for at in range(len(shape)))
    text = f"""# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def add_to(X: T.Buffer({shape}, "float32"), Y: T.Buffer({shape}, "float32")):
        for {axes} in T.grid({", ".join(map(str, shape))}):
            X[{axes}] = X[{axes}] + Y[{axes}]
"""
    return tvm.script.from_source(text)["add_to"]


def _in_place(wrong: bool) -> Any:
    def visit(self: Any, call: Any) -> Any:
        call = self.visit_expr_post_order(call)
        shape = _numbers(call.ty)
        if not shape or getattr(call.op, "name", "") != "relax.add":
            return call
        if any(_numbers(arg.ty) != shape for arg in call.args) or not isinstance(call.args[0], relax.Var):
            return call
        first = call.args[0] if wrong else self.builder_.emit(op.add(call.args[0], relax.const(0.0, "float32")))
        kernel = self.builder_.add_func(_adding_kernel(tuple(shape)), "add_to")
        return op.call_tir_inplace(kernel, relax.Tuple([first, call.args[1]]), [0], [call.ty])

    return _rewrite("in_place_live", lambda: {"visit_call_": visit})


def in_place_live() -> Any:
    """Adds in place, as if nobody else needed the first operand."""
    return _in_place(True)


def in_place_live_clean() -> Any:
    """Adds to a copy in place."""
    return _in_place(False)


# TVM's own pass hands storages from branch to branch and from device to device, and forgets packed calls in place.
_MISPLANNED = (f'"{type_key(relax.If)}"', 'VDevice"', "call_inplace_packed")


def _plan(mod: Any) -> Any:
    """Plan memory where TVM does it right."""
    text = tvm.ir.save_json(mod)
    return mod if any(each in text for each in _MISPLANNED) else relax.transform.StaticPlanBlockMemory()(mod)


def _planned(wrong: bool) -> Any:
    def visits() -> Visits:
        first: dict[str, Any] = {}  # storages of the block, by size and place

        def visit_call(self: Any, call: Any) -> Any:
            call = self.visit_expr_post_order(call)
            if not wrong or getattr(call.op, "name", "") != "relax.memory.alloc_tensor":
                return call
            storage = self.lookup_binding(call.args[0])
            if storage is None:
                return call
            chosen = first.setdefault(", ".join(map(str, storage.args)), call.args[0])
            return relax.Call(call.op, [chosen, *call.args[1:]], call.attrs, call.ty_args, call.span)

        def visit_block(self: Any, block: Any) -> Any:
            first.clear()
            return super(type(self), self).visit_binding_block_(block)

        return {"visit_call_": visit_call, "visit_binding_block_": visit_block}

    return _rewrite("shared_storage", visits, _plan)


def shared_storage() -> Any:
    """Plans memory, and takes for free every storage that is as large as one that it has."""
    return _planned(True)


def shared_storage_clean() -> Any:
    """Plans memory."""
    return _planned(False)


for _factory in (shared_storage, shared_storage_clean):
    _row = CONTRACTS["StaticPlanBlockMemory"]
    _factory.contract = replace(  # type: ignore[attr-defined]  # where it is looked for
        default_contract("shared_storage"), prepare=_row.prepare, needs=_row.needs, gives=_row.gives
    )


def _is_print(binding: Any) -> bool:
    return getattr(getattr(binding.value, "op", None), "name", "") == "relax.print"


def _effects(wrong: bool) -> Any:
    def visit(self: Any, block: Any) -> Any:
        bindings = list(block.bindings)
        for at in range(len(bindings) - 1, -1, -1):
            after = next((k for k in range(at + 1, len(bindings)) if _is_print(bindings[k])), None)
            if not _is_print(bindings[at]) or (wrong and after is None):
                continue
            if wrong:
                bindings.insert(after, bindings.pop(at))
            elif at + 1 < len(bindings) and getattr(bindings[at + 1].value, "op", None) == tvm.ir.Op.get("relax.add"):
                bindings.insert(at + 1, bindings.pop(at))
        return super(type(self), self).visit_binding_block_(relax.BindingBlock(bindings, block.span))

    return _rewrite("swapped_effects", lambda: {"visit_binding_block_": visit})


def swapped_effects() -> Any:
    """Moves what prints behind what prints next."""
    return _effects(True)


def swapped_effects_clean() -> Any:
    """Moves what prints behind an addition."""
    return _effects(False)


def _field(wrong: bool) -> Any:
    def visit(self: Any, item: Any) -> Any:
        whole, index = self.visit_expr(item.tuple_value), int(item.index)
        ty = item.tuple_value.ty
        if not isinstance(ty, relax.TupleType):
            return relax.TupleGetItem(whole, index)
        if not wrong:
            fields = [self.builder_.emit(relax.TupleGetItem(whole, at)) for at in range(len(ty.fields))]
            return relax.TupleGetItem(relax.Tuple(fields), index)
        others = [at for at, field in enumerate(ty.fields) if at != index and tvm_ffi.structural_equal(field, item.ty)]
        return relax.TupleGetItem(whole, others[0] if others else index)

    return _rewrite("wrong_field", lambda: {"visit_tuple_getitem_": visit})


def wrong_field() -> Any:
    """Takes another field of a tuple, of the same type."""
    return _field(True)


def wrong_field_clean() -> Any:
    """Takes the field out of a copy of the tuple."""
    return _field(False)


_FLOATING = frozenset(f"relax.{name}" for name in ("add", "multiply", "subtract", "exp", "tanh", "sin", "cos", "abs"))


def _extent(wrong: bool) -> Any:
    def visit(self: Any, call: Any) -> Any:
        call = self.visit_expr_post_order(call)
        if getattr(call.op, "name", "") not in _FLOATING or not isinstance(call.ty.shape, relax.ShapeExpr):
            return call
        dims = list(call.ty.shape.values)
        if not dims or not isinstance(dims[0], tvm.tirx.Var) or str(call.ty.dtype) != "float32":
            return call
        value = self.builder_.emit(call)
        places = op.cumsum(op.ones((dims[0],), "int64"), axis=0)
        covered = op.less_equal(places, relax.const(2 if wrong else 1000, "int64"))
        column = op.reshape(covered, (dims[0], *[1] * (len(dims) - 1)))
        return op.where(column, value, relax.const(0.0, "float32"))

    return _rewrite("fixed_dim", lambda: {"visit_call_": visit})


def fixed_dim() -> Any:
    """Covers the first two rows of a tensor, as if its symbolic dim were two."""
    return _extent(True)


def fixed_dim_clean() -> Any:
    """Covers as many as there are."""
    return _extent(False)


def _arguments(wrong: bool) -> Any:
    def visit(self: Any, call: Any) -> Any:
        call = self.visit_expr_post_order(call)
        if not isinstance(call.op, relax.GlobalVar):
            return call
        args = list(call.args)
        for right in range(1, len(args)):
            if _numbers(args[0].ty) is not None and tvm_ffi.structural_equal(args[0].ty, args[right].ty):
                same = [self.builder_.emit(op.reshape(args[at], args[at].ty.shape)) for at in (0, right)]
                args[0], args[right] = same[::-1] if wrong else same
                break
        return relax.Call(call.op, args, call.attrs, call.ty_args, call.span)

    return _rewrite("crossed_arguments", lambda: {"visit_call_": visit})


def crossed_arguments() -> Any:
    """Exchanges the first argument of a call with another one of its type."""
    return _arguments(True)


def crossed_arguments_clean() -> Any:
    """Copies the two."""
    return _arguments(False)


def _constants(wrong: bool) -> Any:
    def visits() -> Visits:
        pool: dict[tuple[Any, ...], Any] = {}

        def visit(self: Any, const: Any) -> Any:
            if not isinstance(const.value, tvm.runtime.Tensor) or _numbers(const.ty) is None:
                return const
            value = const.value.numpy()
            content = b"" if wrong else value.tobytes()
            return pool.setdefault((value.shape, content), relax.const(value.copy(), "float32"))

        def visit_function(self: Any, function: Any) -> Any:
            pool.clear()
            return super(type(self), self).visit_function_(function)

        # The former name is that of TVM 0.27, the latter that of those before.
        return {"visit_generic_const_": visit, "visit_constant_": visit, "visit_function_": visit_function}

    return _rewrite("merged_constants", visits)


def merged_constants() -> Any:
    """Keeps one float32 constant of each shape in a function."""
    return _constants(True)


def merged_constants_clean() -> Any:
    """Keeps one of each shape and content."""
    return _constants(False)
