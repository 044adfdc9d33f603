"""False alarms about kernels with gradients that campaigns brought to light; others: ``test_audit_pins``."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax, te

from oracles import judge
from oracles.facts import ModuleFacts
from oracles.gradient_blame import guilty_operator
from oracles.passref import PassRef
from oracles.subject import Subject
from oracles.verdict import OracleName, Outcome, Verdict

X = "relax.transform"


def with_gradient(used: bool) -> Any:
    """A kernel whose gradient nobody has registered, and a call in place of what it gives."""
    device = relax.VDevice("llvm", 0, "global")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32", device if not used else None))
    with builder.function("main", [x]):
        with builder.dataflow():
            made = builder.call_te_with_grad(_plus_one, x, te_grad_name="nobodys_grad")
            plus = builder.emit_output(made)
            total = builder.emit_output(relax.op.sum(plus if used else x))
        if not used:
            kept = builder.emit(relax.op.negative(plus))
            builder.emit(relax.op.call_inplace_packed("vm.builtin.copy", kept, inplace_indices=[0], ty_args=[kept.ty]))
        builder.emit_func_output(total)
    module = builder.get()
    if not used:
        module.update_global_info("vdevice", [device])
    return module


def _plus_one(a: Any) -> Any:
    return te.compute((2,), lambda i: a[i] + 1, name="plus")


def verdict(module: Any, name: str, arguments: str, oracle: OracleName) -> Verdict:
    reference = PassRef(name, f"{X}.{name}({arguments})")
    return judge(Subject(module, [reference], facts=ModuleFacts(module)), [oracle])[-1]


def test_a_gradient_that_nobody_has_registered_is_refused() -> None:
    found = verdict(with_gradient(used=True), "Gradient", '"main"', OracleName.CRASH)
    assert (found.outcome, found.reason) == (Outcome.REJECT, "gradient of a kernel that nobody has registered")


def test_only_gradient_lowers_a_kernel_with_a_gradient() -> None:
    module = relax.transform.ToNonDataflow()(with_gradient(used=False))
    found = verdict(module, "RemovePurityChecking", "", OracleName.NUMERIC)
    assert (found.outcome, found.reason) == (Outcome.SKIP, "call_tir_with_grad is for Gradient to lower")


def test_nobody_asks_for_the_gradient_of_a_number() -> None:
    """An operator on two numbers gives one; it was an error of the harness."""
    a, b = (relax.Var(name, tvm.ir.PrimType("float32")) for name in "ab")
    builder = relax.BlockBuilder()
    with builder.function("main", [a, b]):
        builder.emit_func_output(builder.emit(relax.op.add(a, b)))
    assert guilty_operator(builder.finalize()["main"], 1) == ""
