"""Drop attributes of functions and of the module, names of public functions, and global infos."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fuzzer.minimizer import walk
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.reductions.vdevices import of_operators
from fuzzer.minimizer.sketch import Sketch


def _edits(sketch: Sketch) -> Iterator[Edit]:
    called = walk.callers(sketch)
    functions = sketch.relax_functions()
    if sum(len(func.attrs) for func in functions.values()) + len(sketch.attrs) > len(functions) + 1:
        yield (-1,), partial(_everything, sketch)
    for number, (name, func) in enumerate(functions.items()):
        for place, key in enumerate(sorted(func.attrs)):
            if key != "global_symbol" or called[name]:
                yield (0, number, place), partial(_function, sketch, name, key)
    for place, key in enumerate(sorted(sketch.attrs)):
        yield (1, place), partial(_module, sketch, key)
    for place, key in enumerate(sorted(sketch.global_infos)):
        if key != "vdevice" or next(of_operators(sketch), None) is None:  # TVMScript could not say what they name
            yield (2, place), partial(_info, sketch, key)


def _everything(sketch: Sketch) -> Sketch:
    """All attributes but the names of public functions at once."""
    result = sketch.copy()
    result.attrs.clear()
    for func in result.relax_functions().values():
        func.attrs = {key: value for key, value in func.attrs.items() if key == "global_symbol"}
    return result


def _function(sketch: Sketch, name: str, key: str) -> Sketch:
    result = sketch.copy()
    del result.functions[name].attrs[key]
    return result


def _module(sketch: Sketch, key: str) -> Sketch:
    result = sketch.copy()
    del result.attrs[key]
    return result


def _info(sketch: Sketch, key: str) -> Sketch:
    result = sketch.copy()
    del result.global_infos[key]
    if key == "vdevice":
        result.retype.devices = False
    return result


REDUCTION = Reduction("drop attributes", _edits)
