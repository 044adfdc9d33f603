"""AlterOpImpl: what is drawn for it fits the kernels that the module has, and computes the same."""

from __future__ import annotations

import pytest
from drawing import drawn
from hypothesis import strategies as st

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import namespace
from strategies import Feature, ir_modules, passes_for
from strategies.detect.module_facts import facts_of
from strategies.passes import can_act
from strategies.scope.choices import Choices
from strategies.seeds.replacements import draw_alteration, operator_name

WITH_KERNELS = ir_modules(
    demand=[Feature.KERNELS], forbid=[Feature.LOWERED], max_functions=1, max_bindings=2, executable=True
)


@pytest.mark.parametrize("dims", [(3,), (4,), (2, 3), (4, 2, 6)])
def test_layouts_are_permutations_packings_and_paddings(dims):
    layouts = set()
    for seed in range(40):
        name = operator_name("te_add", "float32", dims)
        (made,) = drawn(
            st.builds(lambda data, name=name: draw_alteration(Choices(lambda _: data), name), DATA), 1, seed
        )
        layouts.add(made[1])
    assert len(layouts) == 1 + (len(dims) > 1) + sum(size % 2 == 0 for size in dims) + dims[-1] % 2


def test_a_kernel_of_two_outputs_is_replaced_as_a_whole():
    text, layouts = draw_alteration(Choices(lambda _: bytes(8)), operator_name("scale_and_shift", "float32", (4, 3)))
    kernel = eval(text, namespace())
    assert len(kernel.params) == layouts.count("lambda") == 3


DATA = st.binary(min_size=8, max_size=8)


def test_replacements_fit_and_agree():
    altered = 0
    for number, module in enumerate(drawn(WITH_KERNELS, 60)):
        facts = facts_of(module)
        assert can_act("AlterOpImpl", facts) == bool(facts.replaceable)
        if not facts.replaceable or altered == 8:
            continue
        altered += 1
        (each,) = drawn(passes_for(module, ["AlterOpImpl"]), 1, number)
        subject = Subject(module, [each])
        verdicts = {verdict.oracle: verdict for verdict in judge(subject)}
        assert "layout_transform" in subject.output.module.script()
        assert not any(verdict.outcome is Outcome.FAIL for verdict in verdicts.values()), verdicts
        assert verdicts[OracleName.IDEMPOTENCE].reason == "second run: kernels are altered already"
    assert altered == 8
