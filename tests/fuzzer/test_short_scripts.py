"""Short scripts: a planted bug of each oracle is shown in few lines, and its clean twin ends the same script with 0."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tvm
import tvm_ffi
from deaths import death
from planted.catalogue import PLANTED, Planted
from planted.generated import modules
from tvm import relax

from corpus.case import load, load_module
from fuzzer.core.case import Case, judge_case
from fuzzer.core.case import load_module as load_case
from fuzzer.core.installed import pip_command
from fuzzer.findings.assessment import Assessment, Culprit, EvidenceClass, Severity
from fuzzer.findings.script_parts import Ending, ShortScript
from fuzzer.minimizer.search.outcome import SearchLimits
from fuzzer.repro.checks.check import FailingCase
from fuzzer.repro.module.tvmscript import unwrapped
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import ReproResult, check_repro
from fuzzer.repro.short.before import source_of, sources_of
from fuzzer.repro.short.calls import _again
from fuzzer.repro.short.numeric import _GRAPHS
from fuzzer.repro.short.render import _change, short_forms
from fuzzer.repro.short.scene import Scene, Showing
from fuzzer.triage.reduce import reduce_case
from oracles.core.subject import Subject
from oracles.core.verdict import Details, Evidence, Notation, Outcome, Verdict
from oracles.judge import judge
from relaxkit.compat.known import RELEASES
from relaxkit.ir.walk import places
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import contract_for
from relaxkit.passes.pass_ref import PassRef

SHOWN = (
    "crash.py:third_function", "mutation.py:attribute", "mutation.py:parameter_names", "determinism.py:counter",
    "sequential.py:call_stack", "idempotence.py:alias_each_run", "idempotence.py:second_run_fails",
    "locality.py:numbered", "locality.py:only_one", "well_formed.py:renames_public",
    "well_formed.py:hides_public", "well_formed.py:wrong_return_type", "well_formed.py:forgets_callers",
    "well_formed.py:undefined_variable", "well_formed.py:undefined_dim", "environment.py:watched",
    "environment.py:level",
    "postcondition.py:drops_attribute", "postcondition.py:drops_module_attributes", "postcondition.py:leaves_probe",
    "numeric.py:one_percent", "roundtrip.py:dangling_dim",
)  # fmt: skip
QUICK = {each.oracle: each.id for each in PLANTED if each.id in SHOWN}.values()
"""One of each oracle: in the default run."""
LIMITS = SearchLimits(60, 20.0)


def case_of(planted: Planted) -> tuple[Case, Verdict]:
    """Make the first generated module on which the bug shows smaller: nobody reads what was generated."""
    for index, module in enumerate(modules(planted.within)):
        subject = Subject(module, [planted.ref()], [contract_for(planted.ref())], input_seed=index)
        failed = [each for each in judge(subject, (planted.oracle,)) if each.outcome is Outcome.FAIL]
        if failed:
            case = Case(subject.original_facts.snapshot, (planted.ref(),), index)
            reduced = reduce_case(case, failed[0], LIMITS)
            return reduced.minimized.case, reduced.verdict or failed[0]
    raise AssertionError(f"{planted.id} shows on none of the modules")


def run(text: str, ending: Ending, folder: Path) -> ReproResult:
    path = folder / "repro.py"
    path.write_text(text, encoding="utf-8")
    return check_repro(path, ending=ending)


def shown(case: Case, verdict: Verdict, folder: Path) -> ShortScript:
    forms = short_forms(case, verdict)
    results = []
    for script in forms.scripts:
        results.append(run(script.text, script.ending, folder))
        if results[-1].confirmed:
            return script
    raise AssertionError(f"{forms.why}: {results}")


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(each, id=each.id, marks=[] if each.id in QUICK else [pytest.mark.slow])
        for each in PLANTED
        if each.id in SHOWN
    ],
)
def test_a_short_script_shows_a_planted_bug_and_its_absence(planted: Planted, tmp_path: Path) -> None:
    script = shown(*case_of(planted), tmp_path)
    assert len(script.text.splitlines()) <= 80, script.text
    assert "load_json" not in script.text or planted.oracle is OracleName.ROUNDTRIP
    imported = {node.module for node in ast.walk(ast.parse(script.text)) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"tvm", "tvm.script", Path(planted.file).stem}, "no harness"
    if planted.oracle in (OracleName.DETERMINISM, OracleName.SEQUENTIAL, OracleName.ENVIRONMENT):
        assert "\n-" in script.change, "the lines of both runs, though the pass only adds some"
    assert "random" not in script.text, "a pass that counts its runs is not"
    mended = script.text.replace(f"{planted.factory}()", f"{planted.factory}_clean()")
    mended = mended.replace(f"import {planted.factory}\n", f"import {planted.factory}_clean\n")
    gone = run(mended, script.ending, tmp_path)
    assert gone.exit_code == 0, gone


def test_every_oracle_is_shown() -> None:
    assert {each.oracle for each in PLANTED if each.id in SHOWN} == set(OracleName)


PASSES = """
import os
import signal
import time

import tvm
import tvm_ffi

def dying(how):
    return lambda: tvm.transform.module_pass(lambda module, context: how(), opt_level=0)

Segfault = dying(lambda: os.kill(os.getpid(), signal.SIGSEGV))
Hang = dying(lambda: time.sleep(600))
Leave = dying(lambda: os._exit(3))
"""


@pytest.mark.parametrize(
    ("name", "kind", "code"), [("Segfault", "signal 11", -11), ("Hang", "hang", -14), ("Leave", "exit 3", 3)]
)
def test_a_script_of_a_death_dies_in_the_same_way(name: str, kind: str, code: int, tmp_path: Path) -> None:
    path = tmp_path / "deadly_passes.py"
    path.write_text(PASSES)
    (known,) = load(["fold-batchnorm-axis"])
    case = Case(str(tvm.ir.save_json(load_module(known))), (PassRef(name, f"user:{path}:{name}"),), 5)
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, name, evidence=death(kind))
    (script, *_) = short_forms(case, verdict).scripts
    text = script.text.replace("signal.alarm(20)", "signal.alarm(1)")
    result = run(text, script.ending, tmp_path)
    assert result.exit_code == code, result
    assert result.confirmed
    assert any(word in script.text for word in ("dies of SIGSEGV", "does not end", "exits with code 3"))


STACK = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            lv = R.stack((x, x))
            R.output(lv)
        return lv
"""


def test_no_part_of_a_step_that_dies_is_run_by_the_renderer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ConvertLayout divides by zero, but of a process that died only the step is known: it has its last part's name."""
    parts = 'relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI"]}), relax.transform.Normalize()'
    ref = PassRef("Normalize", f"tvm.transform.Sequential([{parts}])")
    case = Case(str(tvm.ir.save_json(tvm.script.from_source(STACK))), (ref,), 1)
    verdict = Verdict(OracleName.CRASH, Outcome.FAIL, ref.name, evidence=death("signal 8"))
    monkeypatch.setattr("fuzzer.repro.short.scene.apply", None)
    assert "dies of SIGFPE" in shown(case, verdict, tmp_path).text


def test_another_error_at_another_place_is_not_the_defect(tmp_path: Path) -> None:
    (known,) = load(["fold-batchnorm-axis"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    verdict = next(each for each in judge_case(case, (OracleName.NUMERIC,)) if each.outcome is Outcome.FAIL)
    script = shown(case, verdict, tmp_path)
    assert "def run(module, args):" in script.text
    broken = run(script.text.replace("@I.ir_module", "assert False\n@I.ir_module", 1), script.ending, tmp_path)
    assert (broken.exit_code, broken.confirmed) == (1, False), broken


def test_the_head_says_how_grave_it_is_and_who_is_at_fault() -> None:
    (known,) = load(["merge-composite-if"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = [each for each in judge_case(case, (known.oracle,)) if each.outcome is Outcome.FAIL]
    other = Assessment(EvidenceClass.HARD, Severity.S4, "LambdaLift", "needs local functions", final=True)
    head = short_forms(case, verdict, other).scripts[0].text.partition("\n\n")[0].splitlines()
    told = "Severity: S4, a crash that needs a rare construct or order of passes; at fault: LambdaLift; needs local"
    assert told in " ".join(each.removeprefix("# ") for each in head)
    own = Assessment(EvidenceClass.HARD, Severity.S4, verdict.culprit, "needs closures", grounds="LambdaLift runs it")
    text = short_forms(case, verdict, own).scripts[0].text
    assert "; needs closures.\n" in text.replace("\n# needs", " needs"), (
        "of what is shown by itself nobody asks how it was found"
    )
    assert "at fault" not in text.lower()


UNTYPED = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((1, 1), dtype="float32"), y: R.Tensor((1, 1), dtype="float32"), z: R.Tensor((1, 1), dtype="float32")
    ) -> R.Tensor((1, 1)):
        lv: R.Tensor((1, 1), dtype="float32") = R.matmul(x, y)
        lv1: R.Tensor((1, 1)) = R.matmul(x, z)
        return lv1
"""


def test_text_that_reads_back_otherwise_is_shown_where_it_fails_with_the_same_words(tmp_path: Path) -> None:
    module = tvm.script.from_source(UNTYPED)
    function = module["main"]
    first, second = function.body.blocks[0].bindings
    call = relax.BlockBuilder().normalize(relax.Call(second.value.op, second.value.args, second.value.attrs))
    body = relax.SeqExpr([relax.BindingBlock([first, relax.VarBinding(second.var, call)])], second.var)
    relax.expr._update_type(body, second.var.ty)
    module["main"] = relax.Function(function.params, body, function.ret_ty, attrs=function.attrs)
    combine = PassRef("CombineParallelMatmul", "relax.transform.CombineParallelMatmul()")
    case = Case(str(tvm.ir.save_json(module)), (combine,), 1)
    (verdict,) = [each for each in judge_case(case, (OracleName.CRASH,)) if each.outcome is Outcome.FAIL]
    texts = [each.text for each in short_forms(case, verdict).scripts]
    assert "class Before:" in texts[0]
    assert "# Built node by node: TVM parses this module's TVMScript into a different module.\n" in texts[1]
    assert shown(case, verdict, tmp_path).text == texts[0]
    assert [*sources_of(module, "Before")][-1] == (source_of(module, "Before"), True)
    nowhere = replace(verdict, evidence=death("signal 11"))
    assert not any("class Before:" in each.text for each in short_forms(case, nowhere).scripts), "without words: equal"


LIFTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        R.func_attr({"num_input": 0})
        return x
"""


def test_a_variable_that_nothing_defines_asks_for_no_target() -> None:
    lift = PassRef("LiftTransformParams", "relax.transform.LiftTransformParams()")
    case = Case(str(tvm.ir.save_json(tvm.script.from_source(LIFTED))), (lift,), 1)
    (verdict,) = [each for each in judge_case(case, (OracleName.WELL_FORMED,)) if each.outcome is Outcome.FAIL]
    assert "Target" not in short_forms(case, verdict).scripts[0].text


SPREAD = """
@I.ir_module
class Module:
    I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})
    @R.function
    def main(x: R.DTensor((4,), "float32", "mesh[0]", "R")) -> R.DTensor((4,), "float32", "mesh[0]", "S[0]"):
        gv = R.dist.redistribute(x, device_mesh="mesh[0]", placement="S[0]")
        return gv
"""


def test_distributed_tensors_are_written_as_tvmscript() -> None:
    module = tvm.script.from_source(SPREAD)
    source = source_of(module, "Before")
    assert "class Before:" in source
    names = {"I": tvm.script.ir, "R": tvm.script.relax, "T": tvm.script.tirx}
    assert tvm_ffi.structural_equal(tvm.script.from_source(source, names), module)


def test_a_defect_of_the_virtual_machine_is_shown_without_the_pass(tmp_path: Path) -> None:
    """RewriteCUDAGraph makes a function that returns ``()``; what it calls that by is of GPUs, a plain call is not."""
    (known,) = load(["rewrite-cuda-graph-no-output"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = [each for each in judge_case(case, (OracleName.NUMERIC,)) if each.outcome is Outcome.FAIL]
    machine = Assessment(EvidenceClass.HARD, Severity.S3, str(Culprit.MACHINE), final=True)
    (script, *_) = short_forms(case, verdict, machine).scripts
    assert run(script.text, script.ending, tmp_path).confirmed
    assert "RewriteCUDAGraph()" not in script.text
    assert "before the pass" not in script.text


UNUSED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        with R.dataflow():
            y = R.exp(R.const([1.0, 2.0], "float32"))
            R.output(y)
        return x
"""


def test_what_kernels_compute_has_no_part_in_a_defect_of_the_virtual_machine(tmp_path: Path) -> None:
    graphs = 'configured(relax.transform.RewriteCUDAGraph(), {"relax.backend.use_cuda_graph": True})'
    case = Case(str(tvm.ir.save_json(tvm.script.from_source(UNUSED))), (PassRef("RewriteCUDAGraph", graphs),), 1)
    (verdict,) = [each for each in judge_case(case, (OracleName.NUMERIC,)) if each.outcome is Outcome.FAIL]
    machine = Assessment(EvidenceClass.HARD, Severity.S3, str(Culprit.MACHINE), final=True)
    scripts = [each for each in short_forms(case, verdict, machine).scripts if "T.evaluate(0)" in each.text]
    assert run(scripts[0].text, scripts[0].ending, tmp_path).confirmed
    assert not any("T.exp" in each.text for each in scripts)


LOCAL = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        lv: R.Tensor((2,), dtype="float32") = cls.f1(x)
        return lv

    @R.function(private=True)
    def f1(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        @R.function(pure=False)
        def lv2(x1: R.Tensor((n,), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
            lv = R.minimum(x1, x)
            R.call_packed("testing.nop", lv, ty_args=(R.Tuple,))
            return lv
        return x
"""


def test_a_module_that_one_way_to_build_refuses_is_built_the_other_way(tmp_path: Path) -> None:
    """TVM's default pipeline does not lift local functions."""
    inline = PassRef("InlinePrivateFunctions", "relax.transform.InlinePrivateFunctions()")
    case = Case(str(tvm.ir.save_json(tvm.script.from_source(LOCAL))), (inline,), 1)
    (verdict,) = [each for each in judge_case(case, (OracleName.NUMERIC,)) if each.outcome is Outcome.FAIL]
    assert "LambdaLift" in shown(case, verdict, tmp_path).text


KERNEL = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def ones(k: T.int64, var_out: T.handle):
        out = T.match_buffer(var_out, (k,), "float32")
        for i in range(k):
            out[i] = T.float32(1.0)
    @R.function
    def main() -> R.Tensor((1,), dtype="float32"):
        cls = Module
        return R.call_tir(cls.ones, (1,), R.Tensor((1,), dtype="float32"))
"""

BLOCKS = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def ones(a: T.handle, o: T.handle):
        k = T.int64()
        x = T.match_buffer(a, (k,), "float32")
        out = T.match_buffer(o, (k,), "float32")
        for i in range(k):
            with T.sblock("one"):
                v = T.axis.spatial(k, i)
                if v < T.int64(3):
                    out[v] = T.exp(x[v]) + T.Cast("float32", v)
"""


def test_a_kernel_that_no_text_gives_back_is_shown_where_it_fails_with_the_same_words(tmp_path: Path) -> None:
    """TVMScript makes one product of the sum ``k + k + k``."""
    module = tvm.script.from_source(KERNEL)
    kernel = module["ones"]
    loop, size = kernel.body, kernel.params[0]
    body = tvm.tirx.For(loop.loop_var, loop.min, size + size + size, loop.kind, loop.body)
    module["ones"] = kernel.with_body(body)
    specialize = PassRef("SpecializePrimFuncBasedOnCallSite", "relax.transform.SpecializePrimFuncBasedOnCallSite()")
    case = Case(str(tvm.ir.save_json(module)), (specialize,), 1)
    (verdict,) = [each for each in judge_case(case, (OracleName.CRASH,)) if each.outcome is Outcome.FAIL]
    assert "for i in range(k + k + k):" in shown(case, verdict, tmp_path).text


@pytest.mark.parametrize("blocks", [False, True])
def test_a_kernel_that_no_text_gives_back_is_built_node_by_node(blocks: bool) -> None:
    """TVM's parser simplifies the extents of loops."""
    module = tvm.script.from_source(BLOCKS if blocks else KERNEL)
    kernel = module["ones"]
    loop = kernel.body.block.body if blocks else kernel.body
    size = kernel.params[0].shape[0] if blocks else kernel.params[0]
    inner = tvm.tirx.For(loop.loop_var, loop.min, size + size + size, loop.kind, loop.body)
    module["ones"] = kernel.with_body(tvm.tirx.SeqStmt([inner, loop]))
    assert not tvm_ffi.structural_equal(tvm.script.from_source(module.script()), module)
    text = source_of(module, "Before")
    assert "extent=((k + k) + k)" in text
    names: dict[str, Any] = {"tvm": tvm, "relax": relax}
    exec(text, names)
    assert tvm_ffi.structural_equal(names["Before"], module)


def test_an_offset_that_nothing_else_names_is_left_to_tvms_parser() -> None:
    offset = tvm.tirx.Var("elem_offset", "int64")
    buffer = tvm.tirx.decl_buffer((2,), "float32", "x", elem_offset=offset, offset_factor=1)
    kernel = tvm.tirx.PrimFunc([buffer], tvm.tirx.BufferStore(buffer, tvm.tirx.FloatImm("float32", 1.0), [0]))
    text, _ = next(sources_of(tvm.IRModule({"one": kernel}), "Before"))
    assert 'x: T.Buffer((2,), "float32", offset_factor=1)' in text
    with_offset = tvm.tirx.BufferStore(buffer, tvm.tirx.FloatImm("float32", 1.0), [offset])
    used = tvm.IRModule({"one": tvm.tirx.PrimFunc([buffer], with_offset)})
    assert "offset_factor=1" not in unwrapped(used, lambda item: "")


def test_a_type_that_has_a_dim_of_the_outer_function_is_written_out() -> None:
    """Type inference in a local function takes such dims away."""
    x = relax.Var("x", relax.TensorType((tvm.tirx.Var("n", "int64"),), "float32"))
    branches = [relax.SeqExpr([], x) for _ in range(2)]
    for each in branches:
        relax.expr._update_type(each, x.ty)
    choice = relax.If(relax.const(True, "bool"), *branches)
    relax.expr._update_type(choice, x.ty)
    lv = relax.Var("lv", x.ty)
    one = relax.const(1.0, "float32")
    inner = relax.Function([], relax.SeqExpr([relax.BindingBlock([relax.VarBinding(lv, choice)])], one), one.ty)
    f = relax.Var("f", inner.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(f, inner)])], x)
    main = relax.Function([x], body, x.ty).with_attr("global_symbol", "main")
    names = {"tvm": tvm, "relax": relax}
    exec(source_of(tvm.IRModule({tvm.ir.GlobalVar("main"): main}), "Before"), names)
    (made,) = (each.value for each in places(names["Before"]["main"]) if isinstance(each.value, relax.If))
    assert made.ty.shape is not None


TRANSFORM = """
@I.ir_module
class Module:
    @R.function
    def main_transform_params(x: R.Tensor((1,), "float32")):
        R.func_attr({"relax.force_pure": True})
        lv = (x, x, R.const([1.0], "float32"))
        return lv
"""


def test_a_transform_function_that_is_made_lazy_is_called_with_callbacks(tmp_path: Path) -> None:
    case, verdict = failing_numerically(TRANSFORM, "LazyTransformParams", "relax.transform.LazyTransformParams()", 1)
    assert 'tvm.register_global_func("get_item", lambda index: args[index]' in shown(case, verdict, tmp_path).text


def test_a_result_that_a_lazy_transform_function_never_sets_is_counted(tmp_path: Path) -> None:
    text = TRANSFORM.replace('(x, x, R.const([1.0], "float32"))', "(x,)")
    case, verdict = failing_numerically(text, "LazyTransformParams", "relax.transform.LazyTransformParams()", 1)
    assert "assert len(after) == len(before)" in shown(case, verdict, tmp_path).text


def failing_numerically(text: str, name: str, expression: str, seed: int) -> tuple[Case, Verdict]:
    names = {"I": tvm.script.ir, "R": tvm.script.relax, "T": tvm.script.tirx, "tvm": tvm, "relax": relax}
    module = tvm.script.from_source(text, names)
    case = Case(str(tvm.ir.save_json(module)), (PassRef(name, expression),), seed)
    (verdict,) = [each for each in judge_case(case, (OracleName.NUMERIC,)) if each.outcome is Outcome.FAIL]
    return case, verdict


LAST_CALL = """
@I.ir_module
class Module:
    @R.function
    def main(w0: R.Tensor((1, 3), dtype="float32")) -> R.Tensor((1, 3), dtype="float32"):
        cls = Module
        return R.call_tir(cls.copied, (w0,), R.Tensor((1, 3), dtype="float32"))
    @R.function
    def earlier(p2: R.Tensor((3, 1), dtype="float32")) -> R.Tensor((3, 1), dtype="float32"):
        cls = Module
        return R.call_tir(cls.copied, (p2,), R.Tensor((3, 1), dtype="float32"))
    @T.prim_func(private=True, s_tir=True)
    def copied(a: T.handle, b: T.handle):
        m, n = T.int64(), T.int64()
        A = T.match_buffer(a, (m, n), "float32")
        B = T.match_buffer(b, (m, n), "float32")
        for i, j in T.grid(m, n):
            B[i, j] = A[i, j]
"""


def test_functions_stand_in_the_order_on_which_the_failure_depends(tmp_path: Path) -> None:
    specialize = "relax.transform.SpecializePrimFuncBasedOnCallSite()"
    case, verdict = failing_numerically(LAST_CALL, "SpecializePrimFuncBasedOnCallSite", specialize, 1)
    text = shown(case, verdict, tmp_path).text
    assert text.index("def main(") < text.index("def earlier(") < text.index("def copied(")


def test_what_stands_in_for_graphs_of_cuda_keeps_nothing_under_a_name_of_the_script() -> None:
    ours = {
        each.id
        for each in ast.walk(ast.parse(_GRAPHS))
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    for kind in ("input-overwritten", "output-overwritten", "second-call-differs", "later-call-differs"):
        lines = _again(kind, 'vm["main"]', "[1]", ".numpy()", ())[1]
        theirs = {each.id for each in ast.walk(ast.parse("\n".join(lines))) if isinstance(each, ast.Name)}
        assert ours.isdisjoint(theirs)


LOSS = """
@I.ir_module
class Module:
    @R.function
    def loss(x: R.Tensor((1, 1, 1, 1), dtype="float32")) -> R.Tensor((), dtype="float64"):
        with R.dataflow():
            lv = R.nn.conv2d(x, x, out_dtype="float64")
            lv1 = R.sum(lv)
            R.output(lv1)
        return lv1
"""


def test_the_type_of_a_gradient_is_compared_with_that_of_its_parameter(tmp_path: Path) -> None:
    case, verdict = failing_numerically(LOSS, "Gradient", 'relax.transform.Gradient("loss")', -4)
    assert "assert gradients[0].numpy().dtype == args[0].dtype" in shown(case, verdict, tmp_path).text


HALVED = """
@I.ir_module
class Module:
    @R.function(private=True)
    def f1(p0: R.Tensor((), "float32"), p1: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        return R.const(1.0, "float32")

    @R.function
    def main(p2: R.Tensor((), "float32"), p3: R.Tensor((1,), "float32")) -> R.Tensor((), "float32"):
        cls = Module
        closure = R.make_closure(cls.f1, (p3,))
        return R.invoke_pure_closure(closure, (p2,), (R.Tensor((), "float32"),))
"""


def test_an_argument_that_a_pass_takes_in_another_dtype_is_cast(tmp_path: Path) -> None:
    expression = 'relax.transform.ToMixedPrecision(fp16_input_names=["p3"])'
    case, verdict = failing_numerically(HALVED, "ToMixedPrecision", expression, 1)
    called = 'vm["main"](args[0], tvm.runtime.tensor(args[1].numpy().astype("float16")))'
    assert called in shown(case, verdict, tmp_path).text


CHECKPOINT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        with R.dataflow():
            lv = R.grad.start_checkpoint(x)
            lv1 = R.add(lv, lv)
            R.output(lv1)
        return lv1
"""


def test_an_input_that_is_overwritten_is_expected_as_the_caller_gave_it(tmp_path: Path) -> None:
    name = "DataflowUseInplaceCalls"
    case, verdict = failing_numerically(CHECKPOINT, name, f"relax.transform.{name}()", 1)
    text = shown(case, verdict, tmp_path).text
    assert ", as the caller gave it." in text
    assert "# argument 0: " in text


VARIANCE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32")) -> R.Tensor((), dtype="float32"):
        return R.variance(x)
"""


def test_a_result_that_depends_on_memory_is_shown_by_a_second_call(tmp_path: Path) -> None:
    case, verdict = failing_numerically(VARIANCE, "LegalizeOps", "relax.transform.LegalizeOps()", -1)
    texts = [each.text for each in short_forms(case, verdict).scripts]
    assert not any("the next call may read" in each for each in texts[:2]), "only where one call does not show it"
    second = next(each for each in short_forms(case, verdict).scripts if "the next call may read" in each.text)
    # What an earlier call has left in memory is a matter of chance: of a few runs, one shows it.
    assert any(run(second.text, second.ending, tmp_path).confirmed for _ in range(8))


RESHAPED = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((T.int64(1), T.int64(2)), "float32"), y: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("kernel"):
                v = T.axis.spatial(T.int64(2), i)
                y[v] = x[T.int64(0), v]

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((1, 2), "float32")) -> R.Tensor((2,), "float32"):
        if c:
            with R.dataflow():
                y = R.call_tir(Module.kernel, (x,), R.Tensor((2,), "float32"))
                w = R.negative(y)
                R.output(w)
            z: R.Tensor((2,), "float32") = w
        else:
            z: R.Tensor((2,), "float32") = R.call_tir(Module.kernel, (x,), R.Tensor((2,), "float32"))
        return z
"""


def test_what_is_left_in_a_branch_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass gives back what it was given, and that alone shows it where no line says what is left."""
    passes = (PassRef("RewriteDataflowReshape", "relax.transform.RewriteDataflowReshape()"),)
    case = Case(str(tvm.ir.save_json(tvm.script.from_source(RESHAPED))), passes, 0)
    (verdict,) = (each for each in judge_case(case, (OracleName.POSTCONDITION,)) if each.outcome is Outcome.FAIL)
    assert shown(case, verdict, tmp_path).text.splitlines()[-1].startswith('assert "R.reshape(" in After.script()')
    monkeypatch.setattr("fuzzer.repro.short.structure._facts", lambda *_: ())
    other = shown(case, verdict, tmp_path).text
    assert "# It exits with 0 once the pass no longer gives the module `Before`." in other.splitlines()[:6]
    assert "assert not tvm_ffi.structural_equal(\n    After, Before\n)" in other


SUMMED = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main() -> R.Any:
        x = R.builtin.alloc_tensor(R.shape([1]), R.dtype("float32"), 0, R.str("global"))
        y = R.match_cast(x, R.Tensor((1,), "float32"))
        z = R.call_packed("runtime.disco.allreduce", y, R.shape([0]), 1, y, ty_args=R.Any)
        return z
"""


def test_a_function_is_registered_without_which_a_pass_does_nothing(tmp_path: Path) -> None:
    passes = (PassRef("IPCAllReduceRewrite", "relax.transform.IPCAllReduceRewrite(1)"),)
    case = Case(str(tvm.ir.save_json(tvm.script.from_source(SUMMED))), passes, 0)
    (verdict,) = (each for each in judge_case(case, (OracleName.POSTCONDITION,)) if each.outcome is Outcome.FAIL)
    script = shown(case, verdict, tmp_path)
    text = script.text
    assert text.splitlines()[-1] == 'assert "runtime.disco.allreduce" not in After["main"].script()'
    mended = text.replace('y = R.match_cast(x, R.Tensor((1,), dtype="float32"))', "y = x")
    assert mended != text
    assert run(mended, script.ending, tmp_path).exit_code == 0


CHOSEN = """
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("m",), "bool")) -> R.Tensor(("m",), "bool"):
        m = T.int64()
        if c:
            y: R.Tensor((m,), "bool") = x
        else:
            y: R.Tensor((m,), "bool") = x
        return y
"""


def test_an_error_that_hangs_on_memory_is_shown_in_filled_memory(tmp_path: Path) -> None:
    """VMShapeLower reads a dim that the other branch has written: here behind another calling convention."""
    text = str(tvm.ir.save_json(tvm.script.from_source(CHOSEN)))
    passes = (PassRef("LazyGetInput", "relax.transform.LazyGetInput()"),)
    verdicts = ((case, each) for case in (Case(text, passes, seed) for seed in range(40))
                for each in judge_case(case, (OracleName.NUMERIC,)) if each.evidence)  # fmt: skip
    case, verdict = next(verdicts)
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "uninitialized-read"
    script = shown(case, verdict, tmp_path)
    assert len(script.text.splitlines()) < 50
    assert "print(After.script())\n" in script.text, "what is behind the pass is at fault"
    assert "Expected: main returns, whatever is in memory." in script.text


ADDED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y: R.Tensor((2,), "float32") = R.add(x, x)
        return y
"""


def test_a_result_that_hangs_on_memory_is_shown_in_memory_that_is_filled_twice(tmp_path: Path) -> None:
    text = str(tvm.ir.save_json(tvm.script.from_source(ADDED)))
    again = Path(__file__).parents[1] / "planted" / "again.py"
    passes = (PassRef("reads_garbage", f"user:{again}:reads_garbage"),)
    verdicts = ((case, each) for case in (Case(text, passes, seed) for seed in range(40))
                for each in judge_case(case, (OracleName.NUMERIC,)) if each.evidence)  # fmt: skip
    case, verdict = next(verdicts)
    script = shown(case, verdict, tmp_path)
    assert [line.split("  #")[0] for line in script.text.splitlines() if "set_instrument" in line] == [
        "vm.set_instrument(filling(0xFF))", "vm.set_instrument(filling(0x4B))"
    ]  # fmt: skip
    clean = script.text.replace("reads_garbage", "reads_garbage_clean")
    assert run(clean, script.ending, tmp_path).exit_code == 0


@pytest.mark.parametrize("infos", [{}, {"vdevice": [relax.VDevice("llvm", 0, "global")]}])
def test_a_module_without_functions_is_written(infos: dict[str, list[object]], tmp_path: Path) -> None:
    """TVM's decorator finds no names in a class without functions."""
    module = tvm.IRModule({}, global_infos=infos)
    text = source_of(module, "Before")
    assert ("@I.ir_module" in text) == (not infos)
    assert "mtriple" not in text, "it says nothing of this machine"
    assert "BlockBuilder" not in text
    saved = f"assert tvm.ir.save_json(Before) == {str(tvm.ir.save_json(module))!r}\n"
    lines = "import tvm\nfrom tvm import relax\nfrom tvm.script import ir as I\n"
    assert run(f"{lines}{text}{saved}", Ending(), tmp_path).exit_code == 0


LOWERED = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def copy(x: T.Buffer((T.int64(1),), "float32"), y: T.Buffer((T.int64(1),), "float32")):
        for i in range(T.int64(1)):
            y[i] = x[i]
    @R.function(private=True)
    def other(x: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        storage = R.memory.alloc_storage(R.shape([4]), 0, R.str("global"), R.dtype("float32"))
        alloc = R.memory.alloc_tensor(storage, 0, R.shape([1]), R.dtype("float32"), 0)
        cls.copy(x, alloc)
        return x
    @R.function
    def main(x: R.Tensor((1,), dtype="float32"), y: R.Tensor((1,), dtype="float32")) -> R.Tensor((1,), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        storage = R.memory.alloc_storage(R.shape([4]), 0, R.str("global"), R.dtype("float32"))
        alloc = R.memory.alloc_tensor(storage, 0, R.shape([1]), R.dtype("float32"), 0)
        cls.copy(x, alloc)
        lv = cls.other(y)
        given = relax.Call(
            tvm.ir.Op.get("relax.builtin.alloc_tensor"),
            [R.shape([1]), R.dtype("float32"), T.int64(0), R.str("global")], ty_args=[R.Tensor((1,), "float32")]
        )
        cls.copy(alloc, given)
        return given
"""


def test_a_graph_of_cuda_is_replayed_on_a_cpu_and_what_the_parser_has_no_words_for_is_a_node(tmp_path: Path) -> None:
    rewrite = 'configured(relax.transform.RewriteCUDAGraph(), {"relax.backend.use_cuda_graph": True})'
    case, verdict = failing_numerically(LOWERED, "RewriteCUDAGraph", rewrite, -1)
    text = shown(case, verdict, tmp_path).text
    assert '"vm.builtin.cuda_graph.get_cached_alloc"' in text
    assert 'relax.Call(\n            tvm.ir.Op.get("relax.builtin.alloc_tensor")' in text
    assert "Built node by node" not in text


DEVICES = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})
    @R.function
    def main(x: R.Tensor((1,), "float32", "llvm:0:global")) -> R.Tensor((1,), "float32", "llvm:0:global"):
        lv = R.match_cast(x, R.Tensor((1,), "float32", "llvm:0:global"))
        return R.add(lv, x)
"""


def test_what_a_pass_writes_into_its_input_is_not_shown_as_the_module_before_it(tmp_path: Path) -> None:
    update = 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2, "global"), 0)'
    case, verdict = failing_numerically(DEVICES, "UpdateVDevice", update, 1)
    failure = FailingCase(case, verdict)
    case.passes[0].build()(failure.module)
    assert tvm_ffi.structural_equal(failure.module, load_case(case))
    text = shown(case, verdict, tmp_path).text
    assert text.index("(Before)  # builds") < text.index("UpdateVDevice(")


MISTYPES = """
import tvm
from tvm import relax


@tvm.transform.module_pass(opt_level=0)
class Mistypes:
    def transform_module(self, module, context):
        function = module["main"]
        (x,) = function.params
        y = relax.Var("y", relax.TensorType((2,), "float32"))
        body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, x)])], y)
        relax.expr._update_type(body, y.ty)
        return tvm.IRModule({"main": relax.Function([x], body, y.ty, attrs=function.attrs)})
"""


def test_an_objection_of_the_checker_is_told_by_the_type_of_its_error(tmp_path: Path) -> None:
    """It raises a ``TypeError`` where a value does not fit its variable."""
    passes = tmp_path / "mistypes.py"
    passes.write_text(MISTYPES)
    case = Case(
        str(tvm.ir.save_json(tvm.script.from_source(LIFTED))), (PassRef("Mistypes", f"user:{passes}:Mistypes"),), 1
    )
    (verdict,) = [each for each in judge_case(case, (OracleName.WELL_FORMED,)) if each.outcome is Outcome.FAIL]
    assert shown(case, verdict, tmp_path).ending.error == "TypeError"


def test_a_users_pass_is_found_in_another_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script of a campaign in CI is run where the directory of the campaign is not."""
    (tmp_path / "compiler").mkdir()
    (tmp_path / "compiler" / "mine.py").write_text("def make(): ...\n")
    monkeypatch.chdir(tmp_path)
    ref = PassRef("make", f"user:{tmp_path / 'compiler' / 'mine.py'}:make")
    scene = SimpleNamespace(prepare=(), judged=(ref,))
    path, imported = Scene.imports.fget(scene)  # type: ignore[attr-defined]  # a property
    assert path == f"sys.path[1:1] = {[str(tmp_path / 'compiler'), 'compiler', '.']}"
    assert imported == "from mine import make"


def test_of_a_long_module_the_changed_function_is_printed(tmp_path: Path) -> None:
    steps = "".join(f"        lv{number} = R.exp(x)\n" for number in range(60))
    module = tvm.script.from_source(
        "@I.ir_module\nclass Module:\n"
        f"    @R.function\n    def long(x: R.Tensor((1,), 'float32')):\n{steps}        return x\n\n"
        "    @R.function\n    def main(x: R.Tensor((1,), 'float32')):\n"
        "        R.func_attr({'num_input': 0})\n        return x\n"
    )
    case = Case(
        str(tvm.ir.save_json(module)), (PassRef("LiftTransformParams", "relax.transform.LiftTransformParams()"),), 1
    )
    verdict = next(each for each in judge_case(case, (OracleName.WELL_FORMED,)) if each.outcome is Outcome.FAIL)
    assert 'print(After["main"].script())' in shown(case, verdict, tmp_path).text


def test_the_changed_lines_are_those_of_the_pass_at_fault_and_relax_functions_come_first() -> None:
    boxes = "R.const([[[1.0, 1.0], [1.0, 1.0]]], 'float32'), R.const([[[1.0, 1.0]]], 'float32')"
    module = tvm.script.from_source(
        "@I.ir_module\nclass Module:\n    @R.function(private=True)\n    def main(x: R.Tensor((1, 2), 'float32')):\n"
        f"        lv = R.vision.all_class_non_max_suppression({boxes}, R.const(1, 'int64'), R.const(1.0, 'float32'),\n"
        "            R.const(1.0, 'float32'), output_format='tensorflow')\n        return x\n"
    )
    legalized = relax.transform.LegalizeOps()(module)
    failure: Any = SimpleNamespace(died=False)
    scene = Scene(failure, str(tvm.ir.save_json(module)), (), ())
    told = _change(scene, Showing((), Ending(), compared=(module, legalized)))
    assert told.splitlines()[-1] == "... and adds 1 PrimFunc"
    assert "-        lv" in told
    assert "T.prim_func" not in told
    whole = _change(scene, Showing((), Ending(), compared=(tvm.IRModule(), legalized)))
    assert whole.splitlines()[1].startswith("+    @R.function")

    legalize = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")
    purity = PassRef("RemovePurityChecking", "relax.transform.RemovePurityChecking()")
    prepared = Scene(failure, str(tvm.ir.save_json(module)), (legalize,), (purity,))
    told = _change(prepared, Showing((), Ending()))
    assert "force_pure" in told
    assert "all_class_non_max_suppression(" not in told, "that is of the pass that prepares the module"


def test_a_function_that_is_only_printed_otherwise_is_no_change() -> None:
    source = (
        CALLED.replace("(A: T.Buffer", "({0}: T.Buffer")
        .replace("A[i0]", "{0}[i0]")
        .replace("R.sort(lv, axis=-1", "R.sort(lv, axis={1}")
    )
    before, after = (
        tvm.script.from_source(text, {"I": tvm.script.ir, "R": tvm.script.relax, "T": tvm.script.tirx})
        for text in (source.replace("{0}", name).replace("{1}", axis) for name, axis in (("A", "-1"), ("B", "0")))
    )
    failure: Any = SimpleNamespace(died=False)
    scene = Scene(failure, str(tvm.ir.save_json(before)), (), ())
    told = _change(scene, Showing((), Ending(), compared=(before, after)))
    assert "axis=0" in told
    assert "misnamed" not in told


def test_what_a_preparing_pass_does_otherwise_each_time_is_no_change_of_the_pass(tmp_path: Path) -> None:
    """LegalizeOps numbers what it makes by where it lies in memory."""
    path = tmp_path / "stamps.py"
    path.write_text(
        "import time\nimport tvm\n"
        "def stamp():\n"
        "    def run(module, _):\n"
        "        stamped = module.clone()\n"
        "        stamped['main'] = module['main'].with_attr('serial', time.time_ns() % 10**9)\n"
        "        return stamped\n"
        "    return tvm.transform.module_pass(run, opt_level=0, name='stamp')\n",
        encoding="utf-8",
    )
    module = tvm.script.from_source(CALLED, {"I": tvm.script.ir, "R": tvm.script.relax, "T": tvm.script.tirx})
    failure: Any = SimpleNamespace(died=False)
    purity = PassRef("RemovePurityChecking", "relax.transform.RemovePurityChecking()")
    stamp = PassRef("stamp", f"user:{path}:stamp")
    told = _change(Scene(failure, str(tvm.ir.save_json(module)), (stamp,), (purity,)), Showing((), Ending()))
    assert "force_pure" in told
    assert len({*re.findall(r'"serial": (\d+)', told)}) == 1


def test_an_analysis_is_called_by_its_script_and_no_module_compared_that_a_mended_one_gives_as_well(
    tmp_path: Path,
) -> None:
    (known,) = load(["analysis-use-by-cast"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    (verdict,) = [each for each in judge_case(case, (known.oracle,)) if each.outcome is Outcome.FAIL]
    text = shown(case, verdict, tmp_path).text
    assert "relax.analysis.udchain(" in text
    assert not any("Wrong" in each.text for each in short_forms(case, verdict).scripts)


_PLANNED = """\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((T.int64(1),), "float32"), B: T.Buffer((T.int64(1),), "float32")):
        for i in range(T.int64(1)):
            B[i] = A[i]

    @R.function(pure=False)
    def main(x: R.Tensor((1,), "float32")) -> R.Tuple:
        {lines}
        return R.tuple()
"""
_LENT = 'R.builtin.alloc_tensor(R.shape([1]), R.dtype("float32"), {device}, R.str("global"))'
_ON_TWO_DEVICES = (
    f"lv = {_LENT.format(device=1)}", "Module.kernel(x, lv)",
    f"lv1 = {_LENT.format(device=0)}", "Module.kernel(x, lv1)",
)  # fmt: skip
_IN_USE = (
    f"lv = {_LENT.format(device=0)}", 'y = R.call_packed("vm.builtin.copy", lv, ty_args=R.Tensor((1,), "float32"))',
    f"lv1 = {_LENT.format(device=0)}", "Module.kernel(y, lv1)",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "asserted"),
    [
        (_ON_TWO_DEVICES, "bound[call.args[0]].args[1].value for call in lent"),
        (_IN_USE, '.count("R.memory.alloc_storage(") > 1'),
    ],
)
def test_a_plan_of_memory_is_shown_by_what_it_must_keep(
    lines: tuple[str, ...], asserted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tvm.script.from_source(_PLANNED.format(lines="\n        ".join(lines)))
    plan = PassRef("StaticPlanBlockMemory", "relax.transform.StaticPlanBlockMemory()")
    case = Case(str(tvm.ir.save_json(module)), (plan,), 1)
    (verdict,) = (each for each in judge_case(case, (OracleName.POSTCONDITION,)) if each.outcome is Outcome.FAIL)
    script = shown(case, verdict, tmp_path)
    assert asserted in script.text.splitlines()[-1]
    assert "Wrong" not in script.text
    monkeypatch.setattr("fuzzer.repro.short.structure._facts", lambda *_: ())
    other = shown(case, verdict, tmp_path)
    assert "# It exits with 0 once the pass no longer gives the module `Wrong`." in other.text.splitlines()[:6]
    assert other.ending.gone == "the pass no longer gives the module `Wrong`"
    assert "structural_equal(\n    After, Wrong\n)" in other.text


_TUNED = 'tvm.transform.module_pass(lambda mod, _: tuned(mod, 4), opt_level=0, name="MetaScheduleApplyDatabase")'


def test_what_is_lost_of_a_module_without_functions_is_shown(tmp_path: Path) -> None:
    mesh = relax.distributed.DeviceMesh((4,), tvm.ir.Range(0, 4))
    case = Case(
        str(tvm.ir.save_json(tvm.IRModule({}, global_infos={"mesh": [mesh]}))),
        (PassRef("MetaScheduleApplyDatabase", _TUNED),), 1,
    )  # fmt: skip
    (verdict,) = (each for each in judge_case(case, (OracleName.POSTCONDITION,)) if each.outcome is Outcome.FAIL)
    line = shown(case, verdict, tmp_path).text.splitlines()[-1]
    assert line == "tvm.ir.assert_structural_equal(After.global_infos, Before.global_infos)"


def test_what_does_not_come_back_is_shown_though_the_rest_cannot_be_parsed(tmp_path: Path) -> None:
    """TVM's parser has no words for a callback that takes a T.int64, so that there was no short script."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(x)
    made = 'relax.transform.LazySetOutput()(mod).with_attr("settings", tvm.ir.StringImm("text"))'
    text = f'tvm.transform.module_pass(lambda mod, ctx: {made}, opt_level=0, name="it")'
    case = Case(str(tvm.ir.save_json(builder.finalize())), (PassRef("LazySetOutput", text),), 0)
    said, details = "DictAttrs.attrs: StringImm became str", Details(notation=Notation.TVMSCRIPT)
    evidence = Evidence("reads-otherwise", said, details=details)
    verdict = Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, "TVMScript", evidence=evidence)
    script = shown(case, verdict, tmp_path)
    assert "main" not in script.text
    assert "tvm.ir.assert_structural_equal(again, Before)" in script.text


_SUM = """\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel(number: T.int64, out: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            out[i] = T.float32(1.0)

    @R.function
    def main(x: R.Tensor(("m",), "float32")) -> R.Tensor((2,), "float32"):
        m = T.int64()
        return R.call_tir(Module.kernel, (m + 1,), R.Tensor((2,), "float32"))
"""


def test_a_module_that_cannot_be_written_is_made_by_its_pass(tmp_path: Path) -> None:
    """What BindParams gives has a sum that TVM's parser and its constructors read as another dtype, or fold."""
    module = tvm.script.from_source(_SUM)
    text = 'relax.transform.BindParams("main", {"x": np.ones(4, "float32")})'
    case = Case(str(tvm.ir.save_json(module)), (PassRef("BindParams", text),), 0)
    verdict = next(each for each in judge_case(case, (OracleName.ROUNDTRIP,)) if each.outcome is Outcome.FAIL)
    script = shown(case, verdict, tmp_path).text
    assert "After = relax.transform.BindParams(" in script
    assert len(script.splitlines()) < 35
    said = "# A module does not round-trip through TVMScript: type of Tuple: PrimType.dtype: int64 became int32"
    assert script.splitlines()[0] == said


TWO_ROOTS = """
import tvm
from library.values import WORDS


@tvm.transform.module_pass(opt_level=0)
class Refusing:
    def transform_module(self, module, context):
        raise RuntimeError(WORDS)
"""


@pytest.mark.parametrize("full", [False, True])
def test_a_script_finds_what_a_users_pass_imports_from_other_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    """Of ``pythonpath = ["src", "libs"]`` in pytest's configuration, scripts had the first alone."""
    package = f"passes_of_a_script_{full}"
    texts = {
        f"src/{package}/refusing.py": TWO_ROOTS.replace("library", f"library_{full}"),
        f"libs/library_{full}/values.py": f"from third_{full} import WORDS\n",
        f"more/third_{full}.py": "WORDS = 'no such luck'\n",
        f"tests/other_{full}.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    roots = [str(tmp_path / name) for name in ("src", "libs", "more", "tests")]
    monkeypatch.setattr(sys, "path", [*sys.path, *roots])
    importlib.import_module(f"other_{full}")  # which no pass needs
    ref = PassRef("Refusing", f"user:{package}.refusing:Refusing")
    case = Case(str(tvm.ir.save_json(tvm.script.from_source(LIFTED))), (ref,), 1)
    (verdict,) = [each for each in judge_case(case, (OracleName.CRASH,)) if each.outcome is Outcome.FAIL]
    script = render_repro(case, verdict, "") if full else short_forms(case, verdict).scripts[0]
    assert check_pristine(script.text, None if full else script.ending, tmp_path).confirmed
    assert roots[3] not in script.text, "but no more than that"


def test_json_is_not_needed_to_show_what_a_pass_writes_into_its_input(tmp_path: Path) -> None:
    (known,) = load(["adreno-mutates-constants"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, 0)
    verdict = next(each for each in judge_case(case, (known.oracle,)) if each.outcome is Outcome.FAIL)
    script = shown(case, verdict, tmp_path)
    assert "_json" not in script.text
    title = " ".join(line.strip("# ") for line in script.text.partition("# tvm ")[0].splitlines())
    assert re.fullmatch(r"AnnotateCustomMemoryScope modifies .* changes the device of a constant of [\w.]+", title)


def test_a_module_that_tvm_writes_and_does_not_load_is_the_module_of_its_script(tmp_path: Path) -> None:
    """TVM takes (1, 0) for a shape of a tensor with elements."""
    builder = relax.BlockBuilder()
    with builder.function("main", [x := relax.Var("x", relax.TensorType((1, 0), "float32"))]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    text = 'relax.transform.BindParams("main", {"x": np.zeros((1, 0), "float32")})'
    case = Case(str(tvm.ir.save_json(builder.finalize())), (PassRef("BindParams", text),), 0)
    (verdict,) = (each for each in judge_case(case, (OracleName.ROUNDTRIP,)) if each.culprit == "JSON")
    script = shown(case, verdict, tmp_path).text
    assert "BindParams(" not in script
    assert "again = tvm.ir.load_json(text)" in script
    other = run(f"import tvm_ffi\ntvm_ffi.__version__ = '0.1.15'\n{script}", Ending(), tmp_path)
    assert (other.exit_code, other.output) == (2, f"this release of tvm-ffi crashes: {pip_command(RELEASES[0])}\n")


CALLED = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def misnamed(A: T.Buffer((T.int64(1),), "float32"), T_out: T.Buffer((T.int64(1),), "float32")):
        T.func_attr({"global_symbol": "symbol"})
        for i0 in range(T.int64(1)):
            T_out[i0] = A[i0]

    @R.function
    def f1(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Module
        lv = cls.main(x)
        lv1 = R.sort(lv, axis=-1, descending=False)
        return lv1

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x
"""


def test_an_error_that_a_later_pass_has_a_part_in_is_shown_with_it(tmp_path: Path) -> None:
    """LazyGetInput alone makes a module that does not build either, with another message."""
    names = "LazyGetInput", "LazySetOutput"
    passes = tuple(PassRef(name, f"relax.transform.{name}()") for name in names)
    module = tvm.script.from_source(CALLED, {"I": tvm.script.ir, "R": tvm.script.relax, "T": tvm.script.tirx})
    case = Case(str(tvm.ir.save_json(module)), passes, 1)
    (verdict,) = [each for each in judge_case(case, (OracleName.NUMERIC,)) if each.outcome is Outcome.FAIL]
    assert verdict.culprit == "LazyGetInput"
    text = shown(case, verdict, tmp_path).text
    assert all(f"relax.transform.{name}()(" in text for name in names)
