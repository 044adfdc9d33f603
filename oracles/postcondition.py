"""Postcondition oracle: did the pass do what it says, and leave alone what it does not speak of?

A pass that does nothing at all satisfies every other oracle: the module is well formed, deterministic, settled, and
computes the same. What a pass is for is stated by the postconditions of its contract, as code that looks at the modules
before and after one run (``oracles/postconditions/``, one file per table of contracts). Besides, every pass keeps the
attributes and tables of the module and of its functions, unless ``Contract.changes`` says otherwise
(``oracles/postconditions/kept.py``).

Postconditions that need the arguments of the pass are asked only when the text of its reference tells them: not of a
pass that was given as an object, nor of a user's.

In a pipeline each step is judged on its own input, and the first one that breaks a claim is to blame. A failure is
believed when it comes back on a copy of the input, step by step: a later step that writes into its input may have
changed what an earlier one gave, and is the mutation oracle's case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import tvm

from oracles.contract import Contract, Postcondition, Ran
from oracles.crash import without_output
from oracles.facts import load
from oracles.given import NotLiteral, arguments_of
from oracles.passref import GivenPass, PassRef
from oracles.postconditions.kept import KEPT
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict
from oracles.well_formed import output_is_well_formed

RANDOM = "the violation did not come back on a copy of the input"


class UnknownArguments(Mapping[str, Any]):
    """Arguments of a pass that nothing tells: every look raises ``NotLiteral``."""

    def __getitem__(self, key: str) -> NoReturn:
        raise NotLiteral("nothing tells what the pass was built with")

    def __contains__(self, key: object) -> NoReturn:
        raise NotLiteral("nothing tells what the pass was built with")

    def __iter__(self) -> NoReturn:
        raise NotLiteral("nothing tells what the pass was built with")

    def __len__(self) -> NoReturn:
        raise NotLiteral("nothing tells what the pass was built with")


def judge(subject: Subject) -> Verdict:
    """Ask every postcondition of every step that was drawn; the first step that breaks one is to blame."""
    if (skip := without_output(OracleName.POSTCONDITION, subject)) is not None:
        return skip
    if not output_is_well_formed(subject):
        return _skip(subject, "output is ill-formed")
    steps = [(index, step) for index, step in enumerate(subject.plan.steps) if not step.inserted]
    if not any(claims(step.contract) for _, step in steps):
        return _skip(subject, "no postcondition")
    subject.stage(OracleName.POSTCONDITION)
    known = [arguments(step.ref) for step in subject.plan.steps]
    suspected = False
    for index, step in steps:
        before = subject.input_of(index)
        if index == 0 and subject.facts is not None and subject.facts.modified():
            before = load(subject.before)
            if before is None:
                return _skip(subject, "input cannot be reloaded")
        ran = Ran(before, subject.chain[index].module, known[index])
        suspected = suspected or violated(step.contract, ran) is not None
    if not suspected:
        return Verdict(OracleName.POSTCONDITION, Outcome.PASS, subject.judged)
    for index, ran in _again(subject, known):
        step = subject.plan.steps[index]
        if not step.inserted and (found := violated(step.contract, ran)) is not None:
            return Verdict(OracleName.POSTCONDITION, Outcome.FAIL, step.ref.name, evidence=_evidence(*found))
    return _skip(subject, RANDOM)


def claims(contract: Contract) -> tuple[Postcondition, ...]:
    """What a contract claims: its postconditions, and that it keeps what it does not list as changed."""
    return (*contract.postconditions, *(claim for kept, claim in KEPT.items() if kept not in contract.changes))


def violated(contract: Contract, ran: Ran) -> tuple[Postcondition, str] | None:
    """The first claim of a contract that a run breaks, and what contradicts it."""
    for postcondition in claims(contract):
        try:
            said = postcondition.violation(ran)
        except NotLiteral:
            continue
        if said:
            return postcondition, said
    return None


def arguments(ref: PassRef) -> Mapping[str, Any]:
    """What a pass was built with, as far as the text of its reference tells."""
    if ref.is_user or isinstance(ref, GivenPass):
        return UnknownArguments()
    try:
        return arguments_of(ref.expression)
    except NotLiteral:
        return UnknownArguments()


def _again(subject: Subject, known: list[Mapping[str, Any]]) -> Iterator[tuple[int, Ran]]:
    """The steps once more on a copy of the input, each judged before the next one runs."""
    before = load(subject.before)
    for index, _, result in subject.retrace():
        if result.error is not None:
            return
        if before is not None:
            yield index, Ran(before, result.module, known[index])
        # A copy, since the next step may write into its input.
        before = load(str(tvm.ir.save_json(result.module))) if index + 1 < len(known) else None


def _evidence(postcondition: Postcondition, said: str) -> Evidence:
    first = said.partition("\n")[0]
    return Evidence("not-done", f"{postcondition.claim}: {first}", expected=postcondition.claim, observed=said)


def _skip(subject: Subject, reason: str) -> Verdict:
    return Verdict(OracleName.POSTCONDITION, Outcome.SKIP, subject.judged, reason)
