"""Reductions of TIR kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.kernels import fewer_stages, fixed, plain_bodies, signature, without_annotations
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.uses import callers, expressions, replace_in
from relaxkit.ir.types import flat

_BODIES: tuple[Callable[[Any, bool], Iterable[Any]], ...] = (
    lambda kernel, _: plain_bodies(kernel),
    fewer_stages,
    lambda kernel, _: [without_annotations(kernel)],
)
_NEEDED = frozenset({"s_tir", "global_symbol"})


@reduction("simplify kernels")
def kernels(sketch: Sketch) -> Edits:
    """Simplify TIR kernels: a copy or a store of ones, fewer stages, no attributes, one kernel for two."""
    kernels = {name: item for name, item in sketch.functions.items() if isinstance(item, tirx.PrimFunc)}
    for number, name in enumerate(kernels):
        for place, other in enumerate(kernels):
            if place < number and signature(kernels[name]) == signature(kernels[other]):
                yield (0, number, place), edit(sketch, _share, name, other)
    called = callers(sketch)
    for number, (name, kernel) in enumerate(kernels.items()):
        for way, bodies in enumerate(_BODIES):
            for place, simpler in enumerate(bodies(kernel, name in called)):
                if not tvm_ffi.structural_equal(simpler, kernel):
                    yield (1, number, way, place), edit(sketch, _with, name, simpler)
                elif way == 0:
                    break  # it is plain already, and those that follow are longer
        for place, key in enumerate(sorted(set(kernel.attrs.keys()) - _NEEDED if kernel.attrs is not None else ())):
            yield (1, number, len(_BODIES), place), edit(sketch, _with, name, kernel.without_attr(key))


def _share(sketch: Sketch, name: str, other: str) -> None:
    replace_in(sketch, lambda leaf: _renamed(leaf, name, sketch.global_vars[other]))
    del sketch.functions[name]


def _renamed(leaf: Any, name: str, other: Any) -> Any:
    return other if isinstance(leaf, tvm.ir.GlobalVar) and str(leaf.name_hint) == name else leaf


def _with(sketch: Sketch, name: str, kernel: tirx.PrimFunc) -> None:
    sketch.functions[name] = kernel


_CALLS = frozenset({"relax.call_tir", "relax.call_tir_inplace"})


@reduction("fix dims of kernels")
def kernel_dims(sketch: Sketch) -> Edits:
    """Static dims for a kernel's symbolic ones, where all its calls agree on them."""
    kernels = {name: item for name, item in sketch.functions.items() if isinstance(item, tirx.PrimFunc)}
    for number, (name, kernel) in enumerate(kernels.items()):
        sizes = _agreed(kernel, list(_operands(sketch, name)))
        if sizes:
            yield (number,), edit(sketch, _fixed, name, sizes)


def _operands(sketch: Sketch, name: str) -> Iterator[list[Any] | None]:
    """Yield types of the operands, outputs included, of each call of a kernel; ``None`` for another use of it."""
    for _, body, _ in sketch.bodies():
        for value in expressions(body):
            if not isinstance(value, tvm.ir.Call):
                continue
            if _is(value.op, name):
                yield [item.ty for item in value.args]
            elif any(_is(item, name) for item in value.args):
                if str(getattr(value.op, "name", "")) not in _CALLS or not _is(value.args[0], name):
                    yield None
                    continue
                types = [item.ty for item in value.args[1].fields] if isinstance(value.args[1], relax.Tuple) else []
                inplace = str(value.op.name) != "relax.call_tir"
                yield types if inplace else types + [leaf for item in value.ty_args for leaf in flat(item)]


def _is(item: Any, name: str) -> bool:
    return isinstance(item, tvm.ir.GlobalVar) and str(item.name_hint) == name


def _agreed(kernel: tirx.PrimFunc, calls: list[list[Any] | None]) -> dict[Any, int]:
    """Return symbols of the kernel's buffers with the size that every call gives."""
    found: dict[Any, set[int | None]] = {}
    for types in calls:
        if types is None:
            return {}
        for param, ty in zip(kernel.params, types, strict=False):
            if not hasattr(param, "shape"):
                continue
            shape = ty.shape if isinstance(ty, relax.TensorType) else None
            dims = list(shape.values) if isinstance(shape, relax.ShapeExpr) else []
            for place, dim in enumerate(param.shape):
                if isinstance(dim, tirx.Var):
                    size = dims[place] if place < len(dims) else None
                    found.setdefault(dim, set()).add(int(size) if isinstance(size, tirx.IntImm) else None)
    return {symbol: sizes.pop() or 0 for symbol, sizes in found.items() if len(sizes) == 1 and None not in sizes}


def _fixed(sketch: Sketch, name: str, sizes: dict[Any, int]) -> None:
    kernel = fixed(sketch.functions[name], sizes)
    if tvm_ffi.structural_equal(kernel, sketch.functions[name]):
        raise Invalid("the kernel has these dims")
    sketch.functions[name] = kernel
