"""Words of older releases, as they were met, match what contracts know of the newest."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from oracles import CONTRACTS
from oracles.core.verdict import Evidence
from relaxkit.compat.tables import newest
from relaxkit.passes.contract import NumericCheck
from relaxkit.passes.limits import Situation, reason_against
from relaxkit.passes.pass_ref import PassRef, Step
from relaxkit.passes.plan import plan_of

TAKEN_025 = 'Check failed: (*it).second == var (I.GlobalVar("main_loss") vs. I.GlobalVar("main_loss")) : '
TAKEN = "Check failed: ((*it).second.same_as(var)) is false:"
UNLOWERED_026 = (
    'CodeGenVM cannot handle this intrinsic now:\nir.Op(span=None, ty=ir.Type(span=None), name="relax.nn.conv2d", '
    'description="", arguments=(ir.ArgumentInfo(name="data", type_info="Tensor")))'
)
UNLOWERED = "R.nn.conv2d: CodeGenVM cannot emit this Relax operator directly. Run the appropriate lowering pass"


@pytest.mark.parametrize("message", [TAKEN_025, TAKEN])
def test_a_taken_name_is_the_same_refusal(message: str) -> None:
    (refusal,) = CONTRACTS["AppendLoss"].second_run_refusals
    assert refusal.matches("InternalError", message)


def unbuilt(message: str, steps: Sequence[Step]) -> str:
    return reason_against(NumericCheck.BUILD, Situation(steps, failure=Evidence("InternalError", message, ())))


@pytest.mark.parametrize("message", [UNLOWERED_026, UNLOWERED])
def test_a_layout_without_a_kernel_is_the_same_limit(message: str) -> None:
    ref = PassRef("ConvertLayout", 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW", "NHWC"]})')
    steps = plan_of((ref,), (CONTRACTS["ConvertLayout"],), None).steps
    assert unbuilt(message, steps) == "no kernel for this layout"


@pytest.mark.parametrize("message", [UNLOWERED_026, UNLOWERED])
def test_dilated_pooling_without_a_gradient_kernel_is_the_same_limit(message: str) -> None:
    steps = plan_of((PassRef("Gradient", 'relax.transform.Gradient("main")'),), (CONTRACTS["Gradient"],), None).steps
    said = message.replace("nn.conv2d", "grad.max_pool2d_backward")
    assert unbuilt(said, steps) == "dilated pooling has no gradient kernel"
    assert not unbuilt(message, steps)


def test_the_newest_words_stay() -> None:
    for message in (TAKEN, UNLOWERED, "", "Var lv is not defined."):
        assert newest(message) == message
