"""Single parameters for a parameter that is a tuple: those that nothing uses can then be dropped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tvm import relax

from fuzzer.minimizer.params import calls_of
from fuzzer.minimizer.reduction import Edit, Reduction
from fuzzer.minimizer.sketch import Sketch
from fuzzer.minimizer.substitute import with_args


def _edits(sketch: Sketch) -> Iterator[Edit]:
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        for place, param in enumerate(func.params):
            if isinstance(param.ty, relax.TupleType):
                yield (number, place), partial(_split, sketch, name, place)


def _split(sketch: Sketch, name: str, place: int) -> Sketch | None:
    result = sketch.copy()
    func = result.functions[name]
    param = func.params[place]
    fields = [relax.Var(f"{param.name}_{index}", ty) for index, ty in enumerate(param.ty.fields)]
    func.params[place : place + 1] = fields
    count = func.attrs.get("num_input")
    if count is not None and place < int(count):
        func.attrs["num_input"] = int(count) - 1 + len(fields)
    result.aliases[param] = relax.Tuple(fields)
    for binding in calls_of(result, name):
        given = list(binding.value.args)
        if not isinstance(given[place], relax.Tuple):
            return None  # the fields of a var would have to be bound first
        binding.value = with_args(binding.value, [*given[:place], *given[place].fields, *given[place + 1 :]])
    return result


REDUCTION = Reduction("split tuple parameters", _edits)
