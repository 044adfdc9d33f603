"""Titles: what is wrong, in words of the program, by the oracle and the kind of failure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tvm
from deaths import death
from test_at_fault import Cast
from titled import PASSES, VARIED, Bound, Device, Exponent, Loose, case_of, failed
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.repro.title import title_of
from fuzzer.triage.script import repro_script
from oracles.core.verdict import Outcome, Phase, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


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
class Given:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        R.func_attr({"num_input": 0})
        return x


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
