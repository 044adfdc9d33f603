"""Planted bugs inside TVM's own passes, behind a changed calling convention: the row of the table is TVM's.

A pass whose adapter reads the arguments of the pass (which parameters are bound, to what; which dims) cannot be a
user's.  So these are references to TVM's passes, with arguments drawn for each module as a campaign draws them, whose
:meth:`~relaxkit.passes.pass_ref.PassRef.build` gives a pass that reads one value for another.  Everything else that a
campaign does with them is done as well: their contract, with its postconditions, their adapter, what is fixed of the
inputs.

What they give is well formed, has the types and the operators that it should have, and is what it would be again: only
a call through the adapter of the convention shows it.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.passes.pass_ref import PassRef


class Flaw(enum.Enum):
    """What is wrong with a pass."""

    NONE = "none"  # the clean twin
    NEIGHBOUR = "binds a parameter to the value that its neighbour of the same type is to have"
    OTHER_SLOT = "sets two outputs of one type under each other's index"
    OTHER_CODE = "generates code that reads operands back to front"
    CROSSED = "reads two parameters of one type for each other in functions that it changes"
    TRUNCATED = "casts parameters that become float16 to whole numbers on the way"


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
        wrong = functools.partial(_WRONG[self.flaw], right)
        info = right.info
        required = [str(name) for name in info.required]

        def run(module: Any, _context: Any) -> Any:
            return wrong(module)

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


def _reading(function: Any, read: Mapping[int, Sequence[Callable[[Any], Any]]], source: Mapping[int, int]) -> Any:
    """The function with other values for some parameters.

    Args:
        function: The function.
        read: By number of the parameter, what is called on the value in turn.
        source: By number of the parameter, which one is read for it; itself where nothing is said.
    """
    builder = relax.BlockBuilder()
    other = {*read, *source}
    news = [relax.Var(old.name, old.ty) if place in other else old for place, old in enumerate(function.params)]
    bindings = []
    for place in sorted(other):
        value = news[source.get(place, place)]
        *steps, last = read.get(place, (_itself,))
        for step in steps:
            made = builder.normalize(step(value))
            value = relax.Var("step", made.ty)
            bindings.append(relax.VarBinding(value, made))
        # What was the parameter becomes a variable of the body, so that nothing in it has to change.
        bindings.append(relax.VarBinding(function.params[place], builder.normalize(last(value))))
    body = relax.SeqExpr([relax.BindingBlock(bindings), *function.body.blocks], function.body.body)
    return builder.normalize(_with_parts(function, news, body))


def _itself(value: Any) -> Any:
    return value


def _with_parts(function: Any, params: Sequence[Any], body: Any) -> Any:
    return relax.Function(list(params), body, function.ret_ty, function.is_pure, function.attrs, function.span)


def _exchanged(function: Any, fits: Callable[[int], bool] = lambda place: True) -> Any | None:
    """The function with two parameters of one type read for each other; ``None`` where there are no such two."""
    pair = _alike(function.params, fits)
    if pair is None:
        return None
    left, right = pair
    return _reading(function, {}, {left: right, right: left})


def _static(value: Any) -> bool:
    if not isinstance(value.ty, relax.TensorType) or not isinstance(value.ty.shape, relax.ShapeExpr):
        return False
    return all(isinstance(dim, tvm.tirx.IntImm) for dim in value.ty.shape.values)


def _alike(items: Sequence[Any], fits: Callable[[int], bool] = lambda place: True) -> tuple[int, int] | None:
    """Places of the first two different items of one static type, one of which fits."""
    for left, one in enumerate(items):
        for right in range(left + 1, len(items)):
            other = items[right]
            alike = _static(one) and not one.same_as(other) and tvm_ffi.structural_equal(one.ty, other.ty)
            if alike and (fits(left) or fits(right)):
                return left, right
    return None


def _neighbours(right: Any, module: Any) -> Any:
    """What the pass gives where a parameter that it binds is read for another of its type, and the other for it."""
    after = _functions(right(module))

    def change(name: str, function: Any) -> Any | None:
        left = {str(param.name) for param in after[name].params}
        return _exchanged(function, lambda place: str(function.params[place].name) not in left)

    return right(_each(module, change))


def _other_slots(right: Any, module: Any) -> Any:
    """What the pass gives where transform functions have two fields of the tuple that they return exchanged."""

    def change(name: str, function: Any) -> Any | None:
        return _outputs_crossed(function) if name.endswith("transform_params") else None

    return right(_each(module, change))


def _outputs_crossed(function: Any) -> Any | None:
    result = function.body.body
    for number, block in enumerate(function.body.blocks):
        for place, binding in enumerate(block.bindings):
            value = binding.value if isinstance(binding, relax.VarBinding) else None
            if not binding.var.same_as(result) or not isinstance(value, relax.Tuple):
                continue
            if (pair := _alike(value.fields)) is None:
                return None
            fields, bindings, blocks = list(value.fields), list(block.bindings), list(function.body.blocks)
            fields[pair[0]], fields[pair[1]] = fields[pair[1]], fields[pair[0]]
            bindings[place] = relax.VarBinding(binding.var, relax.BlockBuilder().normalize(relax.Tuple(fields)))
            blocks[number] = type(block)(bindings)
            return _with_parts(function, function.params, relax.SeqExpr(blocks, result))
    return None


def _other_code(right: Any, module: Any) -> Any:
    """What the pass gives, and behind it the code of functions that read their operands back to front."""

    def change(_name: str, function: Any) -> Any | None:
        external = function.attrs is not None and "Codegen" in function.attrs
        if not external or not function.params or not all(map(_turns, function.params)):
            return None
        return _reading(function, dict.fromkeys(range(len(function.params)), _REVERSED), {})

    after = right(module)
    right(_each(module, change))  # code belongs to its symbol: the last that is generated is what runs
    return after


def _turns(param: Any) -> bool:
    return _static(param) and param.ty.ndim > 0


def _crossed(right: Any, module: Any) -> Any:
    """What the pass gives, with two parameters read for each other in functions that it changed."""
    before, after = _functions(module), right(module)

    def change(name: str, function: Any) -> Any | None:
        if name not in before or tvm_ffi.structural_equal(before[name], function):
            return None
        return _exchanged(function)

    return _each(after, change)


def _truncated(right: Any, module: Any) -> Any:
    """What the pass gives, with parameters cast to int8 and back where it changed their type."""
    before, after = _functions(module), right(module)

    def change(name: str, function: Any) -> Any | None:
        old = before[name].params if name in before else function.params
        retyped = [
            place
            for place, (was, now) in enumerate(zip(old, function.params, strict=True))
            if str(was.ty) != str(now.ty)
        ]
        return _reading(function, dict.fromkeys(retyped, _WHOLE), {}) if retyped else None

    return _each(after, change)


def _functions(module: Any) -> dict[str, Any]:
    """Relax functions by name."""
    return {str(var.name_hint): f for var, f in module.functions_items() if isinstance(f, relax.Function)}


_REVERSED = (lambda value: relax.op.flip(value, 0),)
_WHOLE = (lambda value: relax.op.astype(value, "int8"), lambda value: relax.op.astype(value, "float16"))
_WRONG: dict[Flaw, Callable[[Any, Any], Any]] = {
    Flaw.NEIGHBOUR: _neighbours,
    Flaw.OTHER_SLOT: _other_slots,
    Flaw.OTHER_CODE: _other_code,
    Flaw.CROSSED: _crossed,
    Flaw.TRUNCATED: _truncated,
}
