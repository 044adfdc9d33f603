"""Drop attributes of functions and of the module, names of public functions, and global infos."""

from __future__ import annotations

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from fuzzer.minimizer.reductions.types.vdevices import of_operators
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.sketch import Sketch


@reduction("drop attributes")
def edits(sketch: Sketch) -> Edits:
    called = uses.callers(sketch)
    functions = sketch.relax_functions()
    if sum(len(func.attrs) for func in functions.values()) + len(sketch.attrs) > len(functions) + 1:
        yield (-1,), edit(sketch, _everything)
    for number, (name, func) in enumerate(functions.items()):
        for place, key in enumerate(sorted(func.attrs)):
            if key != "global_symbol" or called[name]:
                yield (
                    (0, number, place),
                    edit(sketch, lambda copy, name=name, key=key: copy.functions[name].attrs.pop(key)),
                )
    for place, key in enumerate(sorted(sketch.attrs)):
        yield (1, place), edit(sketch, lambda copy, key=key: copy.attrs.pop(key))
    for place, key in enumerate(sorted(sketch.global_infos)):
        if key != "vdevice" or next(of_operators(sketch), None) is None:  # TVMScript could not say what they name
            yield (2, place), edit(sketch, _info, key)


def _everything(sketch: Sketch) -> None:
    """Drop all attributes but the names of public functions at once."""
    sketch.attrs.clear()
    for func in sketch.relax_functions().values():
        func.attrs = {key: value for key, value in func.attrs.items() if key == "global_symbol"}


def _info(sketch: Sketch, key: str) -> None:
    del sketch.global_infos[key]
    if key == "vdevice":
        sketch.retype.devices = False
