"""A module to be mutated, the table of all kinds of mutation, and what several kinds share."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.edits import with_functions
from relaxkit.ir.walk import operator_of, places

Mutant = Callable[[], Any]
Mutation = Callable[["Draft"], Iterator[Mutant]]
MUTATIONS: dict[str, Mutation] = {}
"""Every kind, by its name."""
ALLOC_TENSOR = ("relax.memory.alloc_tensor", "relax.vm.alloc_tensor")
ALLOC_STORAGE = ("relax.memory.alloc_storage", "relax.vm.alloc_storage")


def kind(mutation: Mutation) -> Mutation:
    """Enter a kind of mutation under the name of its function, in words."""
    MUTATIONS[mutation.__name__.replace("_", " ")] = mutation
    return mutation


class Draft:
    """A module that is to be mutated.

    Attributes:
        module: The module.
        places: Bindings of its Relax functions, each behind the variable of its function.
        calls: Those that bind calls.
        kernels: The kernels, each behind its variable.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        items = module.functions_items()
        self.functions = [(var, each) for var, each in items if isinstance(each, relax.Function)]
        self.kernels = [(var, each) for var, each in items if isinstance(each, tirx.PrimFunc)]
        self.places = [(var, place) for var, function in self.functions for place in places(function)]
        self.calls = [(var, place) for var, place in self.places if isinstance(place.binding.value, relax.Call)]

    def with_function(self, var: Any, function: Any) -> Any:
        """Return the module with another function in the place of one."""
        return with_functions(
            self.module, [(each, function if each.same_as(var) else its) for each, its in self.module.functions_items()]
        )

    def rebound(self, var: Any, *edits: tuple[Any, Sequence[Any]]) -> Any:
        """Return the module with other bindings in the place of some; types are inferred anew."""
        made = _Rebinding(self.module, edits).visit_expr(self.module[var])
        return self.with_function(var, relax.Function(made.params, made.body, None, made.is_pure, made.attrs))

    def revalued(self, var: Any, place: Any, value: Any) -> Any:
        """Return the module with another value bound in one place."""
        return self.rebound(var, (place.binding, [relax.VarBinding(place.binding.var, value)]))

    def recalled(self, var: Any, place: Any, args: Sequence[Any], attrs: Any = None) -> Mutant:
        """Return the mutant that makes a call with other arguments, and with other attributes when given."""
        call = place.binding.value
        made = relax.Call(call.op, list(args), attrs or call.attrs, call.ty_args)
        return lambda: self.revalued(var, place, made)

    def named(self, *names: str) -> Iterator[tuple[Any, Any]]:
        """Yield the calls of operators or packed functions of these names."""
        for var, place in self.calls:
            if callee(place.binding.value) in names:
                yield var, place

    def alike(self, var: Any, place: Any, wanted: Any) -> list[Any]:
        """Return parameters, and variables bound before a place in its own block, that have the type of another one."""
        bound = itertools.takewhile(lambda each: not each.same_as(place.binding), place.block.bindings)
        known = [*self.module[var].params, *(each.var for each in bound)]
        return [each for each in known if not each.same_as(wanted) and same_type(each, wanted)]


@relax.expr_functor.mutator
class _Rebinding(relax.PyExprMutator):
    """Puts bindings in the places of others."""

    def __init__(self, module: Any, edits: Sequence[tuple[Any, Sequence[Any]]]) -> None:
        super().__init__(module)
        self.edits = edits

    def visit_binding_block_(self, block: Any) -> Any:
        return super().visit_binding_block_(relax.BindingBlock(self._edited(block)))

    def visit_dataflow_block_(self, block: Any) -> Any:
        return super().visit_dataflow_block_(relax.DataflowBlock(self._edited(block)))

    def visit_var_binding_(self, binding: Any) -> None:
        if not any(binding.same_as(each) for _, new in self.edits for each in new):
            super().visit_var_binding_(binding)
            return
        outside = self.builder_.current_block_is_dataflow() and not isinstance(binding.var, relax.DataflowVar)
        emit = self.builder_.emit_output if outside else self.builder_.emit
        self.set_var_remap(binding.var, emit(self.visit_expr(binding.value), binding.var.name))

    def _edited(self, block: Any) -> list[Any]:
        bindings = []
        for each in block.bindings:
            bindings += next((list(new) for old, new in self.edits if old.same_as(each)), [each])
        return bindings


def callee(call: Any) -> str:
    """Return the name of the operator or packed function that is called."""
    return operator_of(call) or str(getattr(call.op, "global_symbol", ""))


def same_type(one: Any, other: Any) -> bool:
    """Say whether two expressions are of one type, other than a function's."""
    return not isinstance(one.ty, relax.FuncType) and bool(tvm_ffi.structural_equal(one.ty, other.ty))


def exchanged(values: Sequence[Any], one: int, other: int) -> list[Any]:
    """Return the values with two of them in each other's place."""
    made = list(values)
    made[one], made[other] = made[other], made[one]
    return made


def with_item(values: Sequence[Any], place: int, value: Any) -> list[Any]:
    """Return the values with another one in a place."""
    return [*values[:place], value, *values[place + 1 :]]


def shifted(number: Any, by: int) -> list[Any]:
    """Return a number that is greater by so much, where its dtype has one."""
    with contextlib.suppress(ValueError):
        return [type(number)(number.ty.dtype, number.value + by)]
    return []


def pairs_alike(values: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield the places of every two different values of one type."""
    for one, other in itertools.combinations(range(len(values)), 2):
        if not values[one].same_as(values[other]) and same_type(values[one], values[other]):
            yield one, other


def operands(call: Any) -> tuple[Sequence[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return the operands of a call, those in the tuple of a kernel's call, and what puts others in their place."""
    if len(call.args) > 1 and isinstance(call.args[1], relax.Tuple):
        return list(call.args[1].fields), lambda new: [call.args[0], relax.Tuple(list(new)), *call.args[2:]]
    return list(call.args), list
