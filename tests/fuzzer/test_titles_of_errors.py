"""Titles of errors: what they hang on, what is at fault, and how what is too long is cut."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tvm
from deaths import death
from titled import PASSES, VARIED, Argsort, Bound, Device, Exponent, Loose, Plain, case_of, crash_of, failed, judged
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Culprit
from fuzzer.findings.script_parts import Nearest
from fuzzer.repro.checks.documented import shown_alone
from fuzzer.repro.contradictions import contradictions
from fuzzer.repro.essence import essence
from fuzzer.repro.module.source import module_source
from fuzzer.repro.special_values import needed
from fuzzer.repro.title import MOST, title_of
from fuzzer.triage.script import repro_script
from oracles.core.verdict import Details, Evidence, Notation, Outcome, Verdict
from oracles.semantics.replay import fault_of
from oracles.semantics.single import SingleCall
from relaxkit.ir.first_difference import type_texts
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef


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
