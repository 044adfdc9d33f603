"""Blame a function of an operator that passes only call: its gradient, its inferred layout and the like."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tvm import relax

from fuzzer.core.case import Case, load_module
from fuzzer.findings.assessment import Blame
from fuzzer.triage.blame.failed_case import FailedCase, calls_in, same, shows
from fuzzer.triage.blame.operators import calls_alone
from fuzzer.worker.child import breadcrumb
from oracles.core.evidence import evidence_of, is_out_of_memory
from oracles.core.subject import Subject
from oracles.structural.postcondition import arguments
from relaxkit.ir.functions import relax_functions
from relaxkit.ir.operator_facts import GRADIENTS, LAYOUTS
from relaxkit.ir.walk import expressions_in, operator_has, operator_of, places
from relaxkit.passes.arguments import NotLiteral
from relaxkit.passes.contract import Hook, OracleName


def gradient(failed: FailedCase) -> Blame:
    """Blame the gradient of an operator, which is wrong of a call alone."""
    reason = "the gradient of a single call to it is wrong"
    return Blame(f"{failed.evidence.details.operator} (its {GRADIENTS})", reason)


def hook_wrong(failed: FailedCase) -> Blame | None:
    """Blame the function of an operator that the pass only calls, where that gives something else than is asked."""
    judged, silent = failed.step.ref.name, failed.verdict.oracle is not OracleName.CRASH
    for call, hook in _hooked(failed.step.contract.hook, expressions_in(failed.given)):
        with contextlib.suppress(Exception):  # what it raises was asked for before
            if hook.is_wrong(call):
                has = operator_has(operator_of(call), hook.attribute)
                what = "its result is wrong already" if has else "there is none"
                return _of_hook(hook, call, f"{judged} calls it, and {what}", silent)
    return None


def _hooked(hook: Hook | None, values: Iterable[Any]) -> Iterator[tuple[Any, Hook]]:
    """Yield the calls of operators, of which a pass calls a function."""
    return ((value, hook) for value in values if hook is not None and operator_of(value))


def _of_hook(hook: Hook, call: Any, reason: str, silent: bool = False) -> Blame:
    return Blame(f"{operator_of(call)} (its {hook.attribute})", reason, silent)


def call_hooks(case: Case) -> None:
    """Call, in a worker, the functions of operators that passes call, after a breadcrumb of the name of each."""
    module = load_module(case)
    for step in Subject(module, case.passes).plan.steps:
        for call, hook in _hooked(step.contract.hook, expressions_in(module)):
            breadcrumb(_of_hook(hook, call, "").name)
            try:
                hook.is_wrong(call)
            except Exception as error:
                if is_out_of_memory(evidence_of(error)):
                    raise MemoryError from error  # of which the process is to die


def hook_raising(failed: FailedCase) -> Blame | None:
    """Blame the function of an operator that the pass only calls, where that raises by itself.

    Layouts are inferred from those of the operands, so that each call takes what the calls before it gave.
    """
    step, layouts = failed.step, dict[Any, Any]()
    given = failed.made if failed.verdict.oracle is OracleName.IDEMPOTENCE else failed.given
    desired = argument(step.ref, lambda value: isinstance(value, dict)) or {}
    bound = {place.value: place.var for _, function in relax_functions(given) for place in places(function)}
    values = {var: value for value, var in bound.items()}
    for call, hook in _hooked(step.contract.hook, bound):
        try:
            if hook.attribute == LAYOUTS:
                made = call.op.get_attr(LAYOUTS)(call, desired, layouts)
                if isinstance(bound[call], relax.DataflowVar):
                    layouts[bound[call]] = made.output_layouts[0]
            else:
                hook.is_wrong(call)
        except Exception as error:
            if same(evidence_of(error), failed.evidence):
                read = [(values[var], layouts[var]) for var in relax.analysis.free_vars(call) if var in layouts]
                # Nested ones have no layout of their own, and those of unknown rank have none.
                makers = [maker for maker, of in read if not getattr(of, "is_unknown_dim", True) and of.layout is None]
                why = "gives the next an undefined layout" if makers else "raises the same error by itself"
                return _of_hook(hook, next(iter(makers), call), f"{step.ref.name} calls it, and it {why}")
    return None


def layout(failed: FailedCase) -> Blame | None:
    """Blame the layout rule of an operator for a layout that its lowering refuses, and nobody has asked for."""
    step = failed.step
    if step.contract.hook is None or step.contract.hook.attribute != LAYOUTS:
        return None
    asked = {*(argument(step.ref, lambda value: isinstance(value, dict)) or {})}
    if (callback := argument(step.ref, callable)) is not None:
        asked.update(name for call in calls_in(failed.given) for name in callback(call))
    innocent = {name for name, alone in calls_alone(failed.given) if not shows(alone, failed.evidence)} - asked
    for name, alone in calls_alone(failed.made):
        if name in innocent and shows(alone, failed.evidence):
            reason = f"it chooses a layout that cannot be lowered; what {step.ref.name} was given can"
            return Blame(f"{name} (its {LAYOUTS})", reason)
    return None


def argument(ref: Any, wanted: Callable[[Any], bool]) -> Any:
    """Return the first argument of a kind that a pass was built with; ``None`` where nobody can tell."""
    with contextlib.suppress(NotLiteral, TypeError):
        return next((value for value in arguments(ref).values() if wanted(value)), None)
    return None
