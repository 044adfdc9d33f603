"""Simpler TIR kernels: a copy or a store of ones, fewer stages, no attributes and annotations, one kernel for two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import tvm
import tvm_ffi
from tvm import tirx

from fuzzer.minimizer.kernel_bodies import fewer_stages, plain_bodies, signature, without_annotations
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.substitute import replace_in

_BODIES: tuple[Callable[[Any], Iterable[Any]], ...] = (
    plain_bodies,
    fewer_stages,
    lambda kernel: [without_annotations(kernel)],
)
_NEEDED = frozenset({"s_tir", "global_symbol"})


def _edits(sketch: Sketch) -> Iterator[Edit]:
    kernels = {name: item for name, item in sketch.functions.items() if isinstance(item, tirx.PrimFunc)}
    for number, name in enumerate(kernels):
        for place, other in enumerate(kernels):
            if place < number and signature(kernels[name]) == signature(kernels[other]):
                yield (0, number, place), partial(_share, sketch, name, other)
    for number, (name, kernel) in enumerate(kernels.items()):
        for way, bodies in enumerate(_BODIES):
            for place, simpler in enumerate(bodies(kernel)):
                if not tvm_ffi.structural_equal(simpler, kernel):
                    yield (1, number, way, place), partial(_with, sketch, name, simpler)
                elif way == 0:
                    break  # it is plain already, and those that follow are longer
        for place, key in enumerate(sorted(set(kernel.attrs.keys()) - _NEEDED if kernel.attrs is not None else ())):
            yield (1, number, len(_BODIES), place), partial(_with, sketch, name, kernel.without_attr(key))


def _share(sketch: Sketch, name: str, other: str) -> Sketch:
    result = sketch.copy()
    replace_in(result, lambda leaf: _renamed(leaf, name, sketch.global_vars[other]))
    del result.functions[name]
    return result


def _renamed(leaf: Any, name: str, other: Any) -> Any:
    return other if isinstance(leaf, tvm.ir.GlobalVar) and str(leaf.name_hint) == name else leaf


def _with(sketch: Sketch, name: str, kernel: Any) -> Sketch:
    result = sketch.copy()
    result.functions[name] = kernel
    return result


REDUCTION = Reduction("simplify kernels", _edits)
