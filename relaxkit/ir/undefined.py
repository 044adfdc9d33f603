"""What a module uses without defining it: variables, dims and functions, and where each came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import functions_by_name, relax_functions
from relaxkit.ir.types import parts_of_type
from relaxkit.ir.walk import callee_name, expressions, name_of, operator_of, places

_PARAMETER = "the parameter "
_RESULT = "the result of "


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
        for var in _unbound(function.body, {*_bound_by(function.params), *free}):
            if var in defined:
                yield f"uses the symbolic dim {var.name} of {name} before it is bound"
            elif isinstance(var.ty, tvm.ir.PrimType):
                free.append(var)
            elif var not in known:
                yield _without(var, _origin(var, given), name, function)
            else:
                yield _misplaced(known[var], operators)
        for symbol in free:
            if symbol in kept:
                yield f"keeps the symbolic dim {symbol.name} in the result type of {name}, where nothing defines it"
            owner = _owner(symbol, name, before)
            yield f"leaves the symbolic dim {symbol.name} of {owner} undefined{f' in {name}' if owner != name else ''}"


def _owner(symbol: Any, name: str, given: tvm.IRModule) -> str:
    """Return the name of the function of which a symbolic dim was: where no function has it, of another that has one
    of this name."""
    defined = {each: relax.analysis.defined_symbolic_vars(function) for each, function in relax_functions(given)}
    own = [each for each, symbols in defined.items() if any(symbol.same_as(other) for other in symbols)]
    named = [each for each, symbols in defined.items() if any(symbol.name == other.name for other in symbols)]
    return next(iter([*own, *(each for each in named if each != name)]), name)


def _bound_by(variables: Sequence[relax.Var]) -> Iterator[Any]:
    """Yield variables, and the symbolic dims that their types bind."""
    for var in variables:
        yield from (var, *relax.analysis.definable_tir_vars_in_type(var.ty))


def _of_dataflow(ty: Any) -> bool:
    shapes = (part.shape for part in parts_of_type(ty) if isinstance(part, relax.TensorType)) if ty is not None else ()
    return any(isinstance(shape, relax.DataflowVar) for shape in shapes)


def _unbound(sequence: Any, scope: set[Any]) -> Iterator[Any]:
    """Yield the variables that a sequence uses where they are not bound."""
    scope = set(scope)
    for block in sequence.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.If):
                yield from (var for var in [value.cond] if isinstance(var, relax.Var) and var not in scope)
                for branch in (value.true_branch, value.false_branch):
                    yield from _unbound(branch, scope)
            elif isinstance(value, relax.Function):
                yield from _unbound(value.body, {*scope, binding.var, *_bound_by(value.params)})
            else:
                yield from (var for var in expressions(value) if isinstance(var, relax.Var) and var not in scope)
            scope.add(binding.var)
            scope.update(_bound_by([binding.var]) if isinstance(binding, relax.MatchCast) else ())
        if isinstance(block, relax.DataflowBlock):
            scope = {var for var in scope if not isinstance(var, relax.DataflowVar)}
    yield from (var for var in expressions(sequence.body) if isinstance(var, relax.Var) and var not in scope)


def _misplaced(place: Any, known: set[str]) -> str:
    """Say where a bound variable is used that cannot be used there."""
    operator = operator_of(place.value)
    dataflow = isinstance(place.var, relax.DataflowVar)
    if not dataflow and not place.branches:
        return f"uses {bound(place)} where it is not bound"
    if operator not in known:  # what the pass has added
        where = "a dataflow block" if dataflow else "a branch of an If"
        return f"adds {operator} in {where}, and uses its result outside"
    return f"uses {bound(place)} outside of {'its dataflow block' if dataflow else 'the branch of an If that binds it'}"


def _without(var: Any, origin: str, name: str, function: relax.Function) -> str:
    """Say what a function does with a variable that nothing defines, where it does not give it to an operator."""
    if isinstance(var, relax.DataflowVar) and origin.startswith(_PARAMETER):
        return f"replaces {origin} with a variable that nothing binds"
    same = next((place for place in places(function) if name_of(place.var) == name_of(var)), None)
    for place in places(function):
        value = place.value
        if same is not None and any(each.same_as(var) for each in expressions(value)):
            user = operator_of(value)
            if user == "relax.call_builtin_with_ctx":
                user = callee_name(value.args[0]).removeprefix("vm.builtin.")
            if user:
                return f"gives {user} {origin} before it is bound"
        made = bound(place) if name_of(place.var) == name_of(var) else ""
        if made.startswith(_RESULT) and origin.startswith(_RESULT) and made != origin:
            old, new = (each.removeprefix(_RESULT) for each in (origin, made))
            return f"replaces {old} with {new}, but not the use of its result"
        if isinstance(place.binding, relax.MatchCast) and value.same_as(var):
            return f"leaves {origin} undefined in a match_cast of {name}"
        if isinstance(value, relax.Call) and value.op.same_as(var):
            return f"leaves {origin}, which {name} calls, undefined"
        if value.same_as(var) and place.dataflow and not isinstance(place.var, relax.DataflowVar):
            return f"leaves {origin}, which a dataflow block of {name} outputs, undefined"
    if any(each.same_as(var) for each in expressions(function.body.body)):
        retyped = same is not None and not tvm_ffi.structural_equal(same.var.ty, var.ty)
        why = " when its type gets more specific" if retyped else ""
        return f"leaves {origin}, which {name} returns, undefined{why}"
    return f"leaves {origin} of {name} undefined"


def _origin(var: Any, given: Mapping[str, relax.Function]) -> str:
    """Say what a variable of that name was before; of a parameter for which another stands now, what returned it."""
    for name, function in given.items():
        if name_of(var) in map(name_of, function.params):
            result = function.body.body
            returned = isinstance(var, relax.DataflowVar) and isinstance(result, relax.Var) and name_of(result)
            said = f", which {name} returns," if returned == name_of(var) else ""
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
        operator = f"a call of {name_of(called) if isinstance(called, relax.Var) else called.name_hint}"
    return f"{_RESULT}{operator}" if operator else f"the variable {name_of(place.var)}"
