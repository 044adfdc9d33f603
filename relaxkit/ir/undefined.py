"""What a module uses without defining it: variables, dims and functions, and where each came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import functions_by_name, relax_functions
from relaxkit.ir.types import parts_of_type
from relaxkit.ir.walk import (
    callee_name,
    expressions,
    inner_sequences,
    name_of,
    operands_of,
    operator_of,
    places,
    sequences,
)

_PARAMETER = "the parameter "
_RESULT = "the result of "
COPIED = "puts a copy of one dataflow block in the place of another"


def undefined(before: tvm.IRModule, after: tvm.IRModule) -> Iterator[str]:
    """Yield what a pass did that made the second module of the first: ``leaves the parameter x of main undefined``.

    Variables come before symbolic dims: a parameter that is gone takes the dims of its type along.
    """
    given = dict(relax_functions(before))
    operators = {"", *(operator_of(place.value) for function in given.values() for place in places(function))}
    there = [var for var, _ in after.functions_items()]
    old, new = functions_by_name(before), functions_by_name(after)
    for name, function in relax_functions(after):
        uses = {var: call for call in expressions(function.body) for var in getattr(call, "args", ())}
        for each in expressions(function.body):
            if isinstance(each, tvm.ir.GlobalVar) and not any(each.same_as(var) for var in there):
                user = operator_of(uses.get(each))
                use = "the call to" if user in ("", "relax.call_tir") else f"{user} of"
                if each.name_hint in new:
                    yield f"replaces {each.name_hint} but does not update {use} it in {name}"
                elif each.name_hint in old:
                    yield f"drops {each.name_hint} but leaves {use} it in {name}"
                else:
                    yield f"adds {use} {each.name_hint} in {name}, but not that function"
        defined = set(relax.analysis.defined_symbolic_vars(function))
        inside = [each for each in relax.analysis.free_symbolic_vars(function.body) if each not in defined]
        kept = [each for each in relax.analysis.tir_vars_in_type(function.ret_ty) if each not in {*defined, *inside}]
        free = [*inside, *kept]
        known = {place.var: place for place in places(function)}
        for place in known.values():
            for each in (place.var, *expressions(place.value)):
                if _of_dataflow(getattr(each, "ty", None)):
                    yield f"makes the type of {bound(place)} depend on a dataflow variable"
        copies = [*_copies(given[name], function)] if name in given else []
        repeated = len(known) < len(places(function)) and any(place.dataflow for place in known.values())
        for var, user, block in _unbound(function.body, {*_bound_by(function.params), *free}):
            instead = copies and (block is None or any(block.same_as(each) for each in copies))
            if instead or (repeated and var not in known and not isinstance(user, relax.MatchCast)):
                yield COPIED
            elif var in defined:
                yield f"uses the symbolic dim {var.name} of {name} before it is bound"
            elif isinstance(var.ty, tvm.ir.PrimType) and var not in known:
                free.append(var)
            elif var not in known:
                yield _without(var, name, given, after)
            elif isinstance(user, relax.MatchCast):
                yield f"takes {bound(known[var])} away from a match_cast that uses it"
            else:
                yield _misplaced(known[var], operators)
        for symbol in free:
            if symbol in kept:
                yield f"keeps the symbolic dim {symbol.name} in the result type of {name}, where nothing defines it"
            owner = _owner(symbol, name, before, defined)
            yield f"leaves the symbolic dim {symbol.name} of {owner} undefined{f' in {name}' if owner != name else ''}"
        if repeated and name in given and (lost := _lost_block(given[name], function)):
            yield lost


def _owner(symbol: Any, name: str, module: tvm.IRModule, left: set[Any]) -> str:
    """Return the name of the function of which a symbolic dim was that is none of those that a function has ``left``.

    Where no function had it, one that had a dim of this name: itself, or one that it called.
    """
    given = dict(relax_functions(module))
    defined = {each: relax.analysis.defined_symbolic_vars(function) for each, function in given.items()}
    named = [each for each, symbols in defined.items() if any(symbol.name == other.name for other in symbols)]
    if name in named and all(symbol.name != other.name for other in left):
        return name
    called = {callee_name(each) for each in expressions(given[name])} if name in given else {name}
    own = [each for each, symbols in defined.items() if any(symbol.same_as(other) for other in symbols)]
    others = sorted((each for each in named if each != name), key=lambda each: each not in called)
    return next(iter([*own, *others]), name)


def _bound_by(variables: Sequence[relax.Var]) -> Iterator[Any]:
    """Yield variables, and the symbolic dims that their types bind."""
    for var in variables:
        yield from (var, *relax.analysis.definable_tir_vars_in_type(var.ty))


def _of_dataflow(ty: Any) -> bool:
    shapes = (part.shape for part in parts_of_type(ty) if isinstance(part, relax.TensorType)) if ty is not None else ()
    return any(isinstance(shape, relax.DataflowVar) for shape in shapes)


def _copies(old: relax.Function, new: relax.Function) -> Iterator[relax.BindingBlock]:
    """Yield the blocks that bind what another block of the first function does, and not what was bound there."""
    blocks = [[block for each in sequences(function) for block in each.blocks] for function in (old, new)]
    ours, theirs = ([[name_of(each.var) for each in block.bindings] for block in row] for row in blocks)
    if len(ours) == len(theirs):
        yield from (
            block
            for block, was, now in zip(blocks[1], ours, theirs, strict=True)
            if isinstance(block, relax.DataflowBlock) and now != was and now in ours
        )


def _lost_block(old: relax.Function, new: relax.Function) -> str:
    """Say that a copy of a dataflow block stands where another one was, of a function that binds a variable twice."""
    bound = {name_of(place.var) for place in places(new)}
    blocks = {
        place.block: {name_of(each.var) for each in place.block.bindings} for place in places(old) if place.dataflow
    }
    return COPIED if any(bound.isdisjoint(names) for names in blocks.values()) else ""


def _unbound(sequence: Any, scope: set[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the variables that a sequence uses where they are not bound, with the binding and the block of the use.

    Neither is there for what the sequence gives.
    """
    scope = set(scope)
    for block in sequence.blocks:
        for binding in block.bindings:
            value, branches = binding.value, inner_sequences(binding.value)
            used = [] if isinstance(value, relax.Function) else [value.cond] if branches else expressions(value)
            yield from ((var, binding, block) for var in used if isinstance(var, relax.Var) and var not in scope)
            own = {binding.var, *_bound_by(value.params)} if isinstance(value, relax.Function) else set()
            for branch in branches:
                yield from _unbound(branch, scope | own)
            scope.add(binding.var)
            scope.update(_bound_by([binding.var]) if isinstance(binding, relax.MatchCast) else ())
        if isinstance(block, relax.DataflowBlock):
            scope = {var for var in scope if not isinstance(var, relax.DataflowVar)}
    last = (var for var in expressions(sequence.body) if isinstance(var, relax.Var) and var not in scope)
    yield from ((var, None, None) for var in last)


def _misplaced(place: Any, known: set[str]) -> str:
    """Say where a bound variable is used that cannot be used there."""
    operator = operator_of(place.value)
    dataflow = isinstance(place.var, relax.DataflowVar)
    if not dataflow and place.local:
        return f"uses {bound(place)} outside of the local function that binds it"
    if not dataflow and not place.branches:
        return f"uses {bound(place)} where it is not bound"
    if operator not in known:  # what the pass has added
        where = "a dataflow block" if dataflow else "a branch of an If"
        return f"adds {operator} in {where}, and uses its result outside"
    return f"uses {bound(place)} outside of {'its dataflow block' if dataflow else 'the branch of an If that binds it'}"


def _without(var: Any, name: str, given: Mapping[str, relax.Function], after: tvm.IRModule) -> str:
    """Say what a function does with a variable that nothing defines."""
    function, origin = functions_by_name(after)[name], _origin(var, name, given)
    if isinstance(var, relax.DataflowVar) and origin.startswith(_PARAMETER):
        return f"replaces {origin} with a variable that nothing binds"
    same = next((place for place in places(function) if name_of(place.var) == name_of(var)), None)
    users = [place for place in places(function) if any(each.same_as(var) for each in operands_of(place.value))]
    gone = origin.startswith(_PARAMETER) and name_of(var) not in map(name_of, function.params)
    if gone and users and all(each.local for each in users):
        return f"removes {origin}, but not from a local function that uses it"
    for value in (place.value for place in places(function) if same is not None):
        user = operator_of(value) if any(each.same_as(var) for each in expressions(value)) else ""
        if user == "relax.call_builtin_with_ctx":
            user = callee_name(value.args[0]).removeprefix("vm.builtin.")
        if user:
            gives = "uses" if origin == f"{_RESULT}{user}" else f"gives {user}"
            return f"{gives} {origin} before it is bound"
    was = next((place for place in places(given[name]) if bound(place) == origin), None) if name in given else None
    lost = was is not None and (origin, was.local) not in [(bound(place), place.local) for place in places(function)]
    does = "returns" if any(each.same_as(var) for each in expressions(function.body.body)) else "uses"
    added = (place for other, each in relax_functions(after) if other not in given for place in places(each))
    if lost and origin in map(bound, added):
        return f"moves {origin} to another function, but {name} still {does} it"
    for made in (bound(place) for place in places(function) if name_of(place.var) == name_of(var)):
        if made.startswith(_RESULT) and origin.startswith(_RESULT) and made != origin:
            old, new = (each.removeprefix(_RESULT) for each in (origin, made))
            return f"replaces {old} with {new}, but not the use of its result"
    casts = any(isinstance(each.binding, relax.MatchCast) and each.value.same_as(var) for each in places(function))
    user = next((operator_of(each.value) for each in users), "a match_cast" if casts else "")
    if lost and same is None:
        owner = f"a local function of {name}" if was is not None and was.local else name
        return f"removes {origin}, which {f'{user} still uses' if user else f'{owner} still {does}'}"
    if does == "returns":
        retyped = same is not None and not tvm_ffi.structural_equal(same.var.ty, var.ty)
        why = " when its type gets more specific" if retyped else ""
        return f"leaves {origin}, which {name} returns, undefined{why}"
    return f"leaves {origin}{f' undefined, but {user} in {name} uses it' if user else f' of {name} undefined'}"


def _origin(var: Any, name: str, given: Mapping[str, relax.Function]) -> str:
    """Say what a variable of that name was before, in this function or another.

    Of a parameter for which another stands now, say what returned it.
    """
    for owner in sorted(given, key=lambda each: each != name):
        function = given[owner]
        if name_of(var) in map(name_of, function.params):
            result = function.body.body
            returned = isinstance(var, relax.DataflowVar) and isinstance(result, relax.Var) and name_of(result)
            said = f", which {owner} returns," if returned == name_of(var) else ""
            return f"{_PARAMETER}{name_of(var)}{said}"
        for place in places(function):
            if name_of(place.var) == name_of(var):
                return bound(place)
    return f"the variable {name_of(var)}"


def bound(place: Any) -> str:
    """Say what a binding binds: ``the result of relax.add``, or the variable where it binds no call."""
    operator, called = operator_of(place.value), getattr(place.value, "op", None)
    if operator == "relax.call_tir":
        operator = callee_name(place.value.args[0])
    elif not operator and isinstance(called, (relax.Var, tvm.ir.GlobalVar)):
        operator = f"a call to {name_of(called) if isinstance(called, relax.Var) else called.name_hint}"
    if isinstance(place.value, relax.Function):
        recursive = any(each.same_as(place.var) for each in expressions(place.value.body))
        return f"the {'recursive ' if recursive else ''}local function {name_of(place.var)}"
    if isinstance(place.value, relax.Tuple):
        scalar = any(isinstance(each.ty, tvm.ir.PrimType) for each in place.value.fields)
        return f"the tuple {name_of(place.var)}{' with a scalar' if scalar else ''}"
    return f"{_RESULT}{operator}" if operator else f"the variable {name_of(place.var)}"
