"""Mutations of seeds: small changes after which the module is still well formed.

A change that TVM's type inference or checker does not take is undone, and counted; the seed itself always comes through.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GlobalVar, Op

from strategies.bounds import is_float
from strategies.choices import Choices
from strategies.copying import Copier, attributes
from strategies.seedfile import Stage

MOST_MUTATIONS = 6
_CHUNK = 4
"""Most bindings that are wrapped into a function of their own."""
_SET_ASIDE = frozenset({"Primitive", "Composite", "Codegen"})
"""Functions whose body others rely on as it is."""

op = relax.op


class Unchanged(Exception):
    """A mutation that finds nothing to act on."""


class Mutation(str, enum.Enum):
    """What can be done to a seed; the value is the name in reports."""

    ALIAS = "alias"
    REPLACE = "replace-operator"
    INSERT = "insert-operator"
    SWAP = "swap-operands"
    DUPLICATE = "duplicate-binding"
    DROP = "drop-binding"
    TUPLE = "through-tuple"
    CAST = "match-cast"
    COPY = "copy-function"
    WRAP = "wrap-into-function"
    RESIZE = "change-dim"

    def __str__(self) -> str:
        return self.value


ALL = tuple(Mutation)
OF_LOWERED = (Mutation.ALIAS, Mutation.TUPLE, Mutation.COPY)
"""Of lowered code: an operator among calls of the VM would be no lowered code any more."""


@dataclass(frozen=True, slots=True)
class Mutated:
    """A mutated seed.

    Attributes:
        module: The module.
        applied: The mutations in it, in order.
        undone: How many were tried and did not come out well formed.
    """

    module: Any
    applied: tuple[Mutation, ...] = ()
    undone: int = 0


def mutate(choices: Choices, module: Any, stage: Stage) -> Mutated:
    """Draw mutations and apply them to a module, which itself stays as it is.

    Args:
        choices: Where decisions come from; zeros change nothing.
        module: A well-formed module.
        stage: Its stage.
    """
    kinds = OF_LOWERED if stage is Stage.LOWERED else ALL
    state = _State(module)
    for _ in range(1 + choices.index(MOST_MUTATIONS)):
        choices.span(lambda: state.change(choices, choices.pick(kinds)))
    return Mutated(state.module, tuple(state.applied), state.undone)


class _State:
    def __init__(self, module: Any) -> None:
        self.module = module
        self.applied: list[Mutation] = []
        self.undone = 0

    def change(self, choices: Choices, kind: Mutation) -> None:
        try:
            made = _ACTIONS[kind](choices, self.module)
        except Unchanged:
            return
        except Exception:  # TVM refuses what came out: the change is undone, whatever it says
            self.undone += 1
            return
        if relax.analysis.check_well_formed(made):
            self.module = made
            self.applied.append(kind)
        else:
            self.undone += 1


# -- changes of one binding -----------------------------------------------------------------------------------------


def _at_binding(make: Callable[[Choices, Copier, Any, Any], Any]) -> Callable[[Choices, Any], Any]:
    """A mutation that binds another value at one place of one function."""

    def apply(choices: Choices, module: Any) -> Any:
        var, function = _function(choices, module)
        count = _bindings(function)
        if not count:
            raise Unchanged
        target, at = choices.index(min(count, 1 << 16)), -1

        def change(copier: Copier, binding: Any, value: Any) -> Any:
            nonlocal at
            at += 1
            if at != target:
                return value
            new = copier.builder.normalize(make(choices, copier, binding, value))
            if not tvm_ffi.structural_equal(new.ty, binding.var.ty, map_free_vars=True):
                raise ValueError("another type")  # what is downstream may rely on this one: kernels do
            return new

        copier = Copier(relax.BlockBuilder(module), change=change, fresh=False)
        return _replaced(module, {var: copier.function(function)})

    return apply


def _alias(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    return copier.local(value)


def _through_tuple(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    first = copier.local(value)
    members = [first] * (1 + choices.index(3))
    return relax.TupleGetItem(copier.local(relax.Tuple(members)), choices.index(len(members)))


def _cast(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    ty = binding.var.ty
    if not isinstance(ty, (relax.TensorType, relax.ShapeType)):
        raise Unchanged
    return copier.builder.match_cast(copier.local(value), copier.type(ty))


def _duplicate(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    first = copier.local(value)
    if choices.index(2) and _is_number(binding.var.ty):  # both are used
        return op.maximum(first, copier.local(value))
    return value


def _replace(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    if not (isinstance(value, relax.Call) and isinstance(value.op, Op)):
        raise Unchanged
    name = str(value.op.name).removeprefix("relax.")
    others = [other for group in _KINDRED if name in group for other in group if other != name]
    if not others:
        raise Unchanged
    return relax.Call(Op.get(f"relax.{choices.pick(others)}"), value.args, value.attrs, value.ty_args)


def _swap(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    if not isinstance(value, relax.Call):
        raise Unchanged
    args = list(value.args)
    inner = args[1] if len(args) > 1 and isinstance(args[1], relax.Tuple) else None
    items = list(inner.fields) if inner is not None else args
    pairs = [
        (i, j)
        for i in range(len(items))
        for j in range(i + 1, len(items))
        if not items[i].same_as(items[j]) and _same_type(items[i], items[j])
    ]
    if not pairs:
        raise Unchanged
    i, j = choices.pick(pairs)
    items[i], items[j] = items[j], items[i]
    if inner is not None:
        args[1], items = relax.Tuple(items), args
    return relax.Call(value.op, args if inner is not None else items, value.attrs, value.ty_args)


def _insert(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    ty = binding.var.ty
    if not isinstance(ty, relax.TensorType) or ty.dtype is None:
        raise Unchanged
    first = copier.local(value)
    made = _between(choices, copier, first, str(ty.dtype), ty.ndim)
    return made if choices.index(4) < 3 or not _is_number(ty) else op.minimum(copier.local(made), first)


def _between(choices: Choices, copier: Copier, first: Any, dtype: str, rank: int) -> Any:
    """An operator whose result is of the operand's type."""
    if dtype == "bool":
        return op.logical_not(first)
    ways: list[Callable[[], Any]] = [
        lambda: op.add(first, first),
        lambda: op.maximum(first, first),
        lambda: op.subtract(first, first),
        lambda: op.multiply(first, first),
        lambda: op.abs(first),
    ]
    if rank >= 0:
        ways.append(lambda: op.permute_dims(first, list(range(rank))))
    if rank >= 2:
        axes = [*range(rank - 2), rank - 1, rank - 2]
        ways.append(lambda: op.permute_dims(copier.local(op.permute_dims(first, axes)), axes))
    if is_float(dtype):
        ways += [lambda each=each: relax.Call(Op.get(f"relax.{each}"), [first]) for each in _UNARY]  # type: ignore[misc]
    if dtype == "float32":
        ways.append(lambda: op.astype(copier.local(op.astype(first, "float16")), "float32"))
    return choices.pick(ways)()


def _drop(choices: Choices, copier: Copier, binding: Any, value: Any) -> Any:
    """Another value of the same type instead: one of the operands if there is one, else a parameter."""
    items = list(value.args) if isinstance(value, relax.Call) else []
    items += [field for item in items if isinstance(item, relax.Tuple) for field in item.fields]
    items += copier.params
    fits = [item for item in items if _typed(item) and tvm_ffi.structural_equal(item.ty, binding.var.ty)]
    if not fits:
        raise Unchanged
    return choices.pick(fits)


def _typed(item: Any) -> bool:
    return isinstance(item, relax.Var) and isinstance(item.ty, relax.Type)


def _same_type(left: Any, right: Any) -> bool:
    types = (relax.TensorType, relax.TupleType)
    return isinstance(left.ty, types) and bool(tvm_ffi.structural_equal(left.ty, right.ty))


def _is_number(ty: Any) -> bool:
    return isinstance(ty, relax.TensorType) and ty.dtype is not None and str(ty.dtype) != "bool"


_UNARY = ("exp", "nn.relu", "tanh", "sigmoid", "nn.silu", "nn.gelu", "cos", "floor", "sqrt", "negative", "square", "erf")
_KINDRED: tuple[tuple[str, ...], ...] = (
    (*_UNARY, "abs", "sin", "sign", "round", "ceil", "trunc", "log", "rsqrt", "atan", "sinh", "cosh", "tan"),
    ("add", "multiply", "subtract", "maximum", "minimum", "divide", "power", "floor_mod"),
    ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"),
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    ("logical_and", "logical_or", "logical_xor"),
    ("sum", "max", "min", "mean", "prod", "variance", "std"),
    ("argmax", "argmin"),
    ("cumsum", "cumprod"),
    ("nn.softmax", "nn.log_softmax"),
    ("nn.max_pool1d", "nn.avg_pool1d"),
    ("nn.max_pool2d", "nn.avg_pool2d"),
    ("nn.max_pool3d", "nn.avg_pool3d"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("tril", "triu"),
)
"""Operators that take the same arguments and attributes."""


# -- changes of functions -------------------------------------------------------------------------------------------


def _copy(choices: Choices, module: Any) -> Any:
    """A second copy of a function, under a name of its own."""
    var, function = _function(choices, module, anything=True)
    name = _fresh(module, f"{var.name_hint}_copy")
    attrs = attributes(function)
    if "global_symbol" in attrs:
        attrs["global_symbol"] = name
    copied = Copier(relax.BlockBuilder(module)).function(function, attrs)
    # A builder of its own gives the variable its type; that of the module would find the function there already.
    return _replaced(module, {relax.BlockBuilder().add_func(copied, name): copied})


def _wrap(choices: Choices, module: Any) -> Any:
    """A few bindings as a private function, called where they were."""
    var, function = _function(choices, module)
    places = [
        (number, start)
        for number, block in enumerate(function.body.blocks)
        for start, binding in enumerate(block.bindings)
        if _wrappable(binding)
    ]
    if not places:
        raise Unchanged
    number, start = choices.pick(places)
    bindings = list(function.body.blocks[number].bindings)
    stop = start + 1
    while stop < len(bindings) and stop - start < _CHUNK and _wrappable(bindings[stop]) and choices.index(4):
        stop += 1
    chunk = bindings[start:stop]
    outline = _Outline(module, function, chunk, number, choices.index(2) == 1)
    builder = relax.BlockBuilder(module)
    callee = builder.add_func(outline.callee(builder), _fresh(module, "wrapped"))
    caller = _Caller(builder, chunk, callee, outline)
    made = caller.function(function)
    return _replaced(builder.get(), {var: made})


def _wrappable(binding: Any) -> bool:
    return isinstance(binding, relax.VarBinding) and isinstance(binding.value, (relax.Call, relax.TupleGetItem))


class _Outline:
    """A chunk of bindings: what it takes, and what is used of it later."""

    def __init__(self, module: Any, function: Any, chunk: Sequence[Any], number: int, dataflow: bool) -> None:
        self.function = function
        self.chunk = chunk
        self.dataflow = dataflow
        self.dims: list[Any] = []
        bound = [binding.var for binding in chunk]
        self.takes = list(
            dict.fromkeys(
                var
                for binding in chunk
                for var in relax.analysis.free_vars(binding.value)
                if var not in bound and not isinstance(var.ty, tvm.ir.PrimType)
            )
        )
        used: set[Any] = set(relax.analysis.free_vars(function.body.body))
        inside = {id(binding) for binding in chunk}
        for block in function.body.blocks:
            for binding in block.bindings:
                if not any(binding.same_as(each) for each in chunk) and id(binding) not in inside:
                    used.update(relax.analysis.free_vars(binding.value))
        self.gives = [var for var in bound if var in used]
        if not self.gives:
            raise Unchanged

    def callee(self, builder: Any) -> Any:
        copier = Copier(builder)
        params = [copier.parameter(var) for var in self.takes]
        builder.begin_scope(params)
        if self.dataflow:
            builder._begin_dataflow_block()
        else:
            builder._begin_binding_block()
        for binding in self.chunk:
            copier.vars[binding.var] = builder.emit(copier.expr(binding.value), binding.var.name)
        results = [copier.vars[var] for var in self.gives]
        result = results[0] if len(results) == 1 else relax.Tuple(results)
        if self.dataflow:
            result = builder.emit_output(result, "gv")
        block = builder._end_block()
        body = builder.normalize(relax.SeqExpr([block], result))
        builder.end_scope()
        made = relax.Function(params, body, is_pure=bool(self.function.is_pure))
        if missing := list(relax.analysis.free_symbolic_vars(made)):  # dims that no parameter's type defines
            shape = relax.Var("dims", relax.ShapeType(missing))
            made = relax.Function([*params, shape], body, is_pure=bool(self.function.is_pure))
            old = {new: symbol for symbol, new in copier.symbols.items()}
            self.dims = [old[symbol] for symbol in missing]
        return made


class _Caller(Copier):
    """Copies the function with a call in the place of the chunk."""

    def __init__(self, builder: Any, chunk: Sequence[Any], callee: Any, outline: _Outline) -> None:
        super().__init__(builder, fresh=False)
        self._chunk = list(chunk)
        self._callee = callee
        self._outline = outline

    def binding(self, binding: Any) -> None:
        """Copy a binding, or leave it to the call."""
        place = next((i for i, each in enumerate(self._chunk) if binding.same_as(each)), None)
        if place is None:
            super().binding(binding)
        elif place == 0:
            gives = self._outline.gives
            arguments = [self.vars[var] for var in self._outline.takes]
            if self._outline.dims:
                arguments.append(relax.ShapeExpr([self.dim(dim) for dim in self._outline.dims]))
            call = relax.Call(self._callee, arguments)
            if len(gives) == 1:
                self.vars[gives[0]] = self.emit(call, gives[0])
                return
            whole = self.local(call)
            for index, var in enumerate(gives):
                self.vars[var] = self.emit(relax.TupleGetItem(whole, index), var)


def _resize(choices: Choices, module: Any) -> Any:
    """Another static dim, wherever the module says it; only without kernels, whose loops say it in their own way."""
    if any(not isinstance(function, relax.Function) for function in module.functions.values()):
        raise Unchanged
    sizes: dict[int, None] = {}
    for _, function in _functions(module, anything=True):
        for param in function.params:
            if isinstance(param.ty, relax.TensorType) and isinstance(param.ty.shape, relax.ShapeExpr):
                sizes.update((int(dim), None) for dim in param.ty.shape.values if isinstance(dim, tirx.IntImm))
    if not sizes:
        raise Unchanged
    old = choices.pick(sorted(sizes))
    new = choices.pick([size for size in (1, 2, 3, 4, 6, 8, 5, 7, 16) if size != old])
    builder = relax.BlockBuilder()
    copies: dict[Any, Any] = {}
    for var in _callees_first(module):
        function = module[var]
        copies[var] = builder.add_func(Copier(builder, copies, sizes={old: new}).function(function), var.name_hint)
    made = builder.get()
    return tvm.IRModule(dict(made.functions.items()), attrs=module.attrs, global_infos=module.global_infos)


def _callees_first(module: Any) -> list[Any]:
    """All functions, each behind what it mentions; raises ``Unchanged`` where that is not possible."""
    left = {var: _mentions(function) for var, function in sorted(module.functions.items(), key=_name)}
    order: list[Any] = []
    while left:
        ready = [var for var, needs in left.items() if not needs & set(left)]
        if not ready:
            raise Unchanged  # recursion
        order += ready
        for var in ready:
            del left[var]
    return order


def _mentions(function: Any) -> set[Any]:
    found: list[Any] = []
    relax.analysis.post_order_visit(function, lambda expr: found.append(expr) if isinstance(expr, GlobalVar) else None)
    return set(found)


_ACTIONS: dict[Mutation, Callable[[Choices, Any], Any]] = {
    Mutation.ALIAS: _at_binding(_alias),
    Mutation.REPLACE: _at_binding(_replace),
    Mutation.INSERT: _at_binding(_insert),
    Mutation.SWAP: _at_binding(_swap),
    Mutation.DUPLICATE: _at_binding(_duplicate),
    Mutation.DROP: _at_binding(_drop),
    Mutation.TUPLE: _at_binding(_through_tuple),
    Mutation.CAST: _at_binding(_cast),
    Mutation.COPY: _copy,
    Mutation.WRAP: _wrap,
    Mutation.RESIZE: _resize,
}


# -- modules --------------------------------------------------------------------------------------------------------


def _name(item: tuple[Any, Any]) -> str:
    return str(item[0].name_hint)


def _functions(module: Any, *, anything: bool = False) -> list[tuple[Any, Any]]:
    """The Relax functions by name; without ``anything``, those whose body nobody relies on as it is."""
    found = [(var, function) for var, function in module.functions.items() if isinstance(function, relax.Function)]
    return sorted(
        (pair for pair in found if anything or not _SET_ASIDE & set(attributes(pair[1]))), key=_name
    )


def _function(choices: Choices, module: Any, *, anything: bool = False) -> tuple[Any, Any]:
    functions = _functions(module, anything=anything)
    if not functions:
        raise Unchanged
    return choices.pick(functions)


def _bindings(function: Any) -> int:
    """How many bindings a copy of a function meets that are no casts."""
    found: list[int] = []

    def look(expr: Any) -> None:
        if isinstance(expr, relax.SeqExpr):
            found.append(
                sum(not isinstance(each, relax.MatchCast) for block in expr.blocks for each in block.bindings)
            )

    relax.analysis.post_order_visit(function.body, look)
    return sum(found)


def _fresh(module: Any, name: str) -> str:
    taken = {var.name_hint for var in module.functions}
    number = 0
    while (made := f"{name}{number or ''}") in taken:
        number += 1
    return made


def _replaced(module: Any, functions: dict[Any, Any]) -> Any:
    """The module with other functions in the place of some."""
    whole = {**dict(module.functions.items()), **functions}
    return tvm.IRModule(whole, attrs=module.attrs, global_infos=module.global_infos)
