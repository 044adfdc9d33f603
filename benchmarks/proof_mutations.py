"""Mutations of modules that change what they mean, or may: of the graph, of kernels, of memory, of the shape heap.

Each yields its mutants as functions, so that one can be chosen before it is made.  A mutant need not be well formed,
and need not act otherwise than the module: what it does is for an execution to say.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.ir.edits import with_functions
from relaxkit.ir.functions import is_public
from relaxkit.ir.retype import fields_of, with_fields
from relaxkit.ir.walk import expressions, is_constant, nodes, operator_of, places

Mutant = Callable[[], Any]
Mutation = Callable[["Draft"], Iterator[Mutant]]
MUTATIONS: dict[str, Mutation] = {}
"""Every kind, by its name."""


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


# -- the graph -----------------------------------------------------------------------------------------------------


@kind
def operands_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        values, rebuilt = operands(place.binding.value)
        for one, other in pairs_alike(values):
            yield draft.recalled(var, place, rebuilt(exchanged(values, one, other)))


@kind
def an_operand_twice(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        values, rebuilt = operands(place.binding.value)
        for one, other in pairs_alike(values):
            yield draft.recalled(var, place, rebuilt(with_item(values, one, values[other])))


@kind
def another_operand(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        values, rebuilt = operands(place.binding.value)
        for index, value in enumerate(values):
            for other in draft.alike(var, place, value) if isinstance(value, relax.Var) else ():
                yield draft.recalled(var, place, rebuilt(with_item(values, index, other)))


_RELATED = (
    "add subtract multiply divide maximum minimum power floor_divide",
    "exp tanh sin cos sqrt abs negative sigmoid erf ceil floor round",
    "less greater less_equal greater_equal equal not_equal",
    "sum max min mean prod",
    "argmax argmin",
    "logical_and logical_or logical_xor",
    "cumsum cumprod",
)


@kind
def another_operator(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        call = place.binding.value
        group = next((each.split() for each in _RELATED if callee(call).removeprefix("relax.") in each.split()), [])
        for name in group:
            if f"relax.{name}" != callee(call):
                op = tvm.ir.Op.get(f"relax.{name}")
                made = relax.Call(op, list(call.args), call.attrs, call.ty_args)
                yield functools.partial(draft.revalued, var, place, made)


def _attribute(name: str, varied: Callable[[Any], list[Any]]) -> None:
    """Enter a kind that gives an attribute of a call another value."""

    def mutation(draft: Draft) -> Iterator[Mutant]:
        for var, place in draft.calls:
            attrs = place.binding.value.attrs
            for key, value in fields_of(attrs).items():
                for other in varied(value):
                    yield functools.partial(_with_attribute, draft, var, place, key, other)

    MUTATIONS[name] = mutation


def _with_attribute(draft: Draft, var: Any, place: Any, key: str, value: Any) -> Any:
    call = place.binding.value
    return draft.recalled(var, place, call.args, with_fields(call.attrs, **{key: value}))()


_TEXTS = (("NCHW", "NHWC"), ("constant", "reflect"), ("edge", "reflect"), ("none", "add"), ("mean", "sum"),
          ("half_pixel", "align_corners"), ("linear", "nearest_neighbor"), ("both", "ascend"))  # fmt: skip


def _other_texts(value: Any) -> list[Any]:
    return [pair[1 - pair.index(value)] for pair in _TEXTS if value in pair] if isinstance(value, str) else []


def _other_ints(value: Any) -> list[Any]:
    if not isinstance(value, tvm_ffi.Array) or not all(isinstance(each, int | tirx.IntImm) for each in value):
        return []
    ints = [int(each) for each in value]
    return [ints[::-1], *([*ints[:at], ints[at] + by, *ints[at + 1 :]] for at in range(len(ints)) for by in (-1, 1))]


def _another_dtype(value: Any) -> list[Any]:
    wider = {"float32": "float16", "int32": "int8", "int64": "int16", "float16": "float32", "bool": "int8"}
    return [tvm_ffi.dtype(wider[str(value)])] if isinstance(value, tvm_ffi.dtype) and str(value) in wider else []


_attribute("a flag negated", lambda value: [not value] if isinstance(value, bool) else [])
_attribute(
    "another whole number",
    lambda value: [value + 1, value - 1, -value] if isinstance(value, int) and not isinstance(value, bool) else [],
)
_attribute("another fraction", lambda value: [value * 2 + 1, -value, value + 1e-3] if isinstance(value, float) else [])
_attribute("another list of numbers", _other_ints)
_attribute("another mode", _other_texts)
_attribute("another dtype", _another_dtype)


@kind
def rounded_to_half(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        value, bound = place.binding.value, place.binding.var
        if isinstance(bound.ty, relax.TensorType) and str(bound.ty.dtype) == "float32":
            narrow = relax.op.astype(relax.op.astype(value, "float16"), "float32")
            yield functools.partial(draft.revalued, var, place, narrow)


def _constants(draft: Draft) -> Iterator[tuple[Any, Any, Any, np.ndarray[Any, Any]]]:
    for var, place in draft.places:
        parts = operands(place.binding.value)[0] if isinstance(place.binding.value, relax.Call) else ()
        for each in (*parts, place.binding.value):
            if is_constant(each) and isinstance(each.value, tvm.runtime.Tensor) and each.value.numpy().size:
                yield var, place, each, each.value.numpy()


def _with_constant(draft: Draft, var: Any, place: Any, old: Any, new: np.ndarray[Any, Any]) -> Any:
    made = relax.const(new, str(old.ty.dtype))
    if place.binding.value.same_as(old):
        return draft.revalued(var, place, made)
    values, rebuilt = operands(place.binding.value)
    return draft.recalled(var, place, rebuilt([made if each.same_as(old) else each for each in values]))()


@kind
def another_element(draft: Draft) -> Iterator[Mutant]:
    for var, place, constant, array in _constants(draft):
        changed = array.copy()
        last = changed.reshape(-1)[-1]
        changed.reshape(-1)[-1] = np.logical_not(last) if array.dtype == bool else last + last.dtype.type(1)
        yield functools.partial(_with_constant, draft, var, place, constant, changed)


@kind
def elements_reversed(draft: Draft) -> Iterator[Mutant]:
    for var, place, constant, array in _constants(draft):
        if array.size > 1:
            yield functools.partial(
                _with_constant, draft, var, place, constant, array.reshape(-1)[::-1].reshape(array.shape).copy()
            )


@kind
def another_projection(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.places:
        item = place.binding.value
        if isinstance(item, relax.TupleGetItem) and isinstance(item.tuple_value.ty, relax.TupleType):
            for other in range(len(item.tuple_value.ty.fields)):
                if other != item.index:
                    made = relax.TupleGetItem(item.tuple_value, other)
                    yield functools.partial(draft.revalued, var, place, made)


@kind
def fields_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.places:
        value = place.binding.value
        if isinstance(value, relax.Tuple):
            for one, other in pairs_alike(value.fields):
                made = relax.Tuple(exchanged(value.fields, one, other))
                yield functools.partial(draft.revalued, var, place, made)


def _with_result(draft: Draft, var: Any, function: Any, result: Any) -> Any:
    body = relax.BlockBuilder(draft.module).normalize(relax.SeqExpr(function.body.blocks, result))
    return draft.with_function(var, relax.Function(function.params, body, None, function.is_pure, function.attrs))


@kind
def another_result(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        result = function.body.body
        outer = [binding.var for block in function.body.blocks for binding in block.bindings]
        for other in [*function.params, *(each for each in outer if not isinstance(each, relax.DataflowVar))]:
            if not other.same_as(result) and same_type(other, result):
                yield functools.partial(_with_result, draft, var, function, other)


@kind
def results_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        result = function.body.body
        if isinstance(result, relax.Tuple):
            for one, other in pairs_alike(result.fields):
                made = relax.Tuple(exchanged(result.fields, one, other))
                yield functools.partial(_with_result, draft, var, function, made)


def _branch(name: str, edit: Callable[[Any], Any]) -> None:
    def mutation(draft: Draft) -> Iterator[Mutant]:
        for var, place in draft.places:
            if isinstance(place.binding.value, relax.If):
                yield lambda var=var, place=place: draft.revalued(var, place, edit(place.binding.value))  # type: ignore[misc]

    MUTATIONS[name] = mutation


_branch("branches exchanged", lambda each: relax.If(each.cond, each.false_branch, each.true_branch))
_branch(
    "condition negated", lambda each: relax.If(relax.op.logical_not(each.cond), each.true_branch, each.false_branch)
)
_branch("one branch twice", lambda each: relax.If(each.cond, each.true_branch, relax.utils.copy_with_new_vars(
    relax.Function([], each.true_branch)).body))  # fmt: skip


# -- calls of functions, effects -----------------------------------------------------------------------------------


@kind
def another_callee(draft: Draft) -> Iterator[Mutant]:
    everything = [var for var, _ in draft.module.functions_items()]
    for var, place in draft.calls:
        call = place.binding.value
        for at, old in enumerate((call.op, *call.args)):
            for other in everything if isinstance(old, relax.GlobalVar) else ():
                if not other.same_as(old) and not other.same_as(var) and _one_signature(draft.module, old, other):
                    new = with_item([call.op, *call.args], at, other)
                    made = relax.Call(new[0], new[1:], call.attrs, call.ty_args)
                    yield functools.partial(draft.revalued, var, place, made)


def _one_signature(module: Any, one: Any, other: Any) -> bool:
    first, second = module[one], module[other]
    return type(first) is type(second) and len(first.params) == len(second.params) and all(
        str(getattr(mine, "ty", "")) == str(getattr(its, "ty", ""))
        for mine, its in zip(first.params, second.params, strict=True)
    )  # fmt: skip


@kind
def parameters_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        for one, other in pairs_alike(function.params) if not is_public(function) else ():
            params = exchanged(function.params, one, other)
            made = relax.Function(params, function.body, function.ret_ty, function.is_pure, function.attrs)
            yield functools.partial(draft.with_function, var, made)


@kind
def parameters_of_a_public_function_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, function in draft.functions:
        for one, other in pairs_alike(function.params) if is_public(function) else ():
            params = exchanged(function.params, one, other)
            made = relax.Function(params, function.body, function.ret_ty, function.is_pure, function.attrs)
            yield functools.partial(draft.with_function, var, made)


def _effects(draft: Draft) -> Iterator[tuple[Any, Any]]:
    for var, place in draft.calls:
        if isinstance(place.binding.var.ty, relax.TupleType) and not place.binding.var.ty.fields:
            yield var, place


@kind
def an_effect_dropped(draft: Draft) -> Iterator[Mutant]:
    for var, place in _effects(draft):
        yield functools.partial(draft.rebound, var, (place.binding, []))


@kind
def an_effect_twice(draft: Draft) -> Iterator[Mutant]:
    for var, place in _effects(draft):
        again = relax.VarBinding(relax.Var("again", place.binding.var.ty), place.binding.value)
        yield functools.partial(draft.rebound, var, (place.binding, [place.binding, again]))


@kind
def effects_exchanged(draft: Draft) -> Iterator[Mutant]:
    for (var, place), (its, other) in itertools.pairwise(_effects(draft)):
        if var.same_as(its) and place.block.same_as(other.block):
            yield functools.partial(
                draft.rebound, var, (place.binding, []), (other.binding, [other.binding, place.binding])
            )


@kind
def an_effect_earlier(draft: Draft) -> Iterator[Mutant]:
    for var, place in _effects(draft):
        bindings = list(place.block.bindings)
        at = next(index for index, each in enumerate(bindings) if each.same_as(place.binding))
        for before in bindings[max(0, at - 4) : at]:
            yield functools.partial(draft.rebound, var, (before, [place.binding, before]), (place.binding, []))


@kind
def read_behind_a_call_in_place(draft: Draft) -> Iterator[Mutant]:
    """Kernels that write into their operands although these are needed, or are the caller's."""
    for var, place in draft.named("relax.call_tir"):
        call = place.binding.value
        for index, each in enumerate(call.args[1].fields if isinstance(call.args[1], relax.Tuple) else ()):
            (out,) = call.ty_args
            if isinstance(each, relax.Var) and tvm_ffi.structural_equal(each.ty, out):
                yield functools.partial(_in_place, draft, var, place, index)


def _in_place(draft: Draft, var: Any, place: Any, index: int) -> Any:
    call = place.binding.value
    kernel = draft.module[call.args[0]]
    # The kernel's output is its operand: the body with the one buffer in the place of the other.
    given, written = kernel.params[index], kernel.params[len(call.args[1].fields)]
    body = tvm_ffi.structural_map(kernel.body, (tirx.Var, lambda each: given if each.same_as(written) else each))
    params = [each for each in kernel.params if not each.same_as(written)]
    made = tirx.PrimFunc(params, body, kernel.ret_type)
    builder = relax.BlockBuilder(draft.module)
    new = builder.add_func(made, "in_place")
    module = builder.get()
    return Draft(module).revalued(
        var, place, relax.op.call_tir_inplace(new, call.args[1], [index], list(call.ty_args), *call.args[2:])
    )


# -- symbolic dims ---------------------------------------------------------------------------------------------------


def _shapes(draft: Draft) -> Iterator[tuple[Any, Any, Any, Callable[[Any], Any]]]:
    """Yield the shapes that calls are given, each with what makes the call of another one."""
    for var, place in draft.calls:
        call = place.binding.value
        for at, each in enumerate(call.args):
            if isinstance(each, relax.ShapeExpr):
                yield (
                    var, place, each,
                    lambda new, call=call, at=at: relax.Call(
                        call.op, with_item(list(call.args), at, relax.ShapeExpr(new)), call.attrs, call.ty_args
                    ),
                )  # fmt: skip
        for each in call.ty_args:
            if isinstance(each, relax.TensorType) and isinstance(each.shape, relax.ShapeExpr):
                yield (
                    var, place, each.shape,
                    lambda new, call=call, each=each: relax.Call(
                        call.op, list(call.args), call.attrs,
                        [relax.TensorType(relax.ShapeExpr(new), each.dtype) if its.same_as(each) else its
                         for its in call.ty_args],
                    ),
                )  # fmt: skip


@kind
def dims_exchanged(draft: Draft) -> Iterator[Mutant]:
    for var, place, shape, rebuilt in _shapes(draft):
        for one, other in itertools.combinations(range(len(shape.values)), 2):
            made = rebuilt(exchanged(shape.values, one, other))
            yield functools.partial(draft.revalued, var, place, made)


@kind
def another_dim(draft: Draft) -> Iterator[Mutant]:
    for var, place, shape, rebuilt in _shapes(draft):
        known = relax.analysis.defined_symbolic_vars(draft.module[var])
        for at, dim in enumerate(shape.values):
            for other in (each for each in known if str(each.ty) == str(dim.ty)):
                if not isinstance(dim, tirx.IntImm) and not other.same_as(dim):
                    yield functools.partial(draft.revalued, var, place, rebuilt(with_item(shape.values, at, other)))


@kind
def another_expression_of_dims(draft: Draft) -> Iterator[Mutant]:
    for var, place, shape, rebuilt in _shapes(draft):
        for at, dim in enumerate(shape.values):
            for other in (dim + 1, dim * 2, tirx.max(dim - 1, 0)):
                yield functools.partial(draft.revalued, var, place, rebuilt(with_item(shape.values, at, other)))


@kind
def another_match_cast(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.places:
        binding = place.binding
        if isinstance(binding, relax.MatchCast):
            values = _dims(binding.ty)
            known = list(relax.analysis.defined_symbolic_vars(draft.module[var]))
            for at, dim in enumerate(values):
                number = isinstance(dim, tirx.IntImm)
                for other in [dim + 1] if number else [each for each in known if not each.same_as(dim)]:
                    yield functools.partial(_recast, draft, var, binding, with_item(values, at, other))
            for one, other in itertools.combinations(range(len(values)), 2):
                yield functools.partial(_recast, draft, var, binding, exchanged(values, one, other))


def _dims(ty: Any) -> list[Any]:
    if isinstance(ty, relax.ShapeType):
        return list(ty.values or ())
    return list(ty.shape.values) if isinstance(getattr(ty, "shape", None), relax.ShapeExpr) else []


def _recast(draft: Draft, var: Any, binding: Any, dims: list[Any]) -> Any:
    tensor = isinstance(binding.ty, relax.TensorType)
    ty = relax.TensorType(relax.ShapeExpr(dims), binding.ty.dtype) if tensor else relax.ShapeType(dims)
    new = type(binding.var)(binding.var.name, ty)
    return draft.rebound(var, (binding, [relax.MatchCast(new, binding.value, ty), relax.VarBinding(binding.var, new)]))


@kind
def another_scalar(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            elsewhere = ("vm.", *_ALLOC_STORAGE, *_ALLOC_TENSOR, "relax.builtin.alloc_tensor")  # devices, offsets
            if isinstance(each, tirx.IntImm | tirx.FloatImm) and not callee(place.binding.value).startswith(elsewhere):
                for other in shifted(each, 1) + shifted(each, -1):
                    yield draft.recalled(var, place, with_item(args, at, other))


@kind
def another_packed_function(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.calls:
        call = place.binding.value
        for at, old in enumerate((call.op, *call.args)):
            if isinstance(old, relax.ExternFunc) and not str(old.global_symbol).startswith("vm."):
                for _, other in draft.calls:
                    for new in (other.binding.value.op, *other.binding.value.args):
                        symbol = str(getattr(new, "global_symbol", "vm."))
                        if not symbol.startswith("vm.") and symbol != str(old.global_symbol):
                            parts = with_item([call.op, *call.args], at, new)
                            made = relax.Call(parts[0], parts[1:], call.attrs, call.ty_args)
                            yield functools.partial(draft.revalued, var, place, made)


# -- kernels -----------------------------------------------------------------------------------------------------------


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


# -- memory ------------------------------------------------------------------------------------------------------------

_ALLOC_TENSOR = ("relax.memory.alloc_tensor", "relax.vm.alloc_tensor")
_ALLOC_STORAGE = ("relax.memory.alloc_storage", "relax.vm.alloc_storage")
_KILLS = ("relax.vm.kill_object", "relax.memory.kill_tensor", "relax.memory.kill_storage")


@kind
def a_storage_is_reused_too_early(draft: Draft) -> Iterator[Mutant]:
    tensors = [(var, place) for var, place in draft.named(*_ALLOC_TENSOR)]
    for (var, place), (its, other) in itertools.combinations(tensors, 2):
        call, earlier = other.binding.value, place.binding.value
        if var.same_as(its) and place.block.same_as(other.block) and not call.args[0].same_as(earlier.args[0]):
            yield draft.recalled(var, other, [earlier.args[0], *call.args[1:]])


@kind
def a_smaller_storage(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*_ALLOC_STORAGE):
        call = place.binding.value
        if isinstance(call.args[0], relax.ShapeExpr):
            (size,) = call.args[0].values
            for smaller in (size - 1, tirx.floordiv(size, 2), tirx.IntImm("int64", 1)):
                yield draft.recalled(var, place, [relax.ShapeExpr([smaller]), *call.args[1:]])


@kind
def another_offset(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*_ALLOC_TENSOR):
        args = list(place.binding.value.args)
        yield draft.recalled(var, place, with_item(args, 1, tirx.IntImm("int64", 64)))


@kind
def a_smaller_tensor(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*_ALLOC_TENSOR, "relax.builtin.alloc_tensor"):
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            if isinstance(each, relax.ShapeExpr) and len(each.values):
                first = tirx.max(each.values[0] - 1, 0)
                yield draft.recalled(var, place, with_item(args, at, relax.ShapeExpr([first, *each.values[1:]])))


def _kernel_calls(draft: Draft) -> Iterator[tuple[Any, Any]]:
    for var, place in draft.calls:
        op = place.binding.value.op
        if isinstance(op, relax.GlobalVar) and isinstance(draft.module[op], tirx.PrimFunc):
            yield var, place


@kind
def another_destination(draft: Draft) -> Iterator[Mutant]:
    allocated = [place.binding.var for _, place in draft.named(*_ALLOC_TENSOR, "relax.builtin.alloc_tensor")]
    for var, place in _kernel_calls(draft):
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            for other in allocated if any(each.same_as(its) for its in allocated) else ():
                if not other.same_as(each) and same_type(other, each):
                    yield draft.recalled(var, place, with_item(args, at, other))


@kind
def written_into_a_parameter(draft: Draft) -> Iterator[Mutant]:
    for var, place in _kernel_calls(draft):
        args = list(place.binding.value.args)
        for at, each in enumerate(args):
            for other in draft.module[var].params:
                if not other.same_as(each) and same_type(other, each):
                    yield draft.recalled(var, place, with_item(args, at, other))


@kind
def killed_before_its_use(draft: Draft) -> Iterator[Mutant]:
    for var, place in draft.named(*_KILLS):
        killed = place.binding.value.args[0]
        users = [
            each for each in place.block.bindings
            if any(part.same_as(killed) for part in expressions(each.value)) and not each.same_as(place.binding)
        ]  # fmt: skip
        for user in users[-1:]:
            yield functools.partial(draft.rebound, var, (user, [place.binding, user]), (place.binding, []))


@kind
def killed_in_a_branch(draft: Draft) -> Iterator[Mutant]:
    kills = {"relax.memory.alloc_tensor": "relax.memory.kill_tensor", "relax.vm.alloc_tensor": "relax.vm.kill_object",
             "relax.builtin.alloc_tensor": "relax.memory.kill_tensor"}  # fmt: skip
    for (var, place), (its, other) in itertools.combinations(draft.places, 2):
        killing = kills.get(callee(place.binding.value)) if isinstance(place.binding.value, relax.Call) else None
        branch = other.binding.value
        if killing and var.same_as(its) and not place.branches and isinstance(branch, relax.If):
            call = relax.Call(tvm.ir.Op.get(killing), [place.binding.var])
            kill = relax.BindingBlock([relax.VarBinding(relax.Var("_", relax.TupleType([])), call)])
            killed = relax.SeqExpr([*branch.true_branch.blocks, kill], branch.true_branch.body)
            made = relax.If(branch.cond, killed, branch.false_branch)
            yield functools.partial(draft.revalued, var, other, made)


# -- the shape heap ----------------------------------------------------------------------------------------------------


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
