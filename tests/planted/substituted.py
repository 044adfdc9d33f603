"""Planted bugs inside TVM's own passes, behind a changed calling convention: the row of the table is TVM's.

A pass whose adapter reads the arguments of the pass (which parameters are bound, to what; which dims) cannot be a
user's.  So these are references to TVM's passes, with arguments drawn for each module as a campaign draws them, whose
:meth:`~oracles.passref.PassRef.build` gives a pass that reads one value for another.  Everything else that a campaign
does with them is done as well: their contract, with its postconditions, their adapter, what is fixed of the inputs.

What they give is well formed, has the types and the operators that it should have, and is what it would be again: only
a call through the adapter of the convention shows it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from oracles.passref import PassRef


class Flaw(enum.Enum):
    """What is wrong with a pass.

    The first four spoil what it is given, so that it works on another program; the last spoils what it gives.
    """

    NONE = "none"  # the clean twin
    NEIGHBOUR = "binds a parameter to the value that its neighbour of the same type is to have"
    OTHER_SLOT = "sets two outputs of one type under each other's index"
    OTHER_CODE = "generates code that reads an operand back to front"
    CROSSED = "reads two parameters of one type for each other where it changed their type"


@dataclass(frozen=True, slots=True)
class Substituted(PassRef):
    """One of TVM's passes, with a bug.

    Attributes:
        flaw: The bug.
    """

    flaw: Flaw = Flaw.NONE

    def build(self) -> Any:
        """TVM's pass with the bug in it."""
        # Without arguments, super() does not find the class that ``slots`` puts in place of this one.
        right = PassRef.build(self)
        if self.flaw is Flaw.NONE:
            return right
        spoilt = _GIVEN.get(self.flaw)

        def run(module: Any, _context: Any) -> Any:
            return _crossed_where_retyped(module, right(module)) if spoilt is None else right(spoilt(module))

        info = right.info
        required = [str(name) for name in info.required]
        return tvm.transform.module_pass(run, opt_level=int(info.opt_level), name=str(info.name), required=required)


def _each(module: Any, change: Callable[[str, Any], Any | None]) -> Any:
    """The module with those Relax functions exchanged for which ``change`` has another one."""
    new = {
        var: change(str(var.name_hint), old) if isinstance(old, relax.Function) else None
        for var, old in module.functions_items()
    }
    if not any(new.values()):
        return module
    functions = {var: new[var] or old for var, old in module.functions_items()}
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)


def _reading(function: Any, read: Sequence[int], through: Callable[[Any], Any] | None = None) -> Any:
    """The function with other values for parameters: ``read[i]`` is the place of what it reads for number ``i``."""
    news = [relax.Var(param.name, param.ty) for param in function.params]
    builder = relax.BlockBuilder()
    # What was the parameter becomes a variable of the body, so that nothing in it has to change.
    bindings = [
        relax.VarBinding(old, news[source] if through is None else builder.normalize(through(news[source])))
        for place, (old, source) in enumerate(zip(function.params, read, strict=True))
        if source != place or through is not None
    ]
    kept = {source for place, source in enumerate(read) if source == place and through is None}
    params = [function.params[place] if place in kept else new for place, new in enumerate(news)]
    body = relax.SeqExpr([relax.BindingBlock(bindings), *function.body.blocks], function.body.body)
    made = relax.Function(params, body, function.ret_ty, function.is_pure, function.attrs, function.span)
    return builder.normalize(made)


def _static(value: Any) -> bool:
    if not isinstance(value.ty, relax.TensorType) or not isinstance(value.ty.shape, relax.ShapeExpr):
        return False
    return all(isinstance(dim, tvm.tirx.IntImm) for dim in value.ty.shape.values)


def _crossing(items: Sequence[Any], fits: Callable[[int], bool] = lambda place: True) -> list[int]:
    """Places of items with the first two of one static type exchanged, one of which fits; empty without such two."""
    places = list(range(len(items)))
    for left in places:
        for right in places[left + 1 :]:
            alike = _static(items[left]) and tvm_ffi.structural_equal(items[left].ty, items[right].ty)
            if alike and (fits(left) or fits(right)):
                places[left], places[right] = right, left
                return places
    return []


def _neighbours_crossed(module: Any) -> Any:
    """Each function with two of its parameters read for each other."""

    def change(_name: str, function: Any) -> Any | None:
        places = _crossing(function.params)
        return _reading(function, places) if places else None

    return _each(module, change)


def _outputs_crossed(module: Any) -> Any:
    """Each transform function with two fields of the tuple that it returns exchanged."""

    def change(name: str, function: Any) -> Any | None:
        result = function.body.body
        fields = list(result.fields) if isinstance(result, relax.Tuple) else []
        places = _crossing(fields) if name.endswith("transform_params") else []
        if not places:
            return None
        body = relax.SeqExpr(function.body.blocks, relax.Tuple([fields[place] for place in places]))
        return relax.Function(
            function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span
        )

    return _each(module, change)


def _operands_reversed(module: Any) -> Any:
    """Each function for an external code generator with its operands read back to front."""

    def change(_name: str, function: Any) -> Any | None:
        external = function.attrs is not None and "Codegen" in function.attrs
        if not external or not function.params or not all(map(_turns, function.params)):
            return None
        return _reading(function, range(len(function.params)), lambda value: relax.op.flip(value, 0))

    return _each(module, change)


def _turns(param: Any) -> bool:
    return _static(param) and param.ty.ndim > 0


def _crossed_where_retyped(before: Any, after: Any) -> Any:
    """What a pass gave, with two parameters read for each other in functions where it changed the type of one."""
    old = {str(var.name_hint): function for var, function in before.functions_items()}

    def change(name: str, function: Any) -> Any | None:
        params = old[name].params if isinstance(old.get(name), relax.Function) else ()
        if len(params) != len(function.params):
            return None
        retyped = [not tvm_ffi.structural_equal(a.ty, b.ty) for a, b in zip(params, function.params, strict=True)]
        places = _crossing(function.params, lambda place: retyped[place])
        return _reading(function, places) if places else None

    return _each(after, change)


_GIVEN: dict[Flaw, Callable[[Any], Any]] = {
    Flaw.NEIGHBOUR: _neighbours_crossed,
    Flaw.OTHER_SLOT: _outputs_crossed,
    Flaw.OTHER_CODE: _operands_reversed,
}
