"""Environment oracle: does the pass give the same under other circumstances?

A pass is a function of the module and of its arguments. What is around a run of it must not matter: an instrument that
only watches, the check ``testing.immutable_module``, which passes ran before in the same process, whether one of them
failed, which module the same object of the pass has seen before, another object built from the same text, another
thread. Two circumstances are meant to matter to some passes: the level of the ``PassContext`` (FuseOps takes its own
from it, a ``Sequential`` inside of a pass leaves out what is above it) and the current target. Which passes, the
contract says with its source (``Contract.environment``).

Each step of a pipeline is run once more under a circumstance, on the very object that it was applied to before, and
must give an equal module, or raise again. The circumstance is drawn by the seed of the case and the name of the pass
from those that the contract does not list, so that reducing the module keeps it. Of costly passes a share of the
subjects is judged.

A pass that writes into its input is the mutation oracle's case, also where ``testing.immutable_module`` says so; what
only that check sees are the passes inside of a pass, whose inputs nobody else looks at.

What is not seen: state that the first run in a process leaves for all later ones, since the run that is compared with
came in a process that had run passes before.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import tvm
from tvm.ir.instrument import pass_instrument

from oracles.capture import evidence_of
from oracles.contract import Circumstance, Contract
from oracles.contracts import CONTRACTS
from oracles.crash import unfit_step
from oracles.difference import describe, text_difference
from oracles.environment_runs import other_module_after, run_under
from oracles.facts import Result, apply, complaint, equal, load
from oracles.passref import GivenPass, PassRef
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import tolerated


def judge(subject: Subject) -> Verdict:
    """Run each step again under its circumstance, and compare with what it gave."""
    if reason := unfit_step(subject):
        return _skip(subject, reason)
    assert subject.facts is not None
    if subject.facts.modified():
        return _skip(subject, "input was modified")
    for index, direct in enumerate(subject.chain):
        step = subject.plan.steps[index]
        how = circumstance(subject.input_seed, step.ref, step.contract)
        if how is None:
            continue
        subject.stage(OracleName.ENVIRONMENT, step.ref.name)
        again = _run(subject, index, how, subject.built(index), subject.input_of(index))
        if agree(direct, again):
            continue
        if step.contract.address_ordered and direct.error is None and again.error is None:
            return _skip(
                subject, "order follows addresses"
            )  # which plain runs need not show: other memory, other order
        if (verdict := _different(subject, index, how)) is not None:
            return verdict
    if subject.output.error is not None:
        return _skip(subject, "both runs raise")
    return Verdict(OracleName.ENVIRONMENT, Outcome.PASS, subject.judged)


def circumstance(seed: int, ref: PassRef, contract: Contract) -> Circumstance | None:
    """The circumstance under which a pass is run again; ``None`` when its contract lists all of them."""
    excused = frozenset[Circumstance]().union(*(each.on for each in contract.environment))
    if isinstance(ref, GivenPass):
        excused |= {Circumstance.REBUILT}
    left = [each for each in Circumstance if each not in excused]
    # Each draws its own number, so that an edited contract or a new circumstance leaves most draws as they were.
    return max(left, key=lambda each: _number(f"{seed}:{ref.name}:{each.name}"), default=None)


def agree(left: Result, right: Result) -> bool:
    """Whether two results are equal modules, or both errors.

    Which of two errors a pass comes to first is nobody's promise, and a module on which it raises is crash's case.
    """
    if left.error is not None or right.error is not None:
        return left.error is not None and right.error is not None
    return equal(left.module, right.module)


def _run(subject: Subject, index: int, how: Circumstance, built: Any, module: Any, trace: Any = None) -> Result:
    plan = subject.plan
    before = (*plan.prepare, *(step.ref for step in plan.steps[:index]))
    rebuild = plan.steps[index].ref.build
    try:
        return Result(run_under(how.value, built, rebuild, lambda: _other(before), module, trace))
    except Exception as error:
        return Result(None, evidence_of(error))


@functools.lru_cache(maxsize=256)
def _other(before: tuple[PassRef, ...]) -> Any:
    """The other module, brought to the stage of a step."""
    return other_module_after([ref.build() for ref in before])


def _different(subject: Subject, index: int, how: Circumstance) -> Verdict | None:
    """The verdict on a difference, after asking once more; ``None`` when it does not come back.

    Asked on a copy of the input, since later steps of a pipeline may have written into the modules between the steps,
    and with new objects of the passes, since the circumstance may have left something behind in the old one.
    """
    module = load(subject.before)
    for step in subject.plan.steps[:index]:
        module = None if module is None else apply(step.ref.build(), module).module
    if module is None:
        return _skip(subject, "input cannot be reloaded")
    step = subject.plan.steps[index]
    built = step.ref.build()
    before = str(tvm.ir.save_json(module))
    direct = apply(built, module)
    if direct.error is None and not tolerated(complaint(direct.module), subject.plan.steps[: index + 1]):
        return _skip(subject, "output is ill-formed")
    for _ in range(subject.repeats):
        if not agree(direct, apply(built, module)):
            return _skip(subject, "pass is not deterministic")
    if str(tvm.ir.save_json(module)) != before:
        return _skip(subject, "input was modified")
    again = _run(subject, index, how, built, module)
    if agree(direct, again):
        return None
    if direct.module is not None and not _reloads(direct.module):
        return _skip(subject, "output holds objects compared by identity")
    culprit = step.ref.name
    if step.contract.composed:
        culprit = _inner(subject, index, how, module) or culprit
    return Verdict(OracleName.ENVIRONMENT, Outcome.FAIL, culprit, evidence=_evidence(how, direct, again))


@pass_instrument
class _Trace:
    """Records what each public pass gave."""

    def __init__(self) -> None:
        self.given: list[tuple[str, Any]] = []

    def run_after_pass(self, module: Any, info: Any) -> None:
        if str(info.name) in CONTRACTS:
            self.given.append((str(info.name), module))


def _inner(subject: Subject, index: int, how: Circumstance, module: Any) -> str | None:
    """The first public pass inside of a step that gives something else under the circumstance, if that comes back."""
    plain, other = _Trace(), _Trace()
    built = subject.plan.steps[index].ref.build()
    with tvm.transform.PassContext(instruments=[plain]):
        apply(built, module)
    _run(subject, index, how, built, module, other)
    for (name, given), (_, again) in zip(plain.given, other.given, strict=False):
        if not equal(given, again):
            return name
    return plain.given[len(other.given)][0] if len(other.given) < len(plain.given) else None


def _reloads(module: Any) -> bool:
    copy = load(str(tvm.ir.save_json(module)))
    return copy is not None and equal(copy, module)


def _evidence(how: Circumstance, direct: Result, again: Result) -> Evidence:
    error = again.error or direct.error
    if error is not None:
        return Evidence(
            error.kind,
            f"{how.value}: {error.message}",
            error.frames,
            expected=f"a plain run: {_said(direct)}",
            observed=f"{how.value}: {_said(again)}",
        )
    return Evidence(
        "not-equal",
        f"another module {how.value}",  # what of it differs depends on the module
        expected="the module of a plain run",
        observed=f"{describe(direct.module, again.module)}\n{text_difference(direct.module, again.module)}",
    )


def _said(result: Result) -> str:
    return "no error" if result.error is None else f"{result.error.kind}: {result.error.message}"


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _skip(subject: Subject, reason: str) -> Verdict:
    return Verdict(OracleName.ENVIRONMENT, Outcome.SKIP, subject.judged, reason)
