# mypy: disable-error-code="untyped-decorator, valid-type, no-untyped-def"
"""Passes in short scripts: named functions where their texts nest lambdas, which do the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from fuzzer.core.case import Case
from fuzzer.findings.assessment import Severity, gravest
from fuzzer.minimizer.judge.judge import judge_request
from fuzzer.repro.checks.check import FailingCase
from fuzzer.repro.run import check_text
from fuzzer.repro.short.passes import edited, plainer, written
from fuzzer.repro.short.render import short_forms
from fuzzer.repro.short.scene import scenes
from fuzzer.triage.blame.rules import blame_request
from oracles.core.verdict import Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef, namespace
from strategies.detect.module_facts import facts_of
from strategies.pass_arguments.rewriters import bindings, calls, edits, rewriter
from strategies.scope.choices import Choices
from strategies.scope.from_bytes import draws_of

ADRENO = (
    "tvm.transform.Sequential([relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), "
    'relax.backend.adreno.transform.AnnotateCustomMemoryScope(tvm.target.Target("qcom/adreno-opencl-texture")), '
    "relax.transform.FuseOps(), relax.transform.FuseTIR()])"
)


INLINE = (
    "relax.transform.function_pass(lambda f, mod, _: f.inline_functions({key: mod[v] for v in "
    "relax.analysis.all_global_vars(f) if v not in [v for group in relax.analysis.detect_recursion(mod) for v in group]"
    ' for key in (KEYS)}), opt_level=0, name="inline_functions")'
)


@I.ir_module
class Sorted:
    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return R.sort(x)


@I.ir_module
class Overwriting:
    @T.prim_func(private=True, s_tir=True)
    def kernel(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        for i in range(n):
            A[i] = T.float32(1.0)

    @R.function(private=True)
    def f1(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        cls = Overwriting
        return cls.main(x)

    @R.function(private=True)
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Overwriting
        return R.call_tir_inplace(cls.kernel, (x,), [0], R.Tensor((n,), "float32"))


@I.ir_module
class Calling:
    @R.function(private=True)
    def f1(x: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        y: R.Tensor((m,), "float32") = R.full((m,), R.const(1.0, "float32"))
        return y

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Calling
        y: R.Tensor((n,), "float32") = cls.f1(x)
        return y


@I.ir_module
class Branching:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if c:
            inner = R.exp(x)
            y = R.abs(inner)
        else:
            y = x
        return y


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.subtract(x, y)
            b = R.nn.relu(a)
            c = R.exp(b)
            R.output(b, c)
        return (b, c)


@I.ir_module
class Two:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            R.output(a)
        return a

    @R.function
    def plain(x: R.Tensor((2, 3), "float32")):
        return R.nn.relu(x)


@I.ir_module
class Stages:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        with R.dataflow():
            y = R.nn.softmax(x)
            R.output(y)
        return y


@I.ir_module
class Constants:
    @R.function
    def main(x: R.Tensor((1, 4, 8, 8), "float32")):
        with R.dataflow():
            y = R.add(x, R.const([[[[1.0]]]], "float32"))
            R.output(y)
        return y


@I.ir_module
class Local:
    @R.function
    def main(x: R.Tensor((1,), "float32")):
        @R.function
        def inner(z: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
            return z

        return inner(x)


def drawn(module: Any) -> Iterator[str]:
    facts = facts_of(module)
    for seed in range(30):
        for draw in (calls, rewriter, bindings, edits):
            yield draw(Choices(draws_of(random.Random(seed))), facts)


def applied(text: str, module: Any, alone: bool, placed: bool = False) -> Any:
    """Return what the lines that a script has for a pass make of a module, which they may know."""
    form = written(text, alone)
    if placed and form.given:
        form = written(text, alone, module["main"] if form.of_function else module)
    known = {**namespace(), "Before": module}
    exec("\n".join(form.definitions), known)
    if not form.of_function:
        return eval(form.applied("Before"), known)
    after = module.clone()
    after["main"] = eval(form.applied('Before["main"]'), known)
    return after


@pytest.mark.parametrize(("module", "alone"), [(Before, True), (Before, False), (Two, False)])
def test_what_is_written_does_what_the_text_does(module: Any, alone: bool) -> None:
    compared = 0
    for text in drawn(module):
        if "from_source" in text:
            continue  # a class in a script has a file that TVM's parser reads
        form = "\n".join([*written(text, alone).definitions, written(text, alone).call])
        assert form.count("lambda") <= (not alone), form
        try:
            expected = PassRef("", text).build()(module)
        except Exception as error:  # the same error is due
            with pytest.raises(type(error)):
                applied(text, module, alone)
            continue
        for placed in (False, True):
            made = applied(text, module, alone, placed)
            tvm.ir.assert_structural_equal(made, expected, map_free_vars=True)
        compared += 1
    assert compared > 20


def test_what_is_looked_for_stands_by_its_place_where_the_module_is_known() -> None:
    text = (
        "relax.transform.function_pass(lambda f, mod, _: next(([edit := relax.DataflowBlockRewrite(k, f), "
        "edit.remove_unused(b.var), edit.mutated_root_fn()][-1] for k in f.body.blocks "
        "for b in reversed(k.bindings) if isinstance(b.var, relax.DataflowVar)), f), opt_level=0)"
    )
    (definition,) = written(text, True, Before["main"]).definitions
    assert "    k = f.body.blocks[0]\n    b = k.bindings[-3]\n" in definition
    assert "next(" in "".join(written(text, True).definitions)
    (nothing,) = written(text.replace("DataflowVar", "GlobalVar"), True, Before["main"]).definitions
    assert "return f" in nothing, "where there is none, the text says what happens then"


def test_a_rewriter_is_named_and_applied_to_the_function() -> None:
    text = (
        "(lambda pattern: relax.transform.function_pass(lambda f, mod, _: relax.dpl.rewrite_call(pattern, "
        'lambda call, found: found[pattern] if str(call.ty.dtype) == "float32" else call, f), opt_level=0))'
        '(is_op("relax.nn.relu")(wildcard()))'
    )
    form = written(text, True)
    assert form.definitions == (
        'pattern = is_op("relax.nn.relu")(wildcard())',
        (
            'def rewrite(call, found):\n    if str(call.ty.dtype) == "float32":\n        return found[pattern]\n'
            "    return call"
        ),
    )
    assert form.applied('Before["main"]') == 'relax.dpl.rewrite_call(pattern, rewrite, Before["main"])'


def failing(module: Any, name: str, text: str, oracle: OracleName) -> tuple[Case, Verdict]:
    case = Case(str(tvm.ir.save_json(module)), (PassRef(name, text),), 1)
    (found,) = (each for each in judge_request(case, (oracle,)) if each.evidence is not None)
    return case, found


def test_a_suggestion_that_fails_is_one_call() -> None:
    name = "suggest_layout_transforms"
    text = f'tvm.transform.module_pass(lambda mod, _: relaid(mod, "rotated"), opt_level=0, name="{name}")'
    case, verdict = failing(Stages, name, text, OracleName.CRASH)
    assert "Error in pass" not in verdict.shown.message
    script = short_forms(case, verdict).scripts[0]
    assert "relax.analysis.suggest_layout_transforms(" in script.text
    assert "relaid" not in script.text
    assert "def main" not in script.text
    assert check_text(script.text, script.ending).confirmed


@I.ir_module
class Scalar:
    @T.prim_func(private=True, s_tir=True)
    def add(x1: T.Buffer((2,), "float32"), x: T.Buffer((), "float32"), out: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("add"):
                at = T.axis.spatial(2, i)
                out[at] = x1[at]

    @R.function
    def main(x: R.Tensor((), "float32"), x1: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.call_tir(Scalar.add, (x1, x), R.Tensor((2,), "float32"))


def test_a_script_has_a_copy_of_what_lays_out_anew_and_it_runs() -> None:
    name = "suggest_layout_transforms"
    text = f'tvm.transform.module_pass(lambda mod, _: relaid(mod, "reversed"), opt_level=0, name="{name}")'
    case, verdict = failing(Scalar, name, text, OracleName.NUMERIC)
    script = short_forms(case, verdict).scripts[0]
    assert 'After = relaid(Before, "reversed")' in script.text
    assert check_text(script.text, script.ending).confirmed


def test_a_script_has_a_copy_of_what_makes_records() -> None:
    name = "MetaScheduleApplyDatabase"
    text = f'tvm.transform.module_pass(lambda mod, _: tuned(mod, 3, "tir"), opt_level=0, name="{name}")'
    module = tvm.IRModule(Stages.functions, global_infos={"vdevice": [I.vdevice("llvm")]})
    case, verdict = failing(module, name, text, OracleName.POSTCONDITION)
    plain, *others = short_forms(case, verdict).scripts
    assert "After = apply_empty_database(Before)" in plain.text, "what the pass does of itself needs no records"
    assert check_text(plain.text, plain.ending).confirmed
    script = next(each for each in others if 'def tuned(module, factor, tuner=""):' in each.text)
    assert '"""' not in script.text
    assert 'After = tuned(Before, 3, "tir")' in script.text
    assert check_text(script.text, script.ending).confirmed


def test_a_constant_whose_device_is_written_to_is_told() -> None:
    case, verdict = failing(Constants, "AnnotateCustomMemoryScope", ADRENO, OracleName.MUTATION)
    script = short_forms(case, verdict).scripts[0]
    assert "it changes the device of a constant of relax.add" in script.text.splitlines()[0]
    assert script.text.count("Sequential") == 0
    assert check_text(script.text, script.ending).confirmed


def test_the_pass_of_a_sequential_that_is_at_fault_stands_alone() -> None:
    case, verdict = failing(Local, "AnnotateCustomMemoryScope", ADRENO, OracleName.CRASH)
    first = next(scenes(FailingCase(case, verdict)))
    assert [ref.name for ref in first.judged] == ["AnnotateCustomMemoryScope"]
    assert not first.prepare
    assert "Sequential" not in first.judged[0].expression
    script = short_forms(case, verdict).scripts[0]
    assert check_text(script.text, script.ending).confirmed
    assert relax.transform.LegalizeOps.__name__ not in script.text


def test_what_a_text_makes_of_the_module_first_stands_in_the_module() -> None:
    text = _PREFIXED.format(call='relax.transform.AttachGlobalSymbol()(mod.with_attr("system_lib_prefix", "lib_"))')
    found = edited(PassRef("AttachGlobalSymbol", text))
    assert found is not None
    given, edit, alone = found
    assert (given, edit) == ("mod", 'mod.with_attr("system_lib_prefix", "lib_")')
    assert alone == PassRef("AttachGlobalSymbol", "relax.transform.AttachGlobalSymbol()")
    for plain in ("relax.transform.FuseOps()", _PREFIXED.format(call="relax.transform.FuseOps()(mod)")):
        assert edited(PassRef("FuseOps", plain)) is None


def test_what_builds_before_the_pass_is_the_module_that_the_pass_is_not_given() -> None:
    """A prefix of symbols, which the pass is given with the module, keeps that from being built without the pass."""

    text = _PREFIXED.format(call='relax.transform.AttachGlobalSymbol()(mod.with_attr("system_lib_prefix", "lib_"))')
    case, verdict = failing(
        Sorted, "AttachGlobalSymbol", text.replace('"P"', '"AttachGlobalSymbol"'), OracleName.NUMERIC
    )
    script = short_forms(case, verdict).scripts[0]
    assert 'relax.build(Before, "llvm")  # builds\n' in script.text
    assert check_text(script.text, script.ending).confirmed


def test_dims_that_are_given_as_variables_are_given_by_name_where_that_will_do() -> None:
    text = "relax.transform.BindSymbolicVars({v: n for v in dims(mod) for k, n in [('n', 3)] if v.name == k})(mod)"
    plain = plainer(PassRef("BindSymbolicVars", text))
    assert plain is not None
    assert plain.expression == 'relax.transform.BindSymbolicVars({"n": 3})(mod)'
    assert plainer(PassRef("BindSymbolicVars", plain.expression)) is None


_PREFIXED = 'tvm.transform.module_pass(lambda mod, _: {call}, opt_level=0, name="P")'


@pytest.mark.parametrize("keys", ["v.name_hint,", "v,"])
def test_the_functions_that_are_chosen_in_a_module_stand_by_their_names(keys: str) -> None:
    case, verdict = failing(Calling, "inline_functions", INLINE.replace("KEYS", keys), OracleName.WELL_FORMED)
    script = short_forms(case, verdict).scripts[0]
    assert 'After["main"] = Before["main"].inline_functions({"f1": Before["f1"]})\n' in script.text
    assert check_text(script.text, script.ending).confirmed


def test_the_one_function_on_which_a_pass_raises_stands_by_its_name() -> None:
    case, verdict = failing(
        Overwriting,
        "inline_functions",
        INLINE.replace("KEYS", "v,").replace(" if v", " if isinstance(mod[v], relax.Function) and v"),
        OracleName.CRASH,
    )
    script = short_forms(case, verdict).scripts[0]
    assert script.text.endswith('\nBefore["f1"].inline_functions({"main": Before["main"]})\n')
    assert check_text(script.text, script.ending).confirmed


def test_what_is_chosen_by_name_and_by_variable_stays_as_it_is() -> None:
    text = INLINE.replace("KEYS", "v.name_hint, v")
    call = written(text, True, Calling["main"], Calling).applied('Before["main"]', "Before")
    assert "for v in relax.analysis.all_global_vars" in call
    assert "detect_recursion(Before)" in call
    assert "mod" not in call


def test_a_second_run_is_given_what_the_first_one_has_left() -> None:
    ref = PassRef("inline_functions", INLINE.replace("KEYS", "v,"))
    case, verdict = failing(Calling, "inline_functions", ref.expression, OracleName.WELL_FORMED)
    scene = next(scenes(FailingCase(case, verdict)))
    assert scene.applied("Once")[-1] == 'Once["main"] = Before["main"].inline_functions({"f1": Before["f1"]})'
    assert scene.applied("Twice", "Once")[-1] == 'Twice["main"] = Once["main"].inline_functions({})'


def test_what_an_analysis_answers_wrongly_is_told_of_its_function() -> None:
    text = (
        'relax.transform.function_pass(lambda f, mod, _: [relax.analysis.bound_vars(f), f][1], opt_level=0, name="A")'
    )
    case, verdict = failing(Branching, "analysis", text.replace('"A"', '"analysis"'), OracleName.POSTCONDITION)
    assert gravest(verdict) is Severity.S3
    assert blame_request(case, verdict, "analysis").name == "relax.analysis.name_to_binding"
    script = short_forms(case, verdict).scripts[0]
    title = "# relax.analysis.name_to_binding omits the binding of inner inside an If of main"
    assert script.text.startswith(f"{title}\n")
    assert script.text.rstrip().splitlines()[-4:] == [
        "answer = relax.analysis.name_to_binding(function)",
        'print("relax.analysis.name_to_binding(function) gives", answer)',
        title,
        "assert any(each.same_as(binding) for each in answer.get(binding.var.name, ()))",
    ]
    assert "rewritten" not in script.text, "the pass changes nothing"
    assert check_text(script.text, script.ending).confirmed
