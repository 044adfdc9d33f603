"""Postcondition oracle: did the pass do what it says, and leave alone what it does not speak of?

A pass that does nothing at all satisfies every other oracle: the module is well formed, deterministic, settled, and
computes the same. What a pass is for is stated by the postconditions of its contract, as code that looks at the modules
before and after one run (``relaxkit/passes/claims/``, one file per table of contracts). Besides, every pass keeps the
attributes and tables of the module and of its functions, unless ``Contract.changes`` says otherwise
(``relaxkit/passes/claims/kept.py``).

Postconditions that need the arguments of the pass are asked only when the text of its reference tells them: not of a
pass that was given as an object, nor of a user's.

In a pipeline each step is judged on its own input, and the first one that breaks a claim is to blame. A failure is
believed when it comes back on a copy of the input, step by step: a later step that writes into its input may have
changed what an earlier one gave, and is the mutation oracle's case.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

import tvm

from oracles.core.applicability import (
    Failure,
    Inapplicable,
    ill_formed_output,
    no_output,
    oracle,
    refuse_ill_formed_input,
)
from oracles.core.blame import first_step
from oracles.core.module_facts import load
from oracles.core.subject import Subject
from oracles.core.verdict import Details, Evidence
from relaxkit.passes.arguments import NotLiteral, arguments_of
from relaxkit.passes.claims.kept import KEPT, claims_of
from relaxkit.passes.contract import Contract, EvidenceClass, OracleName, Postcondition, Ran
from relaxkit.passes.contracts import is_users
from relaxkit.passes.pass_ref import GivenPass, PassRef

RANDOM = "the violation did not recur on a copy of the input"


class UnknownArguments(Mapping[str, Any]):
    """Arguments of a pass that nothing tells: every look raises ``NotLiteral``."""

    def _raise(self, *_: object) -> NoReturn:
        raise NotLiteral("the arguments that the pass was built with are unknown")

    __getitem__ = __contains__ = __iter__ = __len__ = _raise


@oracle(OracleName.POSTCONDITION)
def judge(subject: Subject) -> Failure | None:
    """Ask every postcondition of every step that was drawn; the first step that breaks one is to blame."""
    steps = subject.plan.steps
    if not any(claims_of(step.contract) for step in steps if not step.inserted):
        raise Inapplicable("no postcondition")  # whatever the pass made: the gate demands no checks of it
    Inapplicable.raise_first([no_output(subject) or ill_formed_output(subject)])
    subject.stage(OracleName.POSTCONDITION)
    known = [arguments(step.ref) for step in steps]
    befores = [subject.input_of(index) for index in range(len(steps))]
    if subject.facts is not None and subject.facts.modified():
        befores[0] = load(subject.before)
        if befores[0] is None:
            raise Inapplicable("input cannot be reloaded")
    runs = map(Ran, befores, (result.module for result in subject.chain), known)
    if first_step(_violations(subject, runs)) is None:
        return None
    if (found := first_step(_violations(subject, _again(subject, known)))) is None:
        raise Inapplicable(RANDOM)
    index, (postcondition, violation) = found
    refuse_ill_formed_input(subject, index)
    first, done, *_ = [*violation.splitlines(), ""]
    ref = steps[index].ref
    if is_users(ref) and postcondition in KEPT.values():  # one defect drops many attributes, and is one finding
        first = first.split(":", 1)[0]
    return ref.name, Evidence(
        "not-done",
        f"{postcondition.claim}: {first}",
        expected=postcondition.claim,
        observed=violation,
        details=Details(
            claim=postcondition.claim,
            source=postcondition.source,
            done="" if re.match(r"[\w.]+: ", done) else done,  # a user's claim may have a field there
            arguments=ref.expression,
            # A user's contract is a promise, whatever TVM says of such passes.
            rests_on=EvidenceClass.DOCUMENTED if is_users(ref) else postcondition.evidence,
            harm=postcondition.harm,
        ),
    )


def _violations(subject: Subject, runs: Iterable[Ran | None]) -> Iterator[tuple[Postcondition, str] | None]:
    for step, run in zip(subject.plan.steps, runs, strict=False):
        yield None if run is None or step.inserted else violated(step.contract, run)


def violated(contract: Contract, ran: Ran) -> tuple[Postcondition, str] | None:
    """Return the first claim of a contract that a run breaks, and what contradicts it."""
    for postcondition in claims_of(contract):
        with contextlib.suppress(NotLiteral):
            if violation := postcondition.violation(ran):
                return postcondition, violation
    return None


def arguments(ref: PassRef) -> Mapping[str, Any]:
    """Return what a pass was built with, as far as the text of its reference tells."""
    if not ref.is_user and not isinstance(ref, GivenPass):
        with contextlib.suppress(NotLiteral):
            return arguments_of(ref.expression)
    return UnknownArguments()


def _again(subject: Subject, known: list[Mapping[str, Any]]) -> Iterator[Ran | None]:
    """Run the steps once more on a copy of the input, each judged before the next one runs."""
    before = load(subject.before)
    for index, _, result in subject.retrace():
        if result.error is not None:
            return
        yield None if before is None else Ran(before, result.module, known[index])
        # A copy, since the next step may write into its input.
        before = load(str(tvm.ir.save_json(result.module))) if index + 1 < len(known) else None
