"""The table of metamorphic relations: which second run of passes must agree with the first.

Determinism: the same input gives the same output. Sequential: it does not matter whether passes are called one by one,
or by ``Sequential``. Idempotence: a second run is safe, and does what the contract promises. What surrounds a run
(``oracles.metamorphic.environment``) and what stands beside a function (``oracles.metamorphic.locality``) does not
matter, either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import tvm

from oracles.core.applicability import (
    Inapplicable,
    ill_formed_output,
    modified_input,
    no_output,
    refusal_of,
    tolerated,
    unmet,
    unmet_step,
    when,
)
from oracles.core.blame import first_step
from oracles.core.module_facts import Result, complaint, equal, load, reloads
from oracles.core.subject import Subject
from oracles.core.verdict import Details, Evidence, Outcome
from oracles.metamorphic import environment, locality
from oracles.metamorphic.engine import Disagreement, EvidenceTemplate, Relation, Rerun
from relaxkit.ir.call_types import ill_typed_call
from relaxkit.ir.walk import joinable_blocks
from relaxkit.passes.contract import Idempotence, OracleName

# True failures of determinism are random (order of hashed pointers), so that one repeat misses many.
REPEATS = 2


def _repeated(subject: Subject) -> Iterator[Rerun]:
    """Run the passes on a copy that shares no object with the input, and again on the same object."""
    if environment.agrees(subject):
        return
    reload = None if subject.ordered else subject.prepared.reload
    # Each pass of a pipeline is repeated where it is judged alone; where the reload was compared, costly ones, too.
    spared = subject.is_pipeline or subject.costly
    copies = [] if reload is None else [(reload, "a reloaded copy of the input")]
    same = [(subject.prepared.module, "the same input object")] * (int(reload is None) if spared else REPEATS)
    for module, label in copies + same:
        subject.stage(OracleName.DETERMINISM)
        yield Rerun(subject.output, subject.run(module), Details(variation=label))


def _grouped(subject: Subject) -> Iterator[Rerun]:
    """Compare ``p_n(...p_1(m))`` with ``Sequential([p_1, ..., p_n])(m)`` on the same input object.

    ``Sequential`` obeys ``opt_level`` and ``disabled_pass`` of the context, a direct call does not; the default context
    (level 2, nothing disabled) runs all public passes either way.
    """
    direct, steps = subject.output, subject.plan.steps
    if not subject.is_pipeline and environment.agrees(subject) and not ill_formed_output(subject):
        return
    subject.stage(OracleName.SEQUENTIAL)
    grouped = subject.grouped(len(steps))
    if direct.error is not None and grouped.error is not None and same_error(direct.error, grouped.error):
        raise Inapplicable("both raise the same error")
    if direct.error is None and grouped.error is None:
        Inapplicable.raise_first([ill_formed_output(subject)])

    def shortest_prefix() -> str:
        pairs = (
            (subject.grouped(count), subject.chain[min(count, len(subject.chain)) - 1])
            for count in range(1, len(steps) + 1)
        )
        found = first_step(left.error or right.error or not equal(left.module, right.module) for left, right in pairs)
        return subject.judged if found is None else steps[found[0]].ref.name

    yield Rerun(direct, grouped, blame=shortest_prefix)


def same_error(left: Evidence, right: Evidence) -> bool:
    """Return whether two errors have one type and place in TVM or, where no place is known, one message.

    What a message quotes of the module may come in another order from run to run: "Cannot find global var" lists the
    functions as a hash map of pointers holds them.
    """
    if left.kind != right.kind or left.frames or right.frames:
        return left.kind == right.kind and left.frames[:1] == right.frames[:1]  # the outer ones tell who called
    first, second = (re.sub(r"0x[0-9a-f]+", "0x", each.message) for each in (left, right))
    return first == second


def _modified_by_step(subject: Subject, run: Rerun) -> str:
    """Return a reason where a step of a pipeline writes into its input.

    ``Sequential`` hands a module on as the only owner, direct calls keep it: what is written into is then another
    object, so that the difference is that step's, which the mutation oracle judges alone.
    """
    copy = load(subject.before) if subject.is_pipeline else None
    before = str(tvm.ir.save_json(copy)) if copy is not None else ""
    for _, entered, result in subject.retrace(copy) if copy is not None else ():
        if str(tvm.ir.save_json(entered)) != before:
            return "a step modified its input"
        before = "" if result.module is None else str(tvm.ir.save_json(result.module))
    return ""


def _on_its_own_output(subject: Subject) -> Iterator[Rerun]:
    """Run the pass on what it gave, as often as its contract needs to come to an end.

    Whatever the contract says, a further run must not raise (but for documented refusals) nor yield an ill-formed
    module from a well-formed one.
    """
    contract, runs = subject.contract, 1
    converges = contract.idempotence in (Idempotence.IDEMPOTENT, Idempotence.FIXPOINT)
    if contract.idempotence is Idempotence.FIXPOINT:
        runs = contract.fixpoint_runs + (contract.fixpoint_extra(subject.module) if contract.fixpoint_extra else 0)
    runs += joinable_blocks(subject.module) if converges else 0
    previous = subject.output
    for number in range(1, runs + 1):
        subject.stage(OracleName.IDEMPOTENCE)
        current = subject.run(previous.module)
        if current.error is None and not tolerated(found := complaint(current.module), subject.plan.steps):
            yield Rerun(subject.output, Result(current.module, found))
        details = Details(variation="a second run" if runs == 1 else f"the last of {runs} further runs")
        yield Rerun(previous, current, details, compared=converges and number == runs)
        if number < runs and equal(previous.module, current.module):
            return
        previous = current


def _refused_again(subject: Subject, run: Rerun) -> str:
    refusals = subject.contract.second_run_refusals + subject.contract.refusals
    if (refusal := refusal_of(run.again.error, refusals)) is not None:
        raise Inapplicable(f"second run: {refusal.reason}", Outcome.REJECT)
    return ""


# Reasons not to judge a subject, or a disagreement of two runs.


def _modified_by_pipeline(subject: Subject) -> str:
    """Return a reason where later runs of a pipeline start from another module.

    Of a single pass the later comparisons are still judged: they are how such a pass shows without the mutation oracle
    (upstream issue 17205).
    """
    return modified_input(subject) if subject.is_pipeline else ""


def _made_of_passes(subject: Subject) -> bool:
    return subject.is_pipeline or subject.contract.composed


_ordered = when("order follows addresses", lambda subject: subject.ordered and _made_of_passes(subject))
_by_identity = when(
    "output holds objects compared by identity",
    lambda _, run: run.first.module is not None and not reloads(run.first.module),
)
# TVM's checker does not see it: what a second run makes of such a module says nothing of that run.
_unfitting = when(
    "output has a call that does not fit its callee", lambda subject: ill_typed_call(subject.output.module) is not None
)
# The checker names the first thing that it objects to: what the contract tolerates of the first output may have hidden
# this complaint, so that the second run need not be its cause (UpdateParamType beside a kernel).
_by_design = when("output is ill-formed by design", lambda subject, _: subject.output_complaint is not None)

_DETERMINISM = Relation(
    OracleName.DETERMINISM,
    # Dangling variables of ill-formed modules compare by identity: 198 of 204 differences on the modules of TVM tests.
    (no_output, ill_formed_output, _modified_by_pipeline, _ordered),
    _repeated,
    {
        Disagreement.RAISED: EvidenceTemplate("{error}", "a module, as in the first run", "an error on {run.how}"),
        Disagreement.UNEQUAL: EvidenceTemplate(
            "{run.parts}", "the module of the first run", "another module on {run.how}\n{run.diff}", (_by_identity,)
        ),
    },
)
_CALLS = ("{error}", "direct calls: {run.first.outcome}", "Sequential: {run.again.outcome}")
_BY_SEQUENTIAL = ("{run.parts}", "the module of direct calls", "another module from Sequential\n{run.diff}")
_SEQUENTIAL = Relation(
    OracleName.SEQUENTIAL,
    (unmet_step, _modified_by_pipeline, _ordered),
    _grouped,
    {
        Disagreement.RAISED: EvidenceTemplate(*_CALLS, (_modified_by_step,)),
        Disagreement.UNEQUAL: EvidenceTemplate(
            *_BY_SEQUENTIAL, (lambda subject, _: subject.incomparable, _modified_by_step)
        ),
    },
)
_SAFE = "a well-formed module from a second run on a well-formed module"
_IDEMPOTENCE = Relation(
    OracleName.IDEMPOTENCE,
    (
        when("pipelines promise no idempotence", _made_of_passes),
        no_output,
        ill_formed_output,
        _unfitting,
        lambda subject: (reason := unmet(subject.contract, subject.output.module)) and f"second run: {reason}",
    ),
    _on_its_own_output,
    {
        Disagreement.RAISED: EvidenceTemplate("{error}", "a safe second run", "an error", (_refused_again,)),
        Disagreement.ILL_FORMED: EvidenceTemplate("{error}", _SAFE, "{error}\n{run.diff}", (_by_design,)),
        Disagreement.UNEQUAL: EvidenceTemplate(
            "{run.parts}", "{run.how} changes nothing", "{run.diff}", (lambda subject, _: subject.incomparable,)
        ),
    },
)
_RUNS = ("{run.how}: {error}", "a plain run: {run.first.outcome}", "{run.how}: {run.again.outcome}")
# What of a module differs depends on the module, and is not in the message.
_SURROUNDED = ("another module {run.how}", "the module of a plain run", "{run.parts}\n{run.diff}")
_ENVIRONMENT = Relation(
    OracleName.ENVIRONMENT,
    (unmet_step, modified_input),
    environment.reruns,
    {
        Disagreement.RAISED: EvidenceTemplate(*_RUNS, (_by_identity,)),
        Disagreement.UNEQUAL: EvidenceTemplate(*_SURROUNDED, (_by_identity,)),
    },
)
_TABLE = (_DETERMINISM, _SEQUENTIAL, _IDEMPOTENCE, _ENVIRONMENT, locality.RELATION)
RELATIONS = {relation.oracle: relation for relation in _TABLE}
