"""Modules and failures that tests of titles share."""

from __future__ import annotations

from typing import Any

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from fuzzer.core.case import Case, judge_case
from fuzzer.repro.title import title_of
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

PASSES = """
import tvm
from tvm import relax


class Edit(relax.PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if call.op == tvm.ir.Op.get("relax.exp"):
            return self.edited(call)
        return call


def made(edited):
    def transform(module, context):
        kind = relax.expr_functor.mutator(type("Kind", (Edit,), {"edited": lambda self, call: edited(self, call)}))
        functions = {var: kind(module).visit_expr(each) for var, each in module.functions_items()}
        return tvm.IRModule(functions, attrs=module.attrs)

    return tvm.transform.module_pass(transform, opt_level=0, name="Edited")
"""


@I.ir_module
class Exponent:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        lv = R.exp(x)
        return R.negative(lv)


@I.ir_module
class Device:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0:global")) -> R.Tensor((2,), "float32", "llvm:0:global"):
        return x


@I.ir_module
class Bound:
    @R.function
    def main(x: R.Tensor((1,), "float32"), y: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 2})
        return y


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x


@I.ir_module
class Loose:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor:
        with R.dataflow():
            lv: R.Tensor = R.rsqrt(x)
            R.output(lv)
        return lv


@I.ir_module
class Argsort:
    @R.function
    def main(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "int32"):
        return R.argsort(x, axis=1, descending=False, dtype="int32")


def case_of(module: Any, name: str, expression: str = "") -> Case:
    text = str(tvm.ir.save_json(module))
    return Case(text, (PassRef(name, expression or f"relax.transform.{name}()"),), 0)


def failed(case: Case, oracle: OracleName) -> Verdict:
    """The failing verdict of an oracle, in this process."""
    return next(each for each in judge_case(case, (oracle,)) if each.outcome is Outcome.FAIL)


VARIED = """
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        lv = R.variance(x)
        return lv

    @R.function
    def main(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        return Module.f1(x)
"""


def crash_of(message: str, kind: str = "InternalError", frame: str = "src/relax/a.cc:relax::Visit") -> Verdict:
    return Verdict(OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=Evidence(kind, message, (frame,)))


def judged(culprit: str, module: Any, evidence: Evidence, blame: str = "") -> str:
    ran = PassRef(culprit, f"relax.transform.{culprit}()")
    verdict = Verdict(OracleName.NUMERIC, Outcome.FAIL, culprit, evidence=evidence)
    return title_of(Case(str(tvm.ir.save_json(module)), (ran,), 0), verdict, blame=blame)
