"""Crash and mutation oracle: does the first run raise what no contract documents; is its input what it was before?"""

from __future__ import annotations

import tvm

from oracles.core.applicability import Failure, Inapplicable, oracle, refusal_of, refuse_ill_formed_input, unmet_step
from oracles.core.blame import first_step, inner_pass
from oracles.core.module_facts import UNLISTED, has_unlisted_device, load
from oracles.core.subject import Subject
from oracles.core.verdict import Evidence, Outcome
from relaxkit.ir.equality import describe, graph_of, same_graph, text_difference
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import CONTRACTS


@oracle(OracleName.CRASH)
def crash(subject: Subject) -> Failure | None:
    """Fail for an undocumented error, reject for a documented one.

    Death of the process, a hang and exhausted memory cannot be seen from inside: the runner reports them.
    """
    unmet = unmet_step(subject)
    step, error = subject.last_step, subject.output.error
    name, contract = step.ref.name, step.contract
    if error is not None and step.inserted:
        raise Inapplicable(f"prepare failed: {name}", culprit=name)
    if unmet:
        raise Inapplicable(unmet, culprit=name)
    if error is None:
        return None
    if (refusal := refusal_of(error, contract.refusals)) is not None:
        raise Inapplicable(refusal.reason, Outcome.REJECT, name)
    index = len(subject.chain) - 1
    refuse_ill_formed_input(subject, index)
    if index and has_unlisted_device(subject.given_again(index)):
        raise Inapplicable(UNLISTED, culprit=name)
    if not contract.composed:
        return name, error
    culprit = inner_pass(subject.built(index), subject.given_again(index)) or name
    inner = CONTRACTS.get(culprit)
    if inner is not None and (refusal := refusal_of(error, inner.refusals)) is not None:
        raise Inapplicable(refusal.reason, Outcome.REJECT, name)
    return culprit, error


@oracle(OracleName.MUTATION)
def mutation(subject: Subject) -> Failure | None:
    """Compare the JSON of the same input object before and after the first run, whether or not that raised.

    JSON sees what structural comparison does not: names, spans, ``GlobalVar.ty``, the order of functions.
    """
    facts = subject.prepared
    graph = facts.graph
    subject.chain  # noqa: B018  # running the passes is the point
    if same_graph(graph, graph_of(facts.module)):
        return None
    before = facts.snapshot
    old, copy, culprit = load(before), load(before), subject.judged
    observed = "the module changed"
    if old is not None and copy is not None:
        changed = describe(old, facts.module) or "only parts that structural comparison ignores changed"
        observed = f"{changed}\n{text_difference(old, facts.module)}"
        found = first_step(str(tvm.ir.save_json(copy)) != before for _ in subject.retrace(copy))
        culprit = culprit if found is None else subject.plan.steps[found[0]].ref.name
    # What changed depends on the module, that something did is the defect: one message, so one signature.
    message = "the input module was modified"
    return culprit, Evidence("mutated", message, expected="the input module stays as it was", observed=observed)
