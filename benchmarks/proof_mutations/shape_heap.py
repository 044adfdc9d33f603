"""The heap of dims of the virtual machine: numbers and dtypes that its functions are given, slots that they use."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import tvm
import tvm_ffi
from tvm import tirx

from proof_mutations.draft import MUTATIONS, Draft, Mutant, callee, exchanged, kind, operands, with_item
from relaxkit.ir.walk import is_constant


def _numbers(name: str, functions: tuple[str, ...], by: int) -> None:
    """Enter a kind that changes a number among the arguments of functions of the virtual machine."""

    def mutation(draft: Draft) -> Iterator[Mutant]:
        for var, place in draft.named(*functions, "relax.call_builtin_with_ctx"):
            values, rebuilt = operands(place.binding.value)
            named = [callee(place.binding.value), str(getattr(place.binding.value.args[0], "global_symbol", ""))]
            for at, each in enumerate(values) if any(one in functions for one in named) else ():
                if isinstance(each, tirx.IntImm) and int(each) + by >= 0:
                    other = tirx.IntImm(each.ty.dtype, int(each) + by)
                    yield draft.recalled(var, place, rebuilt(with_item(values, at, other)))

    MUTATIONS[name] = mutation


for _step, _word in ((1, "greater"), (-1, "smaller")):
    _numbers(f"a {_word} number in match_shape", ("vm.builtin.match_shape", "vm.builtin.match_prim_value"), _step)
    _numbers(f"a {_word} number in make_shape", ("vm.builtin.make_shape", "vm.builtin.make_prim_value"), _step)
_numbers("a smaller shape heap", ("vm.builtin.alloc_shape_heap",), -1)
_numbers("another rank is checked", ("vm.builtin.check_tensor_info", "vm.builtin.check_shape_info"), 1)


@kind
def another_dtype_is_checked(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named("vm.builtin.check_tensor_info"):
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            if is_constant(each):
                yield draft.recalled(
                    var, place, with_item(args, at, tvm.ir.GenericConst(tvm_ffi.dtype("int8"), each.ty))
                )


@kind
def slots_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named("vm.builtin.match_shape", "vm.builtin.make_shape"):
        args = list(place.binding.value.args)
        slots = [at for at, each in enumerate(args) if isinstance(each, tirx.IntImm)][2::2]
        for one, other in itertools.combinations(slots, 2):
            if int(args[one]) != int(args[other]):
                yield draft.recalled(var, place, exchanged(args, one, other))
