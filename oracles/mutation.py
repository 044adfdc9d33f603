"""Mutation oracle: is the input module what it was before the pass ran?"""

from __future__ import annotations

from typing import Any

import tvm

from oracles.difference import describe, text_difference
from oracles.facts import apply, load
from oracles.json_graph import graph_of, same
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome, Verdict


def judge(subject: Subject) -> Verdict:
    """Compare the JSON of the same input object before and after the first run, whether or not that raised.

    JSON sees what structural comparison does not: names, spans, ``GlobalVar.ty``, the order of functions.
    """
    facts = subject.facts
    assert facts is not None
    graph = facts.graph
    subject.chain  # noqa: B018  # running the passes is the point
    if same(graph, graph_of(facts.module)):
        return Verdict(OracleName.MUTATION, Outcome.PASS, subject.judged)
    before = facts.snapshot
    old = load(before)
    # What changed depends on the module, that something did is the defect: one message, so one signature.
    evidence = Evidence(
        "mutated",
        "the input module was modified",
        expected="the input module stays as it was",
        observed=_change(old, facts.module) + ("" if old is None else f"\n{text_difference(old, facts.module)}"),
    )
    return Verdict(OracleName.MUTATION, Outcome.FAIL, _culprit(subject, before), evidence=evidence)


def _change(old: Any | None, new: Any) -> str:
    if old is None:
        return "the module changed"
    return describe(old, new) or "only parts that structural comparison ignores changed"


def _culprit(subject: Subject, before: str) -> str:
    """The first step after which the input is modified."""
    module = load(before)
    if module is None:
        return subject.judged
    current = module
    for index, step in enumerate(subject.plan.steps):
        result = apply(subject.built(index), current)
        if str(tvm.ir.save_json(module)) != before:
            return step.ref.name
        if result.error is not None:
            break
        current = result.module
    return subject.judged
