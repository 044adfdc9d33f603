"""False alarms about devices that campaigns brought to light, each pinned by its mend; others: ``test_audit_pins``."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from oracles import judge
from oracles.facts import ModuleFacts
from oracles.numeric_limits import excused_run
from oracles.passref import PassRef
from oracles.subject import Subject
from oracles.verdict import Evidence, OracleName, Outcome

X = "relax.transform"
LEGALIZE = PassRef("LegalizeOps", f"{X}.LegalizeOps()")
REALIZE = PassRef("RealizeVDevice", f"{X}.RealizeVDevice()")
MISMATCH = Evidence("run-error", "ValueError: Mismatched compute.device_id on argument #1 when calling: ...")


def moved() -> Any:
    """A hint that moves a value away from the device that its type names."""
    devices = [relax.VDevice("llvm", number, "global") for number in range(2)]
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32", devices[0]))
    with builder.function("main", [x]):
        hinted = builder.emit(relax.op.hint_on_device(x, tvm.cpu(1), "global"))
        builder.emit_func_output(builder.emit(relax.op.abs(hinted)))
    module = builder.get()
    module.update_global_info("vdevice", devices)
    return module


def test_legalization_writes_down_the_device_that_a_hint_has_yet_to_change() -> None:
    module = moved()
    (verdict,) = judge(Subject(module, [LEGALIZE], facts=ModuleFacts(module)), [OracleName.NUMERIC])[-1:]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "a device that a hint has yet to change")


def test_other_mismatches_of_devices_are_reported() -> None:
    def excuse(module: Any, *passes: PassRef) -> str:
        steps = Subject(module, passes, facts=ModuleFacts(module)).plan.steps
        return excused_run(MISMATCH, steps, module, module)

    plain = moved()
    plain.update_func(plain.get_global_var("main"), relax.transform.RealizeVDevice()(plain)["main"])
    assert excuse(moved(), LEGALIZE)
    assert excuse(moved(), LEGALIZE, REALIZE)  # which comes too late then
    assert not excuse(plain, LEGALIZE)
    assert not excuse(moved(), REALIZE, LEGALIZE)


def test_a_move_in_a_function_of_its_own_is_no_fault_of_who_put_it_there() -> None:
    """268bca1e0b: RealizeVDevice, which runs later, takes the argument of the grouped move for moved already."""
    module = tvm.script.from_source("""
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((2,), dtype="float32") = R.abs(x)
            lv1: R.Tensor((2,), dtype="float32", vdevice="llvm:1:global") = R.to_vdevice(x, dst_vdevice="llvm:1:global")
            R.output(lv, lv1)
        return lv
""")
    patterns = '[("absent.to_vdevice", is_op("relax.to_vdevice")(wildcard()))]'
    fuse = PassRef("FuseOpsByPattern", f"{X}.FuseOpsByPattern({patterns})")
    found = judge(Subject(module, [fuse], facts=ModuleFacts(module)), [OracleName.NUMERIC])[-1]
    assert (found.outcome, found.reason) == (Outcome.SKIP, "RealizeVDevice carries a device over a call")


def test_a_move_in_a_function_of_its_own_is_the_fault_of_who_carries_it_over_the_call() -> None:
    """268bca1e0b, once more: where RealizeVDevice is one of the passes, the pass before it was blamed all the same."""
    module = tvm.script.from_source("""
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 1, "global")]})
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32", "llvm:1:global"):
        with R.dataflow():
            lv = R.abs(x)
            lv1: R.Tensor((2,), "float32", "llvm:1:global") = R.to_vdevice(lv, dst_vdevice="llvm:1:global")
            lv2: R.Tensor((2,), "float32", "llvm:1:global") = R.maximum(lv1, lv1)
            R.output(lv, lv1, lv2)
        return lv2
""")
    patterns = '[("absent.move", is_op("relax.maximum")(wildcard(), is_op("relax.to_vdevice")(wildcard())))]'
    fuse = PassRef("FuseOpsByPattern", f"{X}.FuseOpsByPattern({patterns})")
    found = judge(Subject(module, [fuse, REALIZE, LEGALIZE], facts=ModuleFacts(module)), [OracleName.NUMERIC])[-1]
    assert (found.outcome, found.culprit) == (Outcome.FAIL, "RealizeVDevice")
