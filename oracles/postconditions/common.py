"""What postconditions ask of modules: bindings with their scope, operators, types, and which functions are reached.

A repro script copies these definitions, so they use nothing but TVM, the standard library and
``oracles.preconditions``; and no two files of this package may define one name.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from oracles.preconditions import has_attribute, relax_functions


@dataclass(frozen=True, slots=True)
class Place:
    """A binding, and where it stands.

    Attributes:
        binding: The ``VarBinding`` or ``MatchCast``.
        block: Its block.
        scope: The sequences around it, outermost first: the function's body, then branches and local functions.
        local: Number of local functions around it.
        branches: Number of branches of ``If`` around it.
    """

    binding: Any
    block: Any
    scope: tuple[Any, ...]
    local: int = 0
    branches: int = 0

    @property
    def dataflow(self) -> bool:
        """Whether it stands in a dataflow block."""
        return isinstance(self.block, relax.DataflowBlock)


@functools.lru_cache(maxsize=32)  # the claims of one contract walk through the same functions
def places(function: Any) -> tuple[Place, ...]:
    """All bindings of a Relax function in program order, those of branches and local functions included.

    What is bound inside a value comes before the binding of that value.
    """
    return tuple(_places_in(function.body, (), 0, 0))


def _places_in(sequence: Any, scope: tuple[Any, ...], local: int, branches: int) -> Iterator[Place]:
    if not isinstance(sequence, relax.SeqExpr):
        return
    inside = (*scope, sequence)
    for block in sequence.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.If):
                yield from _places_in(value.true_branch, inside, local, branches + 1)
                yield from _places_in(value.false_branch, inside, local, branches + 1)
            elif isinstance(value, relax.Function):
                yield from _places_in(value.body, inside, local + 1, branches)
            yield Place(binding, block, inside, local, branches)


def sequences(function: Any) -> Iterator[Any]:
    """All ``SeqExpr`` of a Relax function: its body, and the bodies of branches and local functions."""
    yield function.body
    for place in places(function):
        yield from inner_sequences(place.binding.value)


def inner_sequences(value: Any) -> list[Any]:
    """The branches of an ``If``, the body of a local function; empty for any other value."""
    if isinstance(value, relax.If):
        return [value.true_branch, value.false_branch]
    return [value.body] if isinstance(value, relax.Function) else []


def operator_of(value: Any) -> str:
    """Name of the operator that an expression calls (``relax.add``); empty for everything else."""
    return str(value.op.name) if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op) else ""


def operators_called(module: Any, besides: Collection[str] = ()) -> Counter[str]:
    """How often each operator is called by the bindings of a module's Relax functions, ``besides`` left out."""
    counted: Counter[str] = Counter()
    for name, function in relax_functions(module):
        if name not in besides:
            counted.update(operator_of(place.binding.value) for place in places(function))
    del counted[""]
    return counted


def operators_left(module: Any, names: Iterable[str]) -> str:
    """The first operator out of ``names`` that a binding of the module still calls; empty when there is none."""
    wanted = frozenset(names)
    for _, function in relax_functions(module):
        for place in places(function):
            if (name := operator_of(place.binding.value)) in wanted:
                return name
    return ""


def name_of(var: Any) -> str:
    """Name of a Relax variable, in every release."""
    return str(var.name if hasattr(var, "name") else var.name_hint)


def operators_left_over(ran: Any, names: Iterable[str]) -> str:
    """Which of the operators ``names``, all of which the pass replaces, is still called."""
    name = operators_left(ran.after, names)
    return f"{name} is left" if name else ""


def functions_differ(ran: Any) -> str:
    """Whether a function of the module, of whatever kind, is another one than before, is gone or is new."""
    if said := functions_changed(ran):
        return said
    for name, old, new in both(ran):
        if not untouched(old, new):
            return f"{_kind_of(old)} is another one\nfunction: {name}"
    return ""


def is_public(function: Any) -> bool:
    """Whether a function of the module has a ``global_symbol``: callers outside of the module may know it."""
    return has_attribute(function, "global_symbol")


def private_relax_functions(module: Any) -> Iterator[tuple[Any, Any]]:
    """Relax functions without ``global_symbol``, with their ``GlobalVar``."""
    for var, function in module.functions_items():
        if isinstance(function, relax.Function) and not is_public(function):
            yield var, function


def functions_by_name(module: Any) -> dict[str, Any]:
    """All functions of the module, of every kind, by the names of their ``GlobalVar``."""
    return {str(var.name_hint): function for var, function in module.functions_items()}


def functions_by_symbol(module: Any) -> dict[str, Any]:
    """All functions of the module: public ones by their symbols, private ones by the names of their ``GlobalVar``."""
    named = functions_by_name(module)
    return {
        str(function.attrs["global_symbol"]) if is_public(function) else name: function
        for name, function in named.items()
    }


def mentioned_functions(function: Any) -> list[Any]:
    """Every ``GlobalVar`` that a Relax function mentions, as callee or as value."""
    return list(relax.analysis.all_global_vars(function))


def reached_functions(module: Any, entries: Iterable[str]) -> set[str]:
    """Names of the functions that the Relax functions named in ``entries`` reach, themselves included.

    Kernels call nothing here: a kernel that calls another through its ``GlobalVar`` is not followed.
    """
    functions = functions_by_name(module)
    reached: set[str] = set()
    waiting = [name for name in entries if name in functions]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        if isinstance(functions[name], relax.Function):
            waiting += [str(var.name_hint) for var in mentioned_functions(functions[name])]
    return reached


def types_in(function: Any) -> Iterator[Any]:
    """Types that a Relax function mentions, each with its parts: parameters, result, variables, values, type arguments.

    A type may come more than once.
    """
    yield from parts_of_type(function.ret_ty)
    for param in function.params:
        yield from parts_of_type(param.ty)
    for place in places(function):
        binding = place.binding
        yield from parts_of_type(binding.var.ty)
        if isinstance(binding, relax.MatchCast):
            yield from parts_of_type(binding.ty)
        value = binding.value
        yield from parts_of_type(value.ty)
        if isinstance(value, relax.Call):
            for argument in value.ty_args:
                yield from parts_of_type(argument)
        elif isinstance(value, relax.Function):
            yield from parts_of_type(value.ret_ty)
            for param in value.params:
                yield from parts_of_type(param.ty)
    for sequence in sequences(function):
        yield from parts_of_type(sequence.body.ty)


def parts_of_type(ty: Any) -> Iterator[Any]:
    """A type and what it is made of: the fields of tuples, the parameters and the result of functions."""
    if ty is None:
        return
    yield ty
    if isinstance(ty, relax.TupleType):
        for field in ty.fields:
            yield from parts_of_type(field)
    elif isinstance(ty, relax.FuncType):
        for param in ty.params or ():
            yield from parts_of_type(param)
        yield from parts_of_type(ty.ret)


def used_variables(function: Any) -> Counter[Any]:
    """How often each variable is read in a Relax function: by bound values and by results of sequences."""
    counted: Counter[Any] = Counter()
    for place in places(function):
        counted.update(variables_read(place.binding.value))
    for sequence in sequences(function):
        counted.update(variables_read(sequence.body))
    return counted


def variables_read(value: Any) -> Iterator[Any]:
    """Variables that a bound value reads itself, not inside the branches or the local function that it holds."""
    if isinstance(value, relax.Var):
        yield value
    elif isinstance(value, relax.Call):
        if isinstance(value.op, relax.Var):
            yield value.op
        for argument in value.args:
            yield from variables_read(argument)
    elif isinstance(value, relax.Tuple):
        for field in value.fields:
            yield from variables_read(field)
    elif isinstance(value, relax.TupleGetItem):
        yield from variables_read(value.tuple_value)
    elif isinstance(value, relax.If):
        yield from variables_read(value.cond)


def argument(ran: Any, position: int, name: str, default: Any = None) -> Any:
    """What the pass was built with, given by position or by name.

    Raises:
        oracles.given.NotLiteral: The text of the pass does not tell what it was built with.
    """
    arguments = ran.arguments
    return arguments[str(position)] if str(position) in arguments else arguments.get(name, default)


def operators_changed(ran: Any, fewer: Sequence[str] = (), more: Sequence[str] = ()) -> str:
    """Which operator is called more or less often than before, though the pass has no reason to.

    Args:
        ran: The run.
        fewer: Operators that may be called less often; ``"*"`` stands for all.
        more: Operators that may be called more often; ``"*"`` stands for all that were called before.
    """
    same = {name for name, old, new in both(ran) if new.same_as(old)}
    before, after = operators_called(ran.before, same), operators_called(ran.after, same)
    for name in sorted(before | after):
        if after[name] > before[name] and name not in more and not (before[name] and "*" in more):
            return f"an operator is called more often\n{name}: {before[name]} calls before, {after[name]} after"
        if after[name] < before[name] and name not in fewer and "*" not in fewer:
            return f"an operator is called less often\n{name}: {before[name]} calls before, {after[name]} after"
    return ""


def functions_changed(ran: Any, may_go: bool = False, may_come: bool = False) -> str:
    """Whether a function of the module is gone, or a new one is there, though the pass neither drops nor makes any.

    Public functions are told apart by symbol, since whatever finishes a module puts them under it; private ones by
    name. ``may_go`` and ``may_come`` allow the one or the other.
    """
    before, after = functions_by_symbol(ran.before), functions_by_symbol(ran.after)
    gone, new = sorted(set(before) - set(after)), sorted(set(after) - set(before))
    if gone and not may_go:
        return f"{_kind_of(before[gone[0]])} is gone\ngone: {gone}"
    if new and not may_come:
        return f"{_kind_of(after[new[0]])} is new\nnew: {new}"
    return ""


def _kind_of(function: Any) -> str:
    visible = "a public" if is_public(function) else "a private"
    return f"{visible} {'Relax function' if isinstance(function, relax.Function) else type(function).__name__}"


def both(ran: Any) -> Iterator[tuple[str, Any, Any]]:
    """Functions of one name before and after, of whatever kind, with the name."""
    after = functions_by_name(ran.after)
    for name, old in functions_by_name(ran.before).items():
        if name in after:
            yield name, old, after[name]


def has_local_functions(function: Any) -> bool:
    """Whether a Relax function binds a function inside."""
    return any(isinstance(place.binding.value, relax.Function) for place in places(function))


def read_inside(value: Any) -> Iterator[Any]:
    """Variables that a bound value reads, a local function's captured ones included."""
    yield from variables_read(value)
    if isinstance(value, relax.Function):
        yield from relax.analysis.free_vars(value)


def joinable(function: Any) -> bool:
    """Whether some sequence of a Relax function has blocks that can be joined, or that are empty.

    Such a function is well formed and not in normal form: whatever visits it joins the blocks.
    """
    for sequence in sequences(function):
        kinds = [isinstance(block, relax.DataflowBlock) for block in sequence.blocks]
        if any(left == right for left, right in itertools.pairwise(kinds)):
            return True
        if any(not block.bindings for block in sequence.blocks):
            return True
    return False


def outline(binding: Any) -> str:
    """Name of a binding's variable, kind of its value, and what that calls: the same for a binding that was copied."""
    value = binding.value
    called = getattr(value, "op", None)
    return (
        f"{name_of(binding.var)} = {type(value).__name__} {getattr(called, 'name', getattr(called, 'name_hint', ''))}"
    )


def untouched(old: Any, new: Any) -> bool:
    """Whether a function is what it was; one that was not in normal form may have been brought into it."""
    if new.same_as(old) or tvm_ffi.structural_equal(old, new):
        return True
    if not isinstance(old, relax.Function):
        return False
    return joinable(old) or _equal_but_for_copies(old, new)


def _equal_but_for_copies(old: Any, new: Any) -> bool:
    """Whether two functions of different copies of a module are equal: a GlobalVar is another object in each copy."""
    if not isinstance(new, relax.Function) or not tvm_ffi.structural_equal(old, new, map_free_vars=True):
        return False
    names = [[str(var.name_hint) for var in relax.analysis.all_global_vars(each)] for each in (old, new)]
    return names[0] == names[1]


def is_constant(value: Any) -> bool:
    """Whether an expression is a constant tensor, whose class has another name in older releases."""
    return type(value).__name__ in ("GenericConst", "Constant")


def operator_has(name: str, attribute: str) -> bool:
    """Whether an operator is registered with an attribute, ``FLegalize`` for instance."""
    return tvm.ir.Op.get(name).get_attr(attribute) is not None
