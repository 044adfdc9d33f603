"""Titles: what is wrong, in words of the program, by the oracle and the kind of failure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from deaths import death
from test_at_fault import Cast
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from corpus.case import load, load_module
from fuzzer.core.case import Case, judge_case
from fuzzer.findings.assessment import Culprit
from fuzzer.findings.script_parts import Nearest
from fuzzer.repro.checks.documented import shown_alone
from fuzzer.repro.contradictions import contradictions
from fuzzer.repro.essence import essence
from fuzzer.repro.module.source import module_source
from fuzzer.repro.special_values import needed
from fuzzer.repro.title import MOST, title_of
from fuzzer.triage.script import repro_script
from oracles.core.verdict import Details, Evidence, Notation, Outcome, Phase, Verdict
from oracles.semantics.replay import fault_of
from oracles.semantics.single import SingleCall
from relaxkit.ir.first_difference import type_texts
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
class Attention:
    @R.function
    def main(x: R.Tensor((2, 2, 1, 2), "float32"), q: R.Tensor((2, 2, 2, 2), "float32")) -> R.Tensor(
        (2, 2, 2, 2), "float32"
    ):
        with R.dataflow():
            lv = R.nn.attention(q, q, q, x)
            R.output(lv)
        return lv


@I.ir_module
class Device:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor((2,), "float32", "llvm:0:global")) -> R.Tensor((2,), "float32", "llvm:0:global"):
        return x


@I.ir_module
class Given:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 0})
        return x


@I.ir_module
class Bound:
    @R.function
    def main(x: R.Tensor((1,), "float32"), y: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 2})
        return y


@I.ir_module
class Branches:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x1: T.Buffer((), "float32"), compute: T.Buffer((), "float32")):
        T.func_attr({"op_pattern": 0})
        compute[()] = x1[()]

    @R.function
    def main(x: R.Tensor((), "bool"), y: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        cls = Branches
        if x:
            with R.dataflow():
                lv = R.call_tir(cls.kernel, (y,), R.Tensor((), "float32"))  # noqa: F841  # that nothing reads it is what is told
                R.output()
            lv1 = y
        else:
            lv1 = R.const(1.0, "float32")
        return lv1


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


@pytest.mark.parametrize(
    ("slug", "words"),
    [
        ("gradient-cumsum-exclusive", r"relax\.cumsum\(.*\) is -?[\d.]+, but finite differences give -?[\d.]+"),
        ("gradient-where-broadcast", r"relax\.where has the type float32\(2, 3\), its operand float32\(3,\)"),
    ],
)
def test_a_wrong_gradient_is_told_by_its_slopes_or_by_its_type(slug: str, words: str) -> None:
    (known,) = load([slug])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    assert re.fullmatch(f"Gradient of {words}", title_of(case, failed(case, OracleName.NUMERIC)))


@pytest.mark.parametrize(
    ("module", "name", "expression", "oracle", "title"),
    [
        (
            Attention, "ToMixedPrecision", "", OracleName.POSTCONDITION,
            "ToMixedPrecision drops bias of relax.nn.attention_bias",
        ),
        (
            Device, "UpdateVDevice", 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2, "global"), 0)',
            OracleName.MUTATION, "UpdateVDevice modifies its input module: it changes the device of x",
        ),
        (
            Given, "LiftTransformParams", "", OracleName.WELL_FORMED,
            "LiftTransformParams leaves the parameter x, which main returns, undefined",
        ),
        (
            Bound, "BindParams", 'relax.transform.BindParams("main", {"x": np.ones((1,), "float32")})',
            OracleName.POSTCONDITION,
            "BindParams leaves num_input of main at 2, though it has 1 parameter left",
        ),
        (
            Loose, "ConvertLayout", "relax.transform.ConvertLayout({})", OracleName.CRASH,
            "ConvertLayout fails on a module with relax.rsqrt: one of two layouts is unknown",
        ),
        (
            Branches, "FuseOps", "", OracleName.CRASH,
            "FuseOps fails on an unused binding inside an If: a variable could not be found in any group",
        ),
    ],
)  # fmt: skip
def test_defects_of_tvm_are_told(module: Any, name: str, expression: str, oracle: OracleName, title: str) -> None:
    case = case_of(module, name, expression)
    assert title_of(case, failed(case, oracle)) == title


@I.ir_module
class Unused:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor((), "float32", "llvm:0:global"), x1: R.Tensor((1,), "float32", "llvm:0:global")) -> R.Tensor(
        (), "float32", "llvm:0:global"
    ):
        lv = R.abs(x1)  # noqa: F841  # that nothing reads it is what is told
        return x


@I.ir_module
class Wide:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((), "float64"):
        lv = R.add(x, x)
        return R.matmul(x, lv, out_dtype="float64")


@I.ir_module
class Closure:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"relax.force_pure": True})
        return x

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Closure
        lv = R.make_closure(cls.f1, (x,))
        lv1 = R.invoke_closure(lv, R.tuple(), (R.Tensor((1,), "float32"),))
        return R.reshape(lv1, R.shape([1]))


@I.ir_module
class Inlined:
    @R.function(private=True)
    def f1(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return R.collapse_sum_to(x, R.shape([n]))

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Inlined
        return cls.f1(x)


@I.ir_module
class Halved:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x

    @R.function
    def main(w0: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Halved
        return cls.f1(w0)


@I.ir_module
class Held:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tuple(R.Tensor((1,), "float32")):
        with R.dataflow():
            lv = R.abs(x)
            lv1 = (lv,)
            lv2 = R.add(lv, lv)
            R.output(lv1, lv2)
        return lv1


@I.ir_module
class Hinted:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.hint_on_device(x, R.device(device_type=1, index=0), "global")

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Hinted
        return cls.f1(x)


@I.ir_module
class Averaged:
    @R.function
    def main(x: R.Tensor((2,), "int32")) -> R.Tensor((), "int32"):
        return R.mean(x)


@I.ir_module
class Invoked:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"relax.force_pure": True})
        return x

    @R.function
    def main(x: R.Tensor("float32", ndim=1), x1: R.Tensor((1,), "float32")) -> R.Tuple(
        R.Tensor("float32", ndim=1), R.Tensor((1,), "float32")
    ):
        R.func_attr({"relax.force_pure": True})
        b = T.int64()
        cls = Invoked
        lv = R.match_cast(x, R.Tensor((b,), "float32"))
        lv1 = R.make_closure(cls.f1, (x1,))
        lv2 = R.invoke_closure(lv1, R.tuple(), (R.Tensor((1,), "float32"),))
        return (lv, lv2)


@I.ir_module
class Transposed:
    @R.function
    def main(
        x: R.Tensor((3,), "float32"), x1: R.Tensor((2,), "float32"), x2: R.Tensor((2, 2, 2, 2, 1), "float32")
    ) -> R.Tensor((2, 2, 2, 2, 1), "float32"):
        lv = R.permute_dims(x)
        lv1 = R.permute_dims(lv)
        lv2 = R.strided_slice(lv1, (0,), (1,), (4,))
        return R.nn.instance_norm(x2, x1, lv2, channel_axis=1, axes=[3])


@I.ir_module
class Broadcast:
    @R.function
    def main(x: R.Tensor(("m",), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor(("m + 1",), "float32"):
        m = T.int64()
        with R.dataflow():
            lv = R.broadcast_to(x1, R.shape([m]))
            lv1 = R.concat((lv, x1), axis=0)
            R.output(lv, lv1)
        return lv1


@I.ir_module
class Single:
    @R.function
    def forward_transform_params(x: R.Tensor((1,), "float32")) -> R.Tuple(R.Tensor((1,), "float32")):
        R.func_attr({"relax.force_pure": True})
        return (x,)


@I.ir_module
class Whole:
    @R.function
    def forward_transform_params(x: R.Tuple(R.Tensor((1,), "float32"), R.Tensor((1,), "float32"))) -> R.Tuple(
        R.Tuple(R.Tensor((1,), "float32"), R.Tensor((1,), "float32")), R.Tensor((1,), "float32")
    ):
        R.func_attr({"relax.force_pure": True})
        lv = (x, R.const([1.0], "float32"))
        return lv  # noqa: RET504  # the tuple is bound


@I.ir_module
class Public:
    @T.prim_func(s_tir=True)
    def misnamed(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
        T.func_attr({"global_symbol": "symbol"})
        for i in range(1):
            B[i] = A[i]

    @R.function
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Public
        return cls.f1(x)


TWICE = """@I.ir_module
class Rewriter:
    @R.function
    def pattern(x: R.Tensor("float32")):
        return R.permute_dims(R.permute_dims(x))

    @R.function
    def replacement(x: R.Tensor("float32")):
        return x
"""
REWRITER = (
    "(lambda rewriter: tvm.transform.module_pass(lambda mod, _: rewriter(mod), opt_level=0, name='module_pass'))"
    f"(relax.dpl.PatternMatchingRewriter.from_module(tvm.script.from_source({TWICE!r})))"
)
PATTERN = 'relax.transform.FuseOpsByPattern([("absent.b", is_op("relax.broadcast_to")(wildcard(), wildcard()))])'
MOVED = 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2, "global"), 0)'
HALVED = 'relax.transform.ToMixedPrecision(fp16_input_names=["w0"])'


@pytest.mark.parametrize(
    ("module", "expression", "oracle", "title"),
    [
        (Unused, MOVED, OracleName.WELL_FORMED,
         "UpdateVDevice leaves the old device in the type of lv, which nothing uses"),
        (Device, MOVED, OracleName.ROUNDTRIP,
         "UpdateVDevice leaves the result type of main on a device that the module does not list"),
        (Wide, "relax.transform.ExpandMatmulOfSum()", OracleName.WELL_FORMED,
         "ExpandMatmulOfSum drops out_dtype=float64 of relax.matmul"),
        (Cast, "relax.transform.ExpandMatmulOfSum()", OracleName.WELL_FORMED,
         "ExpandMatmulOfSum gives relax.matmul the operand of a match_cast, not its result"),
        (Closure, "relax.transform.LowerRuntimeBuiltin()", OracleName.CRASH,
         "LowerRuntimeBuiltin loses the type of the result of relax.invoke_closure, and fails on the call to reshape"),
        (Inlined, "relax.transform.InlinePrivateFunctions()", OracleName.CRASH,
         "InlinePrivateFunctions leaves the symbolic dim n of f1 undefined in main, and fails on relax.collapse"),
        (Halved, HALVED, OracleName.CRASH,
         'ToMixedPrecision(fp16_input_names=["w0"]) makes the parameter w0 float16, and fails on the call to f1'),
        (Held, "relax.transform.DataflowUseInplaceCalls()", OracleName.NUMERIC,
         "DataflowUseInplaceCalls overwrites lv, which the tuple lv1 holds: main returns "),
        (Hinted, "relax.transform.RealizeVDevice()", OracleName.WELL_FORMED,
         "RealizeVDevice changes the parameter x of f1 from no vdevice to vdevice llvm:0, but not its calls"),
        (Averaged, "relax.transform.LegalizeOps()", OracleName.WELL_FORMED,
         "LegalizeOps changes the result of relax.mean in main from int32 to int64"),
        (Invoked, "relax.transform.LowerRuntimeBuiltin()", OracleName.WELL_FORMED,
         "LowerRuntimeBuiltin changes the result of relax.invoke_closure in main from a float32 tensor (1) to R.Any"),
        (Transposed, REWRITER, OracleName.CRASH,
         "module_pass casts x to a type without its shape, and fails on relax.nn.instance_norm"),
        (Broadcast, PATTERN, OracleName.NUMERIC,
         "FuseOpsByPattern loses the shape of lv, so that relax.concat does not build"),
        (Single, "relax.transform.LazyTransformParams()", OracleName.NUMERIC,
         "LazyTransformParams makes forward_transform_params set 0 outputs instead of 1 outputs"),
        (Whole, "relax.transform.LazyTransformParams()", OracleName.NUMERIC,
         "LazyTransformParams makes forward_transform_params leave output 0 unset"),
        (Public, "relax.transform.LazyGetInput()", OracleName.NUMERIC,
         "LazyGetInput changes the parameters of f1, but not the call to it in main"),
    ],
)  # fmt: skip
def test_what_a_pass_did_is_told_rather_than_the_first_symptom(
    module: Any, expression: str, oracle: OracleName, title: str
) -> None:
    case = case_of(module, re.search(r"transform\.(\w+)", expression)[1], expression)  # type: ignore[index]  # all have one
    assert title_of(case, failed(case, oracle)).startswith(title)


SHARED = """
    @T.prim_func(private=True, s_tir=True)
    def doubled(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            with T.sblock("B"):
                vi = T.axis.spatial(n, i)
                B[vi] = A[vi] + A[vi]

    @R.function
    def main(x: R.Tensor((1,), "float32"), y: R.Tensor((2,), "float32")):
        lv = R.call_tir(Module.doubled, (x,), R.Tensor((1,), "float32"))
        lv1 = R.call_tir(Module.doubled, (y,), R.Tensor((2,), "float32"))
        return (lv, lv1)
"""
BUNDLED = """
    @R.function
    def main(x: R.Tensor((1,), "float32"), x1: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 1})

        @R.function
        def f(x2: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            return R.add(x2, x1)

        return f(x)
"""
TUPLE = """
    @R.function
    def main(x: R.Tensor((1,), "float32")):
        with R.dataflow():
            lv = (R.prim_value(1), x)
            lv1 = lv
            R.output(lv1)
        return lv1
"""
BLOCKS = """
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            lv = R.exp(x)
            R.output(lv)
        lv1 = R.add(lv, lv)
        with R.dataflow():
            lv2 = R.abs(lv1)
            R.output(lv2)
        return lv2
"""
ADDED = (
    "relax.transform.function_pass(lambda f, mod, _: [edit := relax.DataflowBlockRewrite(f.body.blocks[0], f), "
    "edit.add(f.body.blocks[0].bindings[0].value), edit.mutated_root_fn()][-1], opt_level=0)"
)
VARIED = """
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        lv = R.variance(x)
        return lv

    @R.function
    def main(x: R.Tensor((1,), "uint32")) -> R.Tensor((), "uint32"):
        return Module.f1(x)
"""
BROADCAST = """
    @R.function
    def main(x: R.Tensor((1, 2), "float32"), y: R.Tensor((2, 2), "float32"), z: R.Tensor((2,), "float32")):
        return R.matmul(x, R.add(y, z))
"""
PLACED = """
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor((1,), "float32", "llvm:0:global"), y: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return y
"""
LOCAL = """
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        @R.function
        def f() -> R.Tensor((1,), "float32"):
            return x

        return x
"""
UNMATCHED = (
    "(lambda pattern: relax.transform.function_pass(lambda f, mod, _: relax.dpl.rewrite_call(pattern, "
    'lambda call, found: call, f), opt_level=0, name="rewrite_call"))(is_op("relax.negative")(is_const()))'
)
WORKSPACE = """
    @R.function
    def main() -> R.Callable((R.Tensor((1,), "float32"),), R.Tensor((1,), "float32"), True):
        R.func_attr({"Codegen": "pyext", "WorkspaceSize": 64})

        @R.function
        def f(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            R.func_attr({"Composite": "pyext.abs_relu", "WorkspaceSize": 64})
            return x

        return f
"""
EMPTY = """
    @R.function
    def main(x: R.Tensor((2, 0), "float32")) -> R.Tensor((2, 0), "float32"):
        return x
"""
CONVOLVED = """
    @R.function
    def loss(x: R.Tensor((1, 1, 1, 1), "float16")) -> R.Tensor((), "float64"):
        with R.dataflow():
            lv = R.nn.conv2d(x, x, out_dtype="float64")
            lv1 = R.sum(lv)
            R.output(lv1)
        return lv1
"""
FLOWING = """
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            lv = x
            R.output(lv)
        return lv
"""


@pytest.mark.parametrize(
    ("functions", "expression", "oracle", "title"),
    [
        (SHARED, "", OracleName.WELL_FORMED,
         "SpecializePrimFuncBasedOnCallSite specializes doubled, which calls of different shapes share"),
        (BUNDLED, "", OracleName.WELL_FORMED,
         "BundleModelParams removes the parameter x1, but not from a local function that uses it"),
        (TUPLE, "relax.transform.ConvertLayout({})", OracleName.WELL_FORMED,
         "ConvertLayout removes the tuple lv with a scalar, which main still uses"),
        (BLOCKS, ADDED, OracleName.WELL_FORMED,
         "DataflowBlockRewrite.add puts a copy of one dataflow block in the place of another"),
        (VARIED, "", OracleName.WELL_FORMED,
         "LegalizeOps changes the result of relax.variance in f1 from uint32 to int64, but not its calls"),
        (BROADCAST, "", OracleName.NUMERIC,
         "ExpandMatmulOfSum moves relax.matmul before relax.add of 2-D and 1-D: main returns "),
        (PLACED, MOVED, OracleName.ROUNDTRIP,
         "UpdateVDevice leaves the parameter x of main on a device that the module does not list"),
        (LOCAL, UNMATCHED, OracleName.POSTCONDITION,
         "rewrite_call changes main, in which nothing matches: it drops a local function"),
        (WORKSPACE, "", OracleName.WELL_FORMED,
         "AllocateWorkspace changes what main returns, but not its declared result type"),
        (EMPTY, 'relax.transform.BindParams("main", {"x": np.ones((2, 0), "float32")})', OracleName.ROUNDTRIP,
         "A module with a constant of shape (2, 0) does not round-trip through JSON: Invalid DLTensor"),
        (CONVOLVED, 'relax.transform.Gradient("loss")', OracleName.NUMERIC,
         "Gradient of relax.nn.conv2d(out_dtype=float64) has the type float64, its operand float16"),
    ],
)  # fmt: skip
def test_the_condition_and_what_is_lost_are_told(
    functions: str, expression: str, oracle: OracleName, title: str
) -> None:
    module = tvm.script.from_source(f"@I.ir_module\nclass Module:{functions}")
    name = (re.search(r"transform\.([A-Z]\w+)", expression) or re.match(r"(\w+)", title))[1]  # type: ignore[index]  # one of the two
    case = case_of(module, name, expression or f"relax.transform.{name}()")
    assert title_of(case, failed(case, oracle)).startswith(title)


def test_a_name_is_told_only_where_another_would_do_no_harm() -> None:
    module = tvm.script.from_source(f"@I.ir_module\nclass Module:{FLOWING}")
    case = replace(case_of(module, "MergeCompositeFunctions"), input_seed=1)
    said = title_of(case, failed(case, OracleName.LOCALITY))
    assert said.startswith("MergeCompositeFunctions fails beside other functions")


@I.ir_module
class Discarded:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        lv = R.abs(x)  # noqa: F841  # nothing uses it: that is the point
        return x


@I.ir_module
class Folded:
    @R.function
    def main() -> R.Tensor((1,), "float32"):
        return R.abs(R.const([1.0], "float32"))


@pytest.mark.parametrize(
    ("module", "ref", "oracle", "seed", "title"),
    [
        (
            Discarded, PassRef("InlinePrivateFunctions", "relax.transform.InlinePrivateFunctions()"),
            OracleName.LOCALITY, 484080053, "InlinePrivateFunctions, beside other functions, does not drop relax.abs",
        ),
        (
            Folded, PassRef("build:zero", "relax.get_pipeline()"), OracleName.ENVIRONMENT,
            292622218, "FoldConstant, under testing.immutable_module, does not drop tir_abs",
        ),
    ],
)  # fmt: skip
def test_what_a_pass_drops_only_without_other_things_is_told(
    module: Any, ref: PassRef, oracle: OracleName, seed: int, title: str
) -> None:
    case = Case(str(tvm.ir.save_json(module)), (ref,), seed)
    verdict = failed(case, oracle)
    assert title_of(case, verdict) == title
    assert title_of(case, verdict, blame="Inner") == f"Inner in {title}"


def test_an_operator_is_told_before_the_end_of_a_message() -> None:
    @I.ir_module
    class Unknown:
        @R.function
        def main(x: R.Tensor(dtype="float32")) -> R.Tensor(dtype="float32"):
            return R.argsort(x, axis=-1, descending=False, dtype="float32")

    case = case_of(Unknown, "DispatchSortScan", "relax.backend.DispatchSortScan()")
    said = "DispatchSortScan fails on relax.argsort of unknown shape: emit_te needs a known shape"
    assert title_of(case, failed(case, OracleName.CRASH)) == said


def test_a_second_run_is_compared_with_the_first() -> None:
    @I.ir_module
    class Lifted:
        @R.function
        def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            R.func_attr({"num_input": 0})
            return R.builtin.stop_lift_params(x)

    case = case_of(Lifted, "LiftTransformParams")
    script = repro_script(case, failed(case, OracleName.IDEMPOTENCE), nearest=False, full=False)
    assert '+        x: R.Tensor((1,), dtype="float32")\n' in script.parts.change
    assert "stop_lift_params" not in script.parts.change, "that is gone after the first run"


def test_wrong_values_are_told_with_what_the_pass_did(tmp_path: Path) -> None:
    text = f"{PASSES}\n\ndef doubled():\n    return made(lambda self, call: relax.op.add(call.args[0], call.args[0]))\n"
    (tmp_path / "edits.py").write_text(text, encoding="utf-8")
    case = case_of(Exponent, "doubled", f"user:{tmp_path / 'edits.py'}:doubled")
    case = Case(case.module_json, case.passes, -1)
    title = title_of(case, failed(case, OracleName.NUMERIC))
    assert title == "doubled wrongly turns R.exp(x) into R.add(x, x): main returns -2.0 instead of -2.718 at index [0]"


CASTING = """
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        lv = R.astype(x, "bool")
        lv1 = R.astype(lv, "float32")
        return lv1
"""


def test_a_cast_is_told_with_its_dtype(tmp_path: Path) -> None:
    edit = (
        "relax.op.astype(self.lookup_binding(call.args[0]).args[0], 'float32') if call.ty.dtype == 'float32' else call"
    )
    text = PASSES.replace('"relax.exp"', '"relax.astype"') + (
        f"\n\ndef joined():\n    return made(lambda self, call: {edit})\n"
    )
    (tmp_path / "edits.py").write_text(text, encoding="utf-8")
    module = tvm.script.from_source(f"@I.ir_module\nclass Module:{CASTING}")
    case = case_of(module, "joined", f"user:{tmp_path / 'edits.py'}:joined")
    title = title_of(case, failed(case, OracleName.NUMERIC))
    wrong = "R.astype(R.astype(x, dtype=bool), dtype=float32) into R.astype(x, dtype=float32)"
    assert title.startswith(f"joined wrongly turns {wrong}")


COUNTING = """
    @R.function(private=True)
    def loop(n: R.Tensor((), "int32"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        more = R.less(R.const(0, "int32"), n)
        if more:
            less = R.subtract(n, R.const(1, "int32"))
            r = cls.loop(less, x)
        else:
            r = x
        return r

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        r = cls.loop(R.const(2, "int32"), x)
        return r
"""


def test_a_recursion_that_does_not_end_is_told(tmp_path: Path) -> None:
    """Else one reads of a crash of the virtual machine, which has no room for so many calls."""
    endless = "relax.op.add(call.args[0], call.args[1])"
    short = "relax.op.subtract(call.args[0], relax.const(2, 'int32'))"
    text = PASSES.replace('"relax.exp"', '"relax.subtract"') + "".join(
        f"\n\ndef {name}():\n    return made(lambda self, call: {edit})\n"
        for name, edit in (("endless", endless), ("shorter", short))
    )
    (tmp_path / "edits.py").write_text(text, encoding="utf-8")
    module = tvm.script.from_source(f"@I.ir_module\nclass Module:{COUNTING}")
    titles = []
    for name in ("endless", "shorter"):
        evidence = death("signal 11", OracleName.NUMERIC, Phase.RUN, "main", "bytecode")
        case = case_of(module, name, f"user:{tmp_path / 'edits.py'}:{name}")
        titles.append(title_of(case, Verdict(OracleName.CRASH, Outcome.FAIL, name, evidence=evidence)))
    assert titles[0].startswith("endless makes a program in which the recursion of loop does not end")
    assert titles[1].startswith("shorter makes a program that crashes")


def crash_of(message: str, kind: str = "InternalError", frame: str = "src/relax/a.cc:relax::Visit") -> Verdict:
    return Verdict(OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=Evidence(kind, message, (frame,)))


def test_the_place_in_a_users_file_is_told() -> None:
    verdict = crash_of("no", "ValueError")
    assert verdict.evidence is not None
    placed = replace(verdict.evidence, details=Details(place="/home/me/mine.py:7"))
    said = title_of(case_of(Argsort, "FuseOps"), replace(verdict, evidence=placed))
    assert said == "FuseOps fails at mine.py:7 on relax.argsort: ValueError: no", "one word alone says little"
    message = "int() argument must be a string, a bytes-like object or a real number, not 'Mul'"
    placed = replace(placed, details=Details(place="mine.py:7", error=message))
    said = title_of(case_of(Argsort, "FuseOps"), replace(verdict, evidence=placed))
    assert said == f"FuseOps fails at mine.py:7: {message}"
    longer = replace(placed, details=Details(place="mine.py:7", error=message.replace("'Mul'", "'Mul' of an integer")))
    said = title_of(case_of(Argsort, "FuseOps"), replace(verdict, evidence=longer))
    assert said.startswith("FuseOps fails at mine.py:7 on relax.argsort: int() argument must be a string, a bytes-")
    assert said.endswith(" ..."), "never at a comma, as if that were all"
    assert len(said) <= MOST


def test_an_error_is_told_with_what_it_hangs_on() -> None:
    case = case_of(Argsort, "FuseOps")
    text = module_source(Argsort).text
    verdict = crash_of("Check failed: (it != end) is false: Variable lv is in no group")
    said = ": a variable is in no group"
    assert title_of(case, verdict) == f"FuseOps fails on relax.argsort{said}"
    assert title_of(case, verdict, blame="Inner") == f"Inner in FuseOps fails on relax.argsort{said}"
    assert title_of(case, verdict, blame=f"relax.op (its {'F' * MOST})") == title_of(case, verdict), "told below it"
    axis = Nearest("another attribute", ((next(line for line in text.splitlines() if "axis=1" in line), ""),))
    line = axis.edits[0][0]
    axis = Nearest("another attribute", ((line, line.replace("axis=1", "axis=0")),))
    assert title_of(case, verdict, axis) == f"FuseOps fails on relax.argsort with axis=1{said}"


@pytest.mark.parametrize(
    ("kind", "blame", "operator", "said"),
    [
        ("does-not-build", "", "", "A module does not build after FuseOps on relax.argsort"),
        ("does-not-build", "Behind", "", "Behind fails behind FuseOps on relax.argsort"),
        ("does-not-build", "LegalizeOps", "argsort", "relax.argsort does not build after FuseOps"),
        ("run-error", "", "", "main fails when run after FuseOps on relax.argsort"),
        ("run-error", "virtual machine", "", "virtual machine fails after FuseOps on relax.argsort"),
    ],
)
def test_what_is_at_fault_behind_the_pass_is_told(kind: str, blame: str, operator: str, said: str) -> None:
    evidence = Evidence(kind, "no", details=Details(entry="main", operator=operator, error="no"))
    verdict = Verdict(OracleName.NUMERIC, Outcome.FAIL, "FuseOps", evidence=evidence)
    assert title_of(case_of(Argsort, "FuseOps"), verdict, blame=blame) == f"{said}: no"


def judged(culprit: str, module: Any, evidence: Evidence, blame: str = "") -> str:
    ran = PassRef(culprit, f"relax.transform.{culprit}()")
    verdict = Verdict(OracleName.NUMERIC, Outcome.FAIL, culprit, evidence=evidence)
    return title_of(Case(str(tvm.ir.save_json(module)), (ran,), 0), verdict, blame=blame)


def test_a_condition_in_cpp_is_told_only_where_nothing_else_is_known() -> None:
    bare = crash_of("Check failed: (memo_.count(var)) is false: ")
    assert title_of(case_of(Argsort, "FuseOps"), bare) == "FuseOps fails on relax.argsort"
    assert title_of(case_of(Plain, "FuseOps"), bare) == "FuseOps fails: the check `memo_.count(var)` fails"
    compared = crash_of("Check failed: axis < dims (-3 vs. 3) : ")
    said = "FuseOps fails on relax.argsort: the check `axis < dims (-3 vs. 3)` fails"
    assert title_of(case_of(Argsort, "FuseOps"), compared) == said, "the values are of the program"


def test_a_failure_is_told_of_the_operator_and_of_its_dtype() -> None:
    source = module_source(Argsort).text
    old = next(line for line in source.splitlines() if "def main" in line)
    other = Nearest("another dtype", ((old, old.replace('"float32"', '"float16"')),))
    said = "FuseOps fails on relax.argsort of float32: no"
    assert title_of(case_of(Argsort, "FuseOps"), crash_of("no"), other) == said
    quantized = tvm.script.from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), "float16"), s: R.Tensor((), "float16")) -> R.Tensor((1,), "uint16"):
        lv = R.quantize(x, s, R.const(1, "int8"), out_dtype="uint16", axis=-1)
        return lv
""")
    lowering = "lowering of relax.quantize"
    old = next(line for line in module_source(quantized).text.splitlines() if " x:" in line)
    other = Nearest("another dtype", ((old, old.replace("float16", "float32")),))
    case, said = case_of(quantized, "Normalize"), "Normalize fails on relax.quantize of float16"
    short = replace(crash_of("no"), culprit="Normalize")
    assert title_of(case, short, other, blame=lowering) == f"{said} with out_dtype=uint16: no"
    long = "a message of a length that leaves no room for an attribute"
    assert title_of(case, replace(crash_of(long), culprit="Normalize"), other, blame=lowering) == f"{said}: {long}"


def test_a_function_of_an_operator_that_the_title_names_is_told_below_it() -> None:
    blame = "relax.argsort (its FRelaxInferLayout)"
    assert title_of(case_of(Argsort, "FuseOps"), crash_of("no"), blame=blame) == "FuseOps fails on relax.argsort: no"


def test_a_lowering_is_named_where_only_a_pipeline_was_judged() -> None:
    module = tvm.script.from_source(f"@I.ir_module\nclass Module:{VARIED}")
    case = case_of(module, "build:default", "relax.get_pipeline()")
    said = title_of(case, failed(case, OracleName.WELL_FORMED), blame="lowering of relax.variance")
    assert said.startswith("lowering of relax.variance changes the result of relax.variance in f1 from uint32 to int64")


def test_a_long_title_is_of_what_is_at_fault_alone() -> None:
    verdict = crash_of("of a reason that takes many words")
    blame = "Canonicalize" * 4
    said = title_of(case_of(Argsort, "FuseOps"), verdict, blame=blame)
    assert said == f"{blame} fails on relax.argsort: of a reason that takes many words"


@pytest.mark.parametrize(
    ("slug", "title"),
    [
        (
            "static-plan-if-after",
            "StaticPlanBlockMemory adds relax.memory.alloc_storage in a branch of an If, and uses its result outside",
        ),
        ("fold-batchnorm-axis", "FoldBatchnormToConv2D adds relax.add, relax.sqrt and 3 more: main returns"),
        (
            "legalize-not-equal-nan",
            "LegalizeOps computes relax.not_equal of NaN wrongly: False instead of True at index [0]",
        ),
        ("legalize-instance-norm-center", "LegalizeOps computes relax.nn.instance_norm(center=False) wrongly: "),
        ("legalize-instance-norm-cancels", "LegalizeOps computes relax.nn.instance_norm wrongly: "),
    ],
)
def test_cases_of_the_corpus_are_told(slug: str, title: str) -> None:
    (known,) = load([slug])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    verdict = failed(case, known.oracle)
    alone = shown_alone(case, verdict)
    assert title_of(case, verdict, alone=alone and alone.call).startswith(title)


@pytest.mark.parametrize(
    ("seen", "how"), [("0.0034319758", "imprecisely: 0.003432 instead of"), ("0.5", "wrongly: 0.5 instead of")]
)
def test_lost_digits_are_told_from_another_result(seen: str, how: str) -> None:
    numbers = ("[]", "0.0034413338 at index [0]", f"{seen}; 2 of 4 elements differ", seen)
    evidence = Evidence("not-as-documented", "wrong", details=Details(operator="relax.exp", numbers=numbers))
    assert judged("LegalizeOps", Exponent, evidence).startswith(f"LegalizeOps computes relax.exp {how} 0.003441")


def test_all_that_a_call_has_lost_is_told() -> None:
    (known,) = load(["mixed-precision-attention-attributes"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    verdict = failed(case, known.oracle)
    assert title_of(case, verdict) == "ToMixedPrecision drops scale, causal_mask of relax.nn.attention"


def test_a_call_that_was_forgotten_is_told_and_not_the_error_of_the_machine() -> None:
    @I.ir_module
    class Callers:
        @R.function
        def f1(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            R.func_attr({"num_input": 0})
            return R.exp(x)

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return Callers.f1(x)

    evidence = Evidence("run-error", "m", details=Details(entry="main", error="expect a Function"))
    assert judged("LazyGetInput", Callers, evidence) == (
        "LazyGetInput changes the parameters of f1, but not the call to it in main"
    )
    assert judged("FuseOps", Callers, evidence).startswith("main fails when run after FuseOps"), "all calls fit"


def test_a_function_whose_result_changes_and_not_its_calls_is_told_and_shown_short(tmp_path: Path) -> None:
    @I.ir_module
    class Summed:
        @R.function(private=True)
        def f1(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.exp(x)

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return Summed.f1(x)

    text = f"{PASSES}\n\ndef summed():\n    return made(lambda self, call: relax.op.sum(call.args[0]))\n"
    (tmp_path / "edits.py").write_text(text, encoding="utf-8")
    case = case_of(Summed, "summed", f"user:{tmp_path / 'edits.py'}:summed")
    verdict = failed(case, OracleName.WELL_FORMED)
    assert title_of(case, verdict) == (
        "summed changes the result of relax.exp in f1 from shape (2,) to shape (), but not its calls"
    )
    script = repro_script(case, verdict, nearest=False, full=False)
    assert not script.why_long
    assert "relax.analysis.type_base_check(" in script.text


def test_of_results_that_are_tuples_the_field_is_told_that_changes() -> None:
    one, other = (relax.TensorType((2,), dtype) for dtype in ("float16", "float32"))
    tuples = [relax.TupleType([other, relax.TupleType([each])]) for each in (one, other)]
    assert type_texts(*tuples) == ("float16", "float32 (shape (2,))")


def test_a_call_that_says_another_result_than_its_callee_is_told() -> None:
    text = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f1(x: R.Tensor((1,), "float16")):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((1,), "float16")):
        return Module.f1(x)
"""
    before = tvm.script.from_source(text)
    after = before.clone()
    widened = tvm.script.from_source(text.replace("R.exp(x)", 'R.astype(x, "float32")'))
    after.update_func(before.get_global_var("f1"), widened["f1"])
    assert [*contradictions(before, before)] == []
    assert [*contradictions(before, after)] == ["calls f1 as if it returned float16, not float32"]


def test_an_objection_is_told_as_a_sentence() -> None:
    said = """Operator-specific validation (FValidate) for relax.call_tir identified error:
Argument 0 type mismatch: expected R.Tensor((1,), dtype="float32"), given R.Tensor((1,), dtype="float16")"""
    titles = [
        title_of(
            case_of(Plain, "FuseOps"),
            Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "FuseOps", evidence=Evidence("ill-formed", message)),
        )
        for message in (said, "Something is odd")
    ]
    assert titles == [
        "FuseOps breaks the call to relax.call_tir: argument 0 is (1,) float16 instead of (1,) float32",
        "FuseOps makes an ill-formed module: Something is odd",
    ]


def test_the_methods_of_an_edit_give_way_to_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    done = "gives relax.negative the result of relax.negative before it is bound"
    monkeypatch.setattr("fuzzer.repro.title.undefined", lambda *_: iter([done]))
    edits = 'edit.add("again", b.value), edit.remove_all_unused(), edit.mutated_root_fn()'
    expression = f"relax.transform.function_pass(lambda f, m, _: [{edits}][-1], opt_level=0)"
    case = Case(case_of(Plain, "Normalize").module_json, (PassRef("DataflowBlockRewrite", expression),), 0)
    evidence = Evidence("ill-formed", "Var again is not defined.")
    verdict = Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "DataflowBlockRewrite", evidence=evidence)
    monkeypatch.setattr("fuzzer.repro.told.Told.modules", (None, None))
    assert title_of(case, verdict) == f"DataflowBlockRewrite {done}"


def test_a_wrong_value_is_told_of_what_is_at_fault() -> None:
    details = Details(operator="relax.exp", numbers=("[]", "0.0 at []", "nan; 1 of 1 elements differ", "nan"))
    evidence = Evidence("not-as-documented", "relax.exp: wrong value", details=details)
    said = judged("LegalizeOps", Exponent, evidence, "te.create_prim_func")
    assert said == "relax.exp over a dim of 0 leaves its result uninitialized"
    assert judged("LegalizeOps", Exponent, evidence).startswith("LegalizeOps computes relax.exp wrongly: nan instead")
    small = judged("LegalizeOps", Exponent, evidence, "float8 conversion of TIR")
    assert small == "float8 conversion of TIR computes zeros and subnormals wrongly: nan instead of 0.0 at []"


def test_a_death_is_told_with_what_it_hangs_on() -> None:
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=death("signal 11"))
    assert title_of(case_of(Argsort, "FuseOps"), verdict) == "FuseOps crashes the process on relax.argsort: SIGSEGV"
    unknown = title_of(case_of(Argsort, "FuseOps"), verdict, minimized=False)
    assert unknown == "FuseOps crashes the process: SIGSEGV", "nobody knows what of the module it hangs on"
    verdict = replace(verdict, evidence=death("memory"))
    assert title_of(case_of(Argsort, "FuseOps"), verdict) == "FuseOps runs out of memory on relax.argsort"


def test_an_operator_is_not_named_without_which_a_module_fails_too() -> None:
    source = module_source(Argsort).text
    (call,) = re.findall(r"R\.argsort\(x[^\n]*", source)
    failing = ((call, 'R.astype(x, dtype="int32")'),)
    passing = Nearest("another operator", ((call, 'R.zeros_like(x, dtype="int32")'),), (failing,))
    for error, said in (("no", "FuseOps fails: no"), ("R.argsort(x, axis=1)", "FuseOps fails: R.argsort(x, axis=1)")):
        assert title_of(case_of(Argsort, "FuseOps"), crash_of(error), passing) == said


def test_the_type_of_an_operand_is_told_without_the_operator_if_others_fail_on_it_too() -> None:
    """Of the maximum of a tensor of unknown shape, where others of such a tensor fail as well."""

    @I.ir_module
    class Unknown:
        @R.function
        def main(x: R.Tensor(dtype="float32")) -> R.Tensor((), "float32"):
            return R.max(x)

    source = module_source(Unknown).text
    (call,) = re.findall(r"R\.max\(x[^\n]*", source)
    passing = (('R.Tensor(dtype="float32")', 'R.Tensor((2,), dtype="float32")'),)
    for failing, said in (((), "relax.max"), ((((call, "R.min(x)"),),), "an operand")):
        title = title_of(case_of(Unknown, "FuseOps"), crash_of("no"), Nearest("a known shape", passing, failing))
        assert title == f"FuseOps fails on {said} of unknown shape: no"


def test_a_dim_or_a_scalar_is_told_of_what_has_it_and_no_if_that_passes_as_well() -> None:
    """A symbolic dim is told of the operator that takes it, a dtype that a scalar must not lack as what passes."""

    @I.ir_module
    class Dims:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), y: R.Tensor((1, "n"), "float32")) -> R.Tensor((1, "n"), "float32"):
            return R.sqrt(y)

    @I.ir_module
    class Chosen:
        @R.function
        def main(x: R.Tensor((1,), "float32"), b: R.Prim("bool")) -> R.Tensor((1,), "float32"):
            if b:  # noqa: SIM108  # TVMScript has no conditional expression
                y = x
            else:
                y = x
            return y

    lines = [line for line in module_source(Dims).text.splitlines() if '"n"' in line]
    static = tuple((line, line.replace('"n"', "4")) for line in lines)
    calls = re.findall(r"lv: [^\n]*|gv: [^\n]*", module_source(Dims).text)
    static += tuple((line, line.replace("n)", "4)").replace(", n,", ", 4,")) for line in calls)
    title = title_of(case_of(Dims, "FuseOps"), crash_of("no"), Nearest("a static dim", static))
    assert title == "FuseOps fails on relax.sqrt of a symbolic dim: no"
    integer = Nearest("another dtype", (('R.Prim("bool")', 'R.Prim("int64")'),), ((('"bool"', '"int32"'),),))
    title = title_of(case_of(Chosen, "FuseOps"), crash_of("no"), integer)
    assert title == "FuseOps fails on a scalar other than int64: no"


def test_a_pass_whose_module_a_later_one_refuses_is_not_said_to_fail() -> None:
    expression = "tvm.transform.Sequential([relax.transform.FoldConstant(), relax.transform.FuseTIR()])"
    case, verdict = case_of(Argsort, "FuseTIR", expression), replace(crash_of("no"), culprit="FuseTIR")
    said = "FoldConstant makes a module on which FuseTIR fails on relax.argsort: no"
    assert title_of(case, verdict, blame="FoldConstant") == said
    assert title_of(case, verdict, blame="Inner") == "Inner in FuseTIR fails on relax.argsort: no"


def test_what_is_lost_of_an_operand_is_told_before_what_is_undefined_elsewhere() -> None:
    """RewriteCUDAGraph captures the dtype of a view, which makes the call of a kernel ill-typed, and a dim as well."""

    @I.ir_module
    class Viewed:
        @T.prim_func(private=True, s_tir=True)
        def kernel(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i in range(n):
                B[i] = A[i]

        @R.function
        def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")) -> R.Tuple:
            R.func_attr({"relax.force_pure": True})
            n = T.int64()
            cls = Viewed
            a = R.call_packed("outside", R.const([1.0]), ty_args=(R.Tensor((n,), "float32"),))
            none = R.null_value()
            b = R.memory.view(a, R.shape([n]), none, R.tuple())
            cls.kernel(b, y)
            return R.tuple()

    expression = 'configured(relax.transform.RewriteCUDAGraph(), {"relax.backend.use_cuda_graph": True})'
    case = case_of(Viewed, "RewriteCUDAGraph", expression)
    said = "RewriteCUDAGraph loses the dtype of the result of relax.memory.view, and fails on the call to kernel"
    assert title_of(case, failed(case, OracleName.CRASH)) == said


def test_a_function_that_a_pass_knows_by_an_attribute_is_told_as_such() -> None:
    """FuseTIR fails on a primitive function, whether others may call it or not, and not on calls of functions."""

    @I.ir_module
    class Primitive:
        @R.function(private=True)
        def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            R.func_attr({"Primitive": True})
            return x

        @R.function
        def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            cls = Primitive
            return cls.f1(x)

    case, source = case_of(Primitive, "FuseTIR"), module_source(Primitive).text
    (call,) = re.findall(r"    cls = .*\n.*cls\.f1\(x\)", source)
    lines = (call, call.split("cls")[0].strip("\n") + "gv = R.abs(x)")
    passing = Nearest("plain operators", (lines,), ((("@R.function(private=True)", "@R.function"),),))
    assert (
        title_of(case, failed(case, OracleName.CRASH), passing)
        == "FuseTIR fails on a call to a function with Primitive"
    )


def test_a_negative_attribute_is_told_as_such_where_another_fails_as_well() -> None:
    source = module_source(Argsort).text
    axes = [("axis=1", f"axis={axis}") for axis in (-1, -2, 0)]
    negative = tvm.script.from_source(source.replace(*axes[0]))
    failing = (((axes[0][1], axes[1][1]),),)
    passing = Nearest("another attribute", ((axes[0][1], axes[2][1]),), failing)
    case = case_of(negative, "FuseOps")
    assert title_of(case, crash_of("no"), passing) == "FuseOps fails on relax.argsort with a negative axis: no"
    alone = title_of(case, crash_of("no"), replace(passing, failing=()))
    assert alone == "FuseOps fails on relax.argsort with axis=-1: no"


def test_what_the_printer_fails_on_is_not_told_of_the_module_that_scripts_print() -> None:
    blame = str(Culprit.PRINTER)
    assert title_of(case_of(Argsort, "FuseOps"), crash_of("no"), blame=blame) == f"{blame} in FuseOps fails: no"


def test_titles_that_are_too_long_keep_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run, which may be of what is at fault inside, and what another name changes."""

    @I.ir_module
    class Enclosed:
        @R.function(private=True)
        def f1(x: R.Tensor((), "float32"), x1: R.Tensor((1,), "float32"), x2: R.Tensor((1,), "float32")) -> R.Tensor(
            (), "float32"
        ):
            cls = Enclosed
            return cls.f2(x, x1, x2)

        @R.function(private=True)
        def f2(x: R.Tensor((), "float32"), x1: R.Tensor((1,), "float32"), x2: R.Tensor((1,), "float32")) -> R.Tensor(
            (), "float32"
        ):
            return R.const(1.0, "float32")

        @R.function
        def main(x: R.Tensor((1,), "float32")) -> R.Object:
            cls = Enclosed
            return R.make_closure(cls.f1, (x, x))

    case = case_of(Enclosed, "FuseTIR")
    said = "run twice, replaces f1 but does not update relax.make_closure of it in main"
    title = title_of(case, failed(case, OracleName.IDEMPOTENCE), blame="RemoveUnusedParameters")
    assert title == f"RemoveUnusedParameters in FuseTIR, {said}"
    monkeypatch.setattr("fuzzer.repro.title._apart", lambda *modules: f"gives {'a very long name, ' * 6}to it")
    found = Verdict(OracleName.LOCALITY, Outcome.FAIL, "FuseOps", evidence=Evidence("not-local", "another result"))
    title = title_of(case_of(Argsort, "FuseOps"), found)
    assert title.startswith("FuseOps gives another result ")
    details = Details(done=f"relax.f replaces f1 but does not update {'its callers or ' * 9}it")
    found = Verdict(OracleName.POSTCONDITION, Outcome.FAIL, "FuseOps", evidence=Evidence("x", "y", details=details))
    title = title_of(case_of(Argsort, "FuseOps"), found)
    assert title.startswith("relax.f replaces f1 but does not update its callers")


def test_no_title_ends_before_what_it_says_is_undefined() -> None:
    @I.ir_module
    class Captured:
        @R.function
        def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            @R.function
            def inner() -> R.Tensor((1,), "float32"):
                return x

            return x

    case, text = case_of(Captured, "LazyGetInput"), module_source(Captured).text
    inner = Nearest("drop what is unused", ((text[text.rindex("@R.function") : text.rindex("return")], ""),))
    title = title_of(case, failed(case, OracleName.WELL_FORMED), inner, blame="EliminateCommonSubexpr")
    assert title.startswith("EliminateCommonSubexpr leaves the parameter x, which main returns, undefined in a")


def test_a_message_does_not_end_where_it_says_only_the_operator() -> None:
    error = "In relax.take, the axis of the operand is one that the operator does not have " + "and more " * 9
    said = title_of(case_of(Argsort, "FuseOps"), crash_of(error))
    assert said == "FuseOps fails on relax.argsort"


def test_a_title_leaves_out_from_a_to_b_where_both_are_too_long() -> None:
    types = "a float32 tensor of shape (2, 3, 4) {} a float16 tensor of shape (4, 3, 2) in the same place"
    for between, expected in (("to", ": It changes a type"), ("and", "")):
        said = title_of(case_of(Argsort, "FuseOps"), crash_of(f"It changes a type from {types.format(between)}"))
        assert said == f"FuseOps fails on relax.argsort{expected}"


def test_the_call_or_the_parameter_that_an_error_names_is_told() -> None:
    said = "FuseOps fails on relax.argsort: no"
    assert title_of(case_of(Argsort, "FuseOps"), crash_of("no")) == said
    called = crash_of("R.argsort(x, axis=1)")
    assert title_of(case_of(Argsort, "FuseOps"), called) == "FuseOps fails on relax.argsort"
    unused = title_of(case_of(Bound, "FuseOps"), crash_of("x[0] is not assigned device mesh"))
    assert unused == "FuseOps fails when nothing uses the parameter x: x[0] is not assigned device mesh"


def test_a_variable_that_another_became_is_told_as_free() -> None:
    evidence = Evidence("not-equal", "SBlock.annotations: Var became Var", details=Details(notation=Notation.JSON))
    verdict = Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, "FuseOps", evidence=evidence)
    said = "FuseOps leaves a variable in SBlock.annotations that nothing defines"
    assert title_of(case_of(Argsort, "FuseOps"), verdict) == said
    assert title_of(case_of(Argsort, "FuseOps"), verdict, blame="Inner") == f"Inner in {said}"


def test_integers_that_a_result_is_wrong_for_are_told() -> None:
    @I.ir_module
    class Largest:
        @R.function
        def main(x: R.Tensor((2, 2), "uint32")) -> R.Tensor((2,), "int64"):
            return R.argmax(x, axis=1)

    values = np.array([[0, 0], [1, 3]], "uint32")
    assert needed(SingleCall("relax.argmax", Largest, (values,))) == ["uint32 zeros"]
    assert needed(SingleCall("relax.argmax", Largest, (values + np.uint32(1),))) == []


def test_negative_indices_are_not_told_where_zero_does_as_well() -> None:
    @I.ir_module
    class Scattered:
        @R.function
        def main(
            x: R.Tensor((2, 4, 2), "float32"), i: R.Tensor((2, 2, 1), "int32"), y: R.Tensor((2, 2, 1), "float32")
        ) -> R.Tensor((2, 4, 2), "float32"):
            return R.scatter_elements(x, i, y, axis=-1, reduction="max")

    data = np.array([1, 2] * 8, "float32").reshape(2, 4, 2), np.full((2, 2, 1), -2, "int32")
    call = SingleCall("relax.scatter_elements", Scattered, (*data, np.full((2, 2, 1), 2, "float32")))
    assert fault_of(call) is not None
    assert needed(call) == []


def test_what_cannot_be_compared_keeps_the_words_of_the_oracle() -> None:
    evidence = Evidence("ill-formed", "Var x is not defined.", details=Details())
    verdict = Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "NoSuch", evidence=evidence)
    case = Case(str(tvm.ir.save_json(Argsort)), (PassRef("NoSuch", "relax.transform.NoSuch()"),), 0)
    assert title_of(case, verdict) == "NoSuch: Var x is not defined."


@pytest.mark.parametrize(
    ("oracle", "culprit", "said"),
    [
        (OracleName.DETERMINISM, "FuseOps", "FuseOps gives different modules for the same input"),
        (OracleName.SEQUENTIAL, "FuseOps", "FuseOps inside Sequential does not do what a direct call does"),
        (OracleName.ROUNDTRIP, "TVMScript", "A module does not round-trip through TVMScript: no attribute 'inspect'"),
        (
            OracleName.ROUNDTRIP,
            "FuseOps",
            "The output of FuseOps does not round-trip through TVMScript: no attribute 'inspect'",
        ),
    ],
)
def test_oracles_that_say_little_of_the_module_have_titles(oracle: OracleName, culprit: str, said: str) -> None:
    evidence = Evidence("not-parsed", "no attribute 'inspect'", details=Details(notation=Notation.TVMSCRIPT))
    assert title_of(case_of(Argsort, "FuseOps"), Verdict(oracle, Outcome.FAIL, culprit, evidence=evidence)) == said


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Check failed: (memo_.count(var)) is false: ", "the check `memo_.count(var)` fails"),
        ("Check failed: a.size() == b.size() (1 vs. 0) : Dimension mismatch", "Dimension mismatch"),
        ("Operators must agree. However, R.add(x, y) uses T.float32", "Operators must agree"),
        (
            'In ir.Op(name="relax.add", arguments=(ir.ArgumentInfo(),), support_level=10), the dim is T.int64(4)',
            "In relax.add, the dim is 4",
        ),
        (
            "Check failed: (is_func) is false: ErrorContext(fn=f, annotation=R.Tensor((2,)))  expect a Function",
            "expect a Function",
        ),
        (
            'Expression of type R.Tensor((n, 2), dtype="int8") cannot be R.Tensor(dtype="int8", ndim=1)',
            "Expression of type (n, 2) int8 cannot be int8 of rank 1",
        ),
        ("", "an assertion in Visit does not hold"),
        ("Back optional access", "an empty Optional is read"),
        (
            "Check failed: (f.has_value()) is false: Cannot find underlying compiled tirx function of VMTIRFunc main",
            "no kernel is compiled for main",
        ),
        (
            """Operator-specific validation (FValidate) for relax.call_tir identified error:
Argument 0 type mismatch: expected R.Tensor((1,), dtype="float32"), given R.Tensor((1,), dtype="float16")""",
            "call to relax.call_tir: argument 0 is (1,) float16 instead of (1,) float32",
        ),
        (
            "Check failed: (analyzer->CanProve(floormod(dom->extent, shard) == 0)) is false: ",
            "an extent is no multiple of the shard",
        ),
        (
            "Check failed: reg < frame->register_file.size() (18014398509481984 vs. 2) : ",
            "it writes to the void register",
        ),
        (
            "Function R.func() has true for relax.force_pure but false for is_pure",
            "relax.force_pure is left on an impure function",
        ),
        (
            ("An error occurred in the schedule primitive 'transform_layout'.\n\nThe IR is:\n# from tvm\n"
            "Error message: ScheduleError: Buffer te_layout_transform has elements of type T.bool, but the "
            "transformation fills padding with T.index_map(lambda i: (T.float32(0.0),)), which is of type float32"),
            "a bool buffer is padded with float32",
        ),
        (
            'Argument 0 type mismatch: expected R.Tensor((1,), dtype="float32"), given R.Tensor(dtype="float32")',
            "argument 0 lacks the shape of its parameter",
        ),
        (
            ("Mismatched type on argument #4 when calling: `ir.Call(0: ir.Type, 4: Array<ir.Type>) -> ir.Call`. "
            "Expected `Array<ir.Type>` but got `Array[index 0: ir.Var]`"),
            "ir.Call is given Array[index 0: ir.Var] for Array<ir.Type>",
        ),
    ],
)  # fmt: skip
def test_the_essence_of_an_error(message: str, said: str) -> None:
    evidence = crash_of(message).evidence
    assert evidence is not None
    assert essence(evidence) == said


_SAID = {
    "Number of arguments and parameters mismatch: Function lv has type R.Callable((R.Tensor((1,)),), R.Any) and "
    "accepts 1 parameters, but was called with 2 arguments ((x, workspace))":
        "lv takes 1 arguments, but is given 2: (x, workspace)",
    "Check failed: gfunc.num_args == args.size() (1 vs. 3) : Invoking function main expects 1 arguments (x), "
    "but 3 arguments were provided.":
        "main takes 1, but is given 3",
    "Binary operators must have the same datatype for both operands. However, R.add(x, y) uses datatype "
    'T.float32 on the LHS (Type of R.Tensor((1,), dtype="float32")), and datatype T.int64 on the RHS (Type).':
        "relax.add of float32 and int64 is ill-typed",
    "Matmul requires the reduction length of the operands to be equal. However, the LHS x has shape "
    "R.shape([2]), while the RHS y has shape R.shape([T.int64(1), n]). The reduction dimensions are not equal.":
        "relax.matmul of shapes (2) and (1, n) is ill-typed",
    "Check failed: (IsBaseOf(a, b)) is false: The `out_ty` argument for R.call_tir must be compatible with the "
    "PrimFunc.  However, the PrimFunc's signature implies that the output should be "
    'R.Tensor((2, 3), dtype="float32"), but the `out_ty` argument was T.Tuple(R.Tensor, R.Tensor)':
        "out_ty of relax.call_tir is a tuple, but its PrimFunc returns (2, 3) float32",
    "Check failed: (tensor) is false: Expected TensorType, but got R.Callable((R.Tensor,), R.Any, False)":
        "a function is taken for a tensor",
    "Check failed: (slot->value_computed) is false: PrimExpr s1 * T.int64(4) in function "
    'I.GlobalVar("main") has not been computed':
        "the dim s1 * 4 of main has not been computed",
    "Mismatched compute.device_id on argument #1 when calling: `kernel(lv)`, expected to match lv2.device_id":
        "compute and lv2 of a kernel differ in device_id",
    "Cannot treat type `ir.GenericConst` as type `ir.Var`": "a constant is taken for a variable",
    "Function 0x557788682920 is annotated as pure but contains an impure call":
        "a function is annotated as pure but contains an impure call",
    "Do not have a default for relax.expr.If": "it has no case for relax.expr.If",
    "Cannot decide min_value for typeT.bool": "Cannot decide min_value for type bool",
    'Argument 0 type mismatch: expected R.Tensor((1,), dtype="float32", vdevice="llvm:-1:global"), given '
    'R.Tensor((1,), dtype="float32")':
        "argument 0 lacks the vdevice of its parameter",
    "The argument of relax.op.grad.end_checkpoint should be a Var": "relax.grad.end_checkpoint is given no variable",
    "'TupleType' object has no attribute 'dtype'": "a tuple is taken for a tensor",
    "Check not null: ptr": "a null reference is read",
    "Tensor dimension mismatch in read ndim = 1, indices.size=0": "a 1-D tensor is read at 0 indices",
    "Check failed: (maybe_var) is false: The signature of target buffer exprected an independent Var, but got "
    "T.max(n - T.int64(1), T.int64(0)).":
        "a buffer has the dim T.max(n - 1, 0)",
    "Expected mapping function to return tvm.ir.Expr or a list of tvm.ir.Expr.  Instead received 0 of type "
    "<class 'int'>.":
        "an index map gives 0 of type int",
    "type of Call: TensorType.dtype: PrimType became NoneType": "the type of a Call loses its dtype",
    "type of ExternFunc: EnvFunc.name: String became String": "the derive_func in the type of an ExternFunc changes",
    "Add: other operands": "the operands of an arithmetic expression (Add) change",
}  # fmt: skip


@pytest.mark.parametrize("message", _SAID)
def test_what_tvm_says_of_a_program_is_told_with_its_values(message: str) -> None:
    evidence = crash_of(message).evidence
    assert evidence is not None
    assert essence(evidence) == _SAID[message]


def test_titles_fit_on_a_line() -> None:
    verdict = crash_of("the width of the thing is not what it was " * 9)
    title = title_of(case_of(Plain, "FuseOps"), verdict)
    assert len(title) <= MOST
    assert title.startswith("FuseOps fails: the width of the thing is not what it")
    assert title.endswith(" ...")  # a word, and none that begins something
    assert title_of(case_of(Argsort, "FuseOps"), verdict) == "FuseOps fails on relax.argsort", "it says enough"


def test_a_pass_with_a_long_name_has_a_title() -> None:
    verdict = Verdict(OracleName.SEQUENTIAL, Outcome.FAIL, "make_" * 30, evidence=Evidence("not-equal", "other"))
    title = title_of(case_of(Argsort, "FuseOps"), verdict)
    assert title.startswith("make_make_")
    assert len(title) <= MOST


def test_a_message_is_cut_where_a_clause_ends() -> None:
    said = "the first of the layouts does not fit: what came in is not among those that it knows of at all or of others"
    title = title_of(case_of(Argsort, "FuseOps"), crash_of(said))
    assert title == "FuseOps fails on relax.argsort: the first of the layouts does not fit"


def test_what_is_cut_within_a_clause_says_so() -> None:
    case = case_of(Argsort, "FuseOps")
    said = "basic_string::replace: __pos (which is 18446744073709551615) > this->size() that is left of the string here"
    assert title_of(case, crash_of(said)).endswith("basic_string::replace"), "what stands in brackets ends no clause"
    blame = "the function that infers the types of what a function returns and of each of its parameters"
    title = title_of(case, crash_of("x"), blame=blame)
    assert len(title) <= MOST
    assert title.endswith(" ...")


@I.ir_module
class Halvable:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            lv = R.asin(R.const([0.5], "float32"))
            R.output(lv)
        return lv


@I.ir_module
class Zeros:
    @R.function
    def main(s: R.Shape(["n"])) -> R.Tensor("float32", ndim=1):
        return R.zeros(s, "float32")


def test_what_the_pass_made_of_an_operator_that_does_not_build_is_told() -> None:
    error = Evidence("does-not-build", "unknown", details=Details(error="unknown"))
    said = judged("ToMixedPrecision", Halvable, error, "LLVM code generator")
    assert said == "LLVM code generator fails behind ToMixedPrecision on relax.asin of float16: unknown"
    said = judged("Normalize", Halvable, error, "LLVM code generator")
    assert said == "LLVM code generator fails behind Normalize on relax.asin: unknown"
    named = replace(error, details=Details(operator="zeros", error="unknown"))
    said = judged("Normalize", Zeros, named, "lowering of relax.zeros")
    assert said == "relax.zeros, whose shape is a parameter, does not build after Normalize: unknown"


def test_only_what_others_call_changes_without_its_calls() -> None:
    evidence = Evidence("ill-formed", "Name in GlobalVar is not equal to name in gsymbol: f != g")
    verdict = Verdict(OracleName.WELL_FORMED, Outcome.FAIL, "LazySetOutput", evidence=evidence)
    assert (
        title_of(case_of(Plain, "LazySetOutput"), verdict)
        == f"LazySetOutput makes an ill-formed module: {evidence.message}"
    )


def test_the_type_that_tvmscript_cannot_read_is_told() -> None:
    case = case_of(Plain, "LazySetOutput")
    said = title_of(case, failed(case, OracleName.ROUNDTRIP))
    assert said.startswith("A parameter of type R.Callable((T.int64, R.Any), R.Tuple, False) does not round-trip")
    verdict = replace(failed(case, OracleName.ROUNDTRIP), evidence=Evidence("reads-otherwise", "another"))
    said = title_of(case_of(Loose, "Normalize"), verdict)
    assert said == "A module does not round-trip through TVMScript: another"


def test_a_condition_is_told_only_where_it_does_not_hold_of_a_module_that_passes() -> None:
    case = case_of(Loose, "ConvertLayout", "relax.transform.ConvertLayout({})")
    verdict, line = failed(case, OracleName.CRASH), "lv: R.Tensor = R.rsqrt(x)"
    exact = line.replace("R.Tensor", 'R.Tensor((1,), dtype="float32")')
    said = " when a variable has a less specific type than its value"
    same, lacking = ((line, f"{line}  # the same"),), ((line, f"{exact}  # exact"),)
    bare = " on a module with relax.rsqrt"
    for other, failing, condition in ((exact, (same,), said), (f"{line} ", (), bare), (exact, (same, lacking), bare)):
        title = title_of(case, verdict, Nearest("change", ((line, other),), failing))
        assert title == f"ConvertLayout fails{condition}: one of two layouts is unknown"


def test_what_is_of_a_kind_is_not_taken_for_that_kind() -> None:
    for text in ("Cannot treat type `ir.Call` as type `ir.Expr`", "Cannot treat type `ir.Var` as type `ffi.Object`"):
        assert essence(Evidence("TypeError", text)) == text
    assert (
        essence(Evidence("TypeError", "Cannot treat type `ir.Expr` as type `ir.Call`"))
        == "ir.Expr is taken for ir.Call"
    )


def test_what_was_to_be_kept_is_told_and_not_what_a_pass_may_change() -> None:
    """MetaScheduleApplyDatabase schedules kernels, which the title told, where it had dropped the table of devices."""

    made = "tvm.IRModule({v: f.with_attr('scheduled', True) for v, f in mod.functions_items()}, attrs=mod.attrs)"
    text = f'tvm.transform.module_pass(lambda mod, ctx: {made}, opt_level=0, name="it")'
    case = case_of(Device, "MetaScheduleApplyDatabase", text)
    title = title_of(case, failed(case, OracleName.POSTCONDITION))
    assert title == "MetaScheduleApplyDatabase drops the module's vdevice table (global_infos)"


def test_no_number_becomes_a_whole_one() -> None:
    """The title said -1, where the report below it said -0.999995."""
    numbers = ("[]", "-0.999995 at index [0]", "-5.007e-06; 2 of 4 elements differ", "-5.007e-06")
    evidence = Evidence("not-as-documented", "wrong", details=Details(operator="relax.exp", numbers=numbers))
    assert " instead of -0.999995 at" in judged("LegalizeOps", Exponent, evidence)
