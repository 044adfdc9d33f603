"""Claims of KillAfterLastUse: everything is dropped after its last use, and not before.

To kill a variable empties its register of the virtual machine, like Python's ``del``: what else refers to the object
stays. ``src/relax/backend/vm/codegen_vm.cc``: "one register for each relax::Binding", so an alias lives on.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.functions import relax_functions
from relaxkit.ir.lowered import KILLING
from relaxkit.ir.walk import functions_inside, operator_of, places, sequences
from relaxkit.passes.claims.common import variables_read
from relaxkit.passes.claims.memory_plan import STORING
from relaxkit.passes.claims.paths import ways
from relaxkit.passes.contract import Harm, claimed, nothing_left

_KILLS = "its documentation, 'Drop all tensor/storage objects after last use'"
_TENSORS = (relax.TensorType, relax.TupleType)
"""Not R.Any, as of the shape heap that VMShapeLower did not need: it says of none."""
_IN_REGISTERS = (*_TENSORS, relax.AnyType)


@claimed("nothing is used after it was killed", _KILLS, Harm.WRONG)
def killed_too_early(ran: Any) -> str:
    """Find a variable that is used, or killed again, after it was killed, in some run of a function."""
    for name, function in relax_functions(ran.after):
        for inner in functions_inside(function):
            if said := _used_when_dead(inner):
                what, var = said
                return f"a variable is {what}\nleaves {var.name} of {name} {what}"
    return ""


def _used_when_dead(function: Any) -> tuple[str, Any] | None:
    for steps in ways(function):
        dead: set[Any] = set()
        for step in steps:
            kills = operator_of(step.value) in KILLING
            read = list(variables_read(step.value))
            if isinstance(step.value, relax.Function):
                read = list(relax.analysis.free_vars(step.value))
            for var in read:
                if var in dead:
                    return ("killed twice" if kills else "used after it was killed"), var
            if kills:
                dead.update(read)
            dead.discard(step.var)
    return None


@claimed(
    "only registers are killed",
    "src/relax/transform/kill_after_last_use.cc: 'the VM requires that objects to be killed only exist in VM "
    "registers'",
)
def killed_without_register(ran: Any) -> str:
    """Find a kill of what has no register: a constant, a shape, a number, a function, or an expression."""
    for name, function in relax_functions(ran.after):
        constants = {place.var for place in places(function) if isinstance(place.value, tvm.ir.GenericConst)}
        for place in places(function):
            value = place.value
            if operator_of(value) not in KILLING:
                continue
            (target,) = value.args
            if not isinstance(target, relax.Var):
                return f"something else than a variable is killed\nkills {target} in {name}, which is no variable"
            if target in constants or not isinstance(target.ty, _IN_REGISTERS):
                return f"what lives in no register is killed\nkills {target.name} of {name}, which lives in no register"
    return ""


@nothing_left("everything is killed after its last use", _KILLS, shown='assert "kill_" in After.script()')
def not_killed(ran: Any) -> str:
    """Find a variable that only bindings of its sequence use, and that is not killed after the last of them.

    What a branch or a local function inside uses, or what the sequence results in, is not asked for.
    """
    for name, function in relax_functions(ran.after):
        for sequence in sequences(function):
            if (var := _survivor(sequence)) is not None:
                said = f"leaves {var.name} of {name} alive after its last use"
                return f"a variable is not killed after its last use\n{said}"
    return ""


def _survivor(sequence: Any) -> Any:
    bindings = [binding for block in sequence.blocks for binding in block.bindings]
    last: dict[Any, int] = {}
    wanted: set[Any] = set()
    killed: dict[Any, int] = {}
    excused = set(variables_read(sequence.body))
    for position, binding in enumerate(bindings):
        value = binding.value
        read = list(variables_read(value))
        if operator_of(value) in KILLING:
            killed.update(dict.fromkeys(read, position))
        else:
            last.update(dict.fromkeys(read, position))
        if isinstance(value, relax.If):
            excused.update(relax.analysis.free_vars(value.true_branch))
            excused.update(relax.analysis.free_vars(value.false_branch))
        elif isinstance(value, relax.Function):
            excused.update(relax.analysis.free_vars(value))
        tensors = isinstance(binding.var.ty, _TENSORS) and not isinstance(value, tvm.ir.GenericConst)
        if tensors or operator_of(value) in STORING:
            wanted.add(binding.var)
    for var, position in last.items():
        if var not in wanted or var in excused:
            continue
        if var not in killed:
            return var
        between = bindings[position + 1 : killed[var]]
        if any(operator_of(binding.value) not in KILLING for binding in between):
            return var
    return None
