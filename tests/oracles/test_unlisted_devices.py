"""Devices that a module's table does not hold, and who is not to blame for them."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from oracles.core.module_facts import UNLISTED, has_unlisted_device
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome
from oracles.judge import judge
from oracles.structural import well_formed
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import GivenPass, PassRef

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


def test_a_module_that_names_an_unlisted_device_is_no_input() -> None:
    given = UPDATE.build()(BUNDLE.build()(on_a_device()))
    found = {(each.outcome, each.reason) for each in judge(Subject(given, [LIFT]))}
    assert found == {(Outcome.SKIP, "the input has a device that it does not list")}
    assert {each.outcome for each in judge(Subject(on_a_device(), [LIFT]))} != {Outcome.SKIP}


def test_a_pass_that_fails_on_an_unlisted_device_is_not_to_blame() -> None:
    def fails(name: str) -> PassRef:
        def run(given: Any, _: Any) -> Any:
            raise KeyError("key is not in Map")

        built = tvm.transform.module_pass(run, opt_level=0, name=name)
        return GivenPass(name, f"<{name}>", built)

    (said,) = judge(Subject(on_a_device(), [BUNDLE, UPDATE, fails("fails")]), [OracleName.CRASH])
    assert (said.outcome, said.reason) == (Outcome.SKIP, UNLISTED)
    (said,) = judge(Subject(on_a_device(), [BUNDLE, fails("fails")]), [OracleName.CRASH])
    assert (said.outcome, said.culprit) == (Outcome.FAIL, "fails")
