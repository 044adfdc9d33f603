"""Devices that a module's table does not hold, and who is not to blame for them."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.structural import well_formed
from oracles.structural.well_formed import has_unlisted_device
from relaxkit.passes.pass_ref import PassRef

UPDATE = PassRef("UpdateVDevice", 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 0, "global"), 0)')
BUNDLE = PassRef("BundleModelParams", "relax.transform.BundleModelParams()")
LIFT = PassRef("LiftTransformParams", "relax.transform.LiftTransformParams()")


def on_a_device() -> Any:
    return tvm.script.from_source("""
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})
    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0:global")) -> R.Tensor((2,), "float32", "llvm:0:global"):
        R.func_attr({"num_input": 0})
        return x
""")


def test_a_device_that_a_pass_leaves_in_types_is_seen() -> None:
    module = on_a_device()
    bundled = relax.transform.BundleModelParams()(module)
    assert not has_unlisted_device(module)
    assert not has_unlisted_device(bundled)
    assert has_unlisted_device(UPDATE.build()(bundled))


def test_what_a_pass_makes_of_an_unlisted_device_is_not_held_against_it() -> None:
    """6f8434bdb7: LiftTransformParams was blamed for types that UpdateVDevice had left behind."""
    said = well_formed.judge(Subject(on_a_device(), [BUNDLE, UPDATE, LIFT]))
    assert (said.outcome, said.reason) == (Outcome.SKIP, "a device is not in the module's table")
    assert well_formed.judge(Subject(on_a_device(), [BUNDLE, LIFT])).outcome is Outcome.PASS


def test_a_first_step_is_judged_the_same_with_others_behind_it() -> None:
    given = UPDATE.build()(BUNDLE.build()(on_a_device()))
    normalize = PassRef("Normalize", "relax.transform.Normalize()")
    alone, first = (well_formed.judge(Subject(given, passes)) for passes in ([LIFT], [LIFT, normalize]))
    assert alone.outcome is first.outcome is Outcome.FAIL
    assert alone.culprit == first.culprit == "LiftTransformParams"
