"""Simpler TIR kernels: a copy or a store of ones, fewer stages, no attributes and annotations, one kernel for two."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.sketch.kernels import fewer_stages, plain_bodies, signature, without_annotations
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.uses import replace_in

_BODIES: tuple[Callable[[Any], Iterable[Any]], ...] = (
    plain_bodies,
    fewer_stages,
    lambda kernel: [without_annotations(kernel)],
)
_NEEDED = frozenset({"s_tir", "global_symbol"})


@reduction("simplify kernels")
def edits(sketch: Sketch) -> Edits:
    kernels = {name: item for name, item in sketch.functions.items() if isinstance(item, tirx.PrimFunc)}
    for number, name in enumerate(kernels):
        for place, other in enumerate(kernels):
            if place < number and signature(kernels[name]) == signature(kernels[other]):
                yield (0, number, place), edit(sketch, _share, name, other)
    for number, (name, kernel) in enumerate(kernels.items()):
        for way, bodies in enumerate(_BODIES):
            for place, simpler in enumerate(bodies(kernel)):
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
