"""Arguments of LegalizeOps: operators to leave, and legalizations of one's own."""

from __future__ import annotations

from strategies.choices import Choices
from strategies.module_facts import Facts
from strategies.pass_arguments.names import call, some, strings

OWN: dict[str, str] = {
    "relax.add": "lambda builder, call: builder.call_te(tvm.topi.add, call.args[1], call.args[0])",
    "relax.multiply": "lambda builder, call: builder.call_te(tvm.topi.multiply, call.args[1], call.args[0])",
    "relax.negative": "lambda builder, call: builder.call_te(tvm.topi.negative, call.args[0])",
    "relax.exp": 'lambda builder, call: builder.call_te(tvm.topi.exp, call.args[0], primfunc_name_hint="own_exp")',
    "relax.nn.relu": "lambda builder, call: builder.call_te(tvm.topi.nn.relu, call.args[0])",
    "relax.tanh": "lambda builder, call: builder.call_te(tvm.topi.tanh, call.args[0])",
}
"""Operator -> text of a legalization that computes the same."""
LEAVE = "lambda builder, call: call"
"""A legalization that leaves the call as it is."""


def legalize(choices: Choices, facts: Facts) -> str:
    """LegalizeOps: mostly as it is; operators that are skipped, or legalized by a function of the caller's."""
    called = sorted(facts.operators)
    way = choices.index(8)
    if not called or way < 5:
        return call("LegalizeOps")
    own = ""
    if way != 5:
        known = [name for name in called if name in OWN]
        chosen = choices.subset(known[:6]) if known else [choices.pick(called)]
        entries = [f'"{name}": {OWN.get(name, LEAVE) if choices.index(5) < 4 else LEAVE}' for name in chosen]
        own = "{" + ", ".join(entries) + "}"
    skipped = f"skip_ops={strings(choices.subset(called[:8]))}" if way in (5, 7) else ""
    return call("LegalizeOps", own, skipped, some(choices, "enable_warning=True", 6))
