"""Statements of kernels: constants, operations, buffers, indices, loops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from proof_mutations.draft import MUTATIONS, Draft, Mutant, same_type, shifted
from relaxkit.ir.retype import with_fields
from relaxkit.ir.walk import nodes


def _in_kernels(name: str, kinds: tuple[type, ...], varied: Callable[[Any, Any], list[Any]]) -> None:
    """Enter a kind that puts another node in the place of one in what a kernel stores, or of one of its statements."""

    def mutation(draft: Draft) -> Iterator[Mutant]:
        for var, kernel in draft.kernels:
            if all(issubclass(each, tirx.Stmt) for each in kinds):
                pairs = [
                    (old, new) for each in kinds for old in nodes(kernel.body, each)[0] for new in varied(kernel, old)
                ]
            else:
                pairs = [pair for store in nodes(kernel.body, tirx.BufferStore)[0] for pair in inside(kernel, store)]
            for old, new in pairs:
                yield functools.partial(_with_statement, draft, var, kernel, old, new)

    def inside(kernel: Any, store: Any) -> Iterator[tuple[Any, Any]]:
        for each in kinds:
            for old in nodes(store.value, each)[0]:
                for new in varied(kernel, old):
                    yield store, tirx.BufferStore(store.buffer, _replaced(store.value, old, new), store.indices)

    MUTATIONS[name] = mutation


def _replaced(root: Any, old: Any, new: Any) -> Any:
    return tvm_ffi.structural_map(root, (type(old), lambda each: new if each.same_as(old) else each))


def _with_statement(draft: Draft, var: Any, kernel: Any, old: Any, new: Any) -> Any:
    made = tirx.PrimFunc(kernel.params, _replaced(kernel.body, old, new), kernel.ret_type, attrs=kernel.attrs)
    return draft.with_function(var, made)


_TURNED = {
    tirx.Add: tirx.Sub, tirx.Sub: tirx.Add, tirx.Mul: tirx.Add, tirx.Div: tirx.Mul, tirx.Max: tirx.Min,
    tirx.Min: tirx.Max, tirx.LT: tirx.GE, tirx.LE: tirx.LT, tirx.GT: tirx.LE, tirx.GE: tirx.GT, tirx.EQ: tirx.NE,
}  # fmt: skip


def _other_loads(kernel: Any, load: Any) -> list[Any]:
    others = [
        each for each in kernel.params
        if not each.same_as(load.source) and same_type(each, load.source)
    ]  # fmt: skip
    return [tirx.BufferLoad(each, list(load.indices)) for each in others]


_in_kernels(
    "another constant of a kernel",
    (tirx.IntImm, tirx.FloatImm),
    lambda _, each: shifted(each, 1),
)
_in_kernels(
    "another operation of a kernel",
    tuple(_TURNED),
    lambda _, each: [_TURNED[type(each)](each.a, each.b)],
)
_in_kernels(
    "operands of a kernel's operation exchanged",
    (tirx.Sub, tirx.Div, tirx.LT, tirx.LE, tirx.FloorDiv, tirx.FloorMod),
    lambda _, each: [type(each)(each.b, each.a)],
)
_in_kernels("another buffer is read by a kernel", (tvm.ir.TensorLoad,), _other_loads)
_in_kernels(
    "indices of a kernel's store exchanged",
    (tirx.BufferStore,),
    lambda _, each: [with_fields(each, indices=list(each.indices)[::-1], span=None)] if len(each.indices) > 1 else [],
)
_in_kernels(
    "a loop of a kernel is shorter", (tirx.For,), lambda _, each: [with_fields(each, extent=each.extent - 1, span=None)]
)
