"""Reductions of parameters."""

from __future__ import annotations

from tvm import relax

from fuzzer.minimizer.reductions.reduction import Edits, edit, reduction
from relaxkit.ir.retype import Invalid
from relaxkit.ir.sketch.emit import same_type
from relaxkit.ir.sketch.params import calls_of, remove_param
from relaxkit.ir.sketch.sketch import Sketch
from relaxkit.ir.sketch.uses import with_args


@reduction("split tuple parameters")
def tuple_params(sketch: Sketch) -> Edits:
    """Single parameters for a parameter that is a tuple: those that nothing uses can then be dropped."""
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        for place, param in enumerate(func.params):
            if isinstance(param.ty, relax.TupleType):
                yield (number, place), edit(sketch, _split, name, place)


def _split(sketch: Sketch, name: str, place: int) -> None:
    func = sketch.functions[name]
    param = func.params[place]
    fields = [relax.Var(f"{param.name}_{index}", ty) for index, ty in enumerate(param.ty.fields)]
    func.params[place : place + 1] = fields
    count = func.attrs.get("num_input")
    if count is not None and place < int(count):
        func.attrs["num_input"] = int(count) - 1 + len(fields)
    sketch.aliases[param] = relax.Tuple(fields)
    for binding in calls_of(sketch, name):
        args = list(binding.value.args)
        if not isinstance(args[place], relax.Tuple):
            raise Invalid("the fields of a var would have to be bound first")
        binding.value = with_args(binding.value, [*args[:place], *args[place].fields, *args[place + 1 :]])


@reduction("merge parameters")
def same_params(sketch: Sketch) -> Edits:
    """One parameter in place of two of the same type."""
    for number, (name, func) in enumerate(sketch.relax_functions().items()):
        for place in range(len(func.params) - 1, 0, -1):
            for other in range(place):
                if same_type(func.params[other].ty, func.params[place].ty):
                    yield (number, -place, other), edit(sketch, _merge, name, place, other)


def _merge(sketch: Sketch, name: str, place: int, other: int) -> None:
    params = sketch.functions[name].params
    sketch.aliases[params[place]] = params[other]
    remove_param(sketch, name, place)
