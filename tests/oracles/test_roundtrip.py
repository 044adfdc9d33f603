"""The roundtrip oracle: what is lost in TVMScript and JSON, and who is to blame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import buggy_passes as buggy
import numpy as np
import pytest
import sample_modules as samples
import tvm
from tvm import relax

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.signature import signature
from fuzzer.repro.render import render_repro
from fuzzer.repro.run import check_repro
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Verdict
from oracles.judge import judge
from oracles.structural import roundtrip
from oracles.structural.roundtrip import JSON, TVMSCRIPT
from oracles.structural.roundtrip_forms import (
    ATTRIBUTES,
    REFINED,
    TOGETHER,
    loss_in_json,
    loss_in_script,
    mismatch,
    unit_names,
    unit_of,
)
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

SIZE = tvm.tirx.Var("size", "int64")
WHOLE = next(seed for seed in range(1, 10000) if roundtrip._draws(seed, roundtrip.WHOLE_SHARE))
PART = next(
    seed
    for seed in range(1, 10000)
    if roundtrip._draws(seed, roundtrip.PARSED_SHARE) and not roundtrip._draws(seed, roundtrip.WHOLE_SHARE)
)
NONE = next(seed for seed in range(1, 10000) if not roundtrip._draws(seed, roundtrip.PARSED_SHARE))

HEAD = """
@I.ir_module
class Module:
"""


def parsed(body: str) -> Any:
    return tvm.script.from_source(HEAD + body)


def said(module: Any, *passes: PassRef, seed: int = 0) -> list[Verdict]:
    return judge(Subject(module, passes, input_seed=seed), [OracleName.ROUNDTRIP])


def only(module: Any, *passes: PassRef, seed: int = 0) -> Verdict:
    (verdict,) = said(module, *passes, seed=seed)
    return verdict


def normalize() -> PassRef:
    return PassRef("Normalize", "relax.transform.Normalize()")


def attribute(value: Any) -> PassRef:
    return buggy.make("attribute", buggy.each(lambda function: function.with_attr("fuzz.value", value)))


def plain() -> Any:
    return parsed("""
    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y: R.Tensor((4,), "float32") = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y: R.Tensor((4,), "float32") = cls.helper(x)
        return y
""")


def boxed() -> Any:
    """TVMScript writes the number and reads it as one that is not boxed."""
    module = plain()
    main = module.get_global_var("main")
    module.update_func(main, module[main].with_attr("boxed", tvm.tirx.IntImm("int64", 7)))
    return module


def two_blocks() -> Any:
    """Two blocks of bindings side by side, which TVMScript writes as one."""
    x, first, second = (relax.Var(name, relax.TensorType([4], "float32")) for name in ("x", "first", "second"))
    blocks = []
    for variable, operand in ((first, x), (second, first)):
        value = relax.op.exp(operand)
        relax.expr._update_type(value, x.ty)
        blocks.append(relax.BindingBlock([relax.VarBinding(variable, value)]))
    body = relax.SeqExpr(blocks, second)
    relax.expr._update_type(body, x.ty)
    return tvm.IRModule({"main": relax.Function([x], body, x.ty).with_attr("global_symbol", "main")})


@pytest.mark.parametrize("seed", [0, WHOLE, PART, NONE])
def test_what_survives_passes(seed: int) -> None:
    verdict = only(plain(), normalize(), seed=seed)
    assert (verdict.outcome, verdict.culprit) == (Outcome.PASS, "Normalize")


@pytest.mark.parametrize("name", ["dataflow", "vdevices", "recursive", "closure", "branches"])
def test_ordinary_modules_survive(name: str) -> None:
    module = getattr(samples, name)()
    assert {loss_in_script(module, each) for each in unit_names(module)} == {None}


def lazy(name: str) -> PassRef:
    """A pass that gives functions a parameter whose type TVMScript writes and cannot read."""
    return PassRef(name, f"relax.transform.{name}()")


def test_a_notation_is_blamed_for_what_the_pass_made_and_the_pass_is_not_judged() -> None:
    own, notation = said(plain(), lazy("LazySetOutput"))
    assert (own.outcome, own.culprit, own.reason) == (Outcome.SKIP, "LazySetOutput", "TVMScript cannot hold the output")
    assert (notation.outcome, notation.culprit) == (Outcome.FAIL, TVMSCRIPT)
    assert notation.evidence is not None
    assert notation.evidence.kind == "not-parsed"
    assert "get_symbolic_vars" in notation.evidence.message


def test_one_defect_of_a_notation_is_one_finding_whatever_pass() -> None:
    verdicts = [each for name in ("LazySetOutput", "LazyGetInput") for each in said(samples.weights(), lazy(name))]
    found = [signature(each).id for each in verdicts if each.evidence is not None]
    assert len(found) == 2
    assert len(set(found)) == 1


def test_a_users_pass_is_told_in_a_note_of_what_no_notation_holds() -> None:
    value = tvm.tirx.IntImm("int64", 7)
    verdict = only(plain(), attribute(value))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "TVMScript cannot hold the output")
    assert verdict.note == "Printed as TVMScript and parsed back, the output becomes a different module"
    assert only(boxed(), attribute(3), seed=WHOLE).outcome is Outcome.SKIP


def test_a_users_pass_is_not_to_blame_for_constants_that_tvm_cannot_read_back() -> None:
    """TVM 0.27 does not read its own JSON of constants with a dim of 0 behind another one."""

    def empty(function: Any) -> Any:
        filler = relax.BlockBuilder().normalize(relax.op.sum(relax.const(np.zeros((2, 0), "float32"))))
        block = relax.BindingBlock([relax.VarBinding(relax.Var("filler", relax.TensorType([], "float32")), filler)])
        body = relax.SeqExpr([block, *function.body.blocks], function.body.body)
        made = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
        return relax.BlockBuilder().normalize(made)

    verdict = only(plain(), buggy.make("empty", buggy.each(empty)))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "JSON cannot hold the output")
    assert verdict.note.startswith(
        "TVM raises an error when it loads the output, saved as JSON (a defect of TVM, which"
    )


def test_what_the_input_loses_is_reported_of_whole_modules_alone() -> None:
    assert [each.outcome for each in said(boxed(), normalize(), seed=WHOLE)] == [Outcome.SKIP, Outcome.FAIL]
    assert only(boxed(), normalize(), seed=PART).outcome is Outcome.PASS  # the function is as it was
    touched = only(boxed(), PassRef("ToNonDataflow", "relax.transform.ToNonDataflow()"), attribute(3))
    assert (touched.outcome, touched.reason) == (Outcome.SKIP, "input does not survive TVMScript")


def test_a_dangling_variable_is_the_passs_fault() -> None:
    verdict = only(plain(), attribute(relax.ShapeExpr([SIZE])), seed=NONE)
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "attribute")
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "loads-otherwise"


def test_json_is_blamed_for_what_it_writes_and_cannot_read() -> None:
    x = relax.Var("x", relax.TensorType([2, 0], "float32"))
    function = relax.Function([x], relax.SeqExpr([], x), x.ty).with_attr("global_symbol", "main")
    module = tvm.IRModule({"main": relax.BlockBuilder().normalize(function)})
    bind = 'relax.transform.BindParams("main", {"x": tvm.runtime.tensor(np.zeros((2, 0), "float32"))})'
    own, notation = said(module, PassRef("BindParams", bind), seed=NONE)
    assert (own.outcome, own.reason) == (Outcome.SKIP, "JSON cannot hold the output")
    assert (notation.outcome, notation.culprit) == (Outcome.FAIL, JSON)
    assert notation.evidence is not None
    assert notation.evidence.kind == "not-loaded"


def renamed(module: Any, name: str) -> Any:
    """The module with another name for its private function."""
    old = module.get_global_var("helper")
    new = tvm.ir.GlobalVar(name)
    relax.expr._update_type(new, old.ty)

    @relax.expr_functor.mutator
    class Renamer(relax.PyExprMutator):  # type: ignore[misc]  # TVM ships no types
        def visit_global_var_(self, variable: Any) -> Any:
            return new if variable.same_as(old) else variable

    functions = {
        new if var.same_as(old) else var: Renamer().visit_expr(function) for var, function in module.functions_items()
    }
    return tvm.IRModule(functions)


@pytest.mark.parametrize("name", ["helper.impl", "lambda", "2nd", "two words"])
def test_a_name_that_is_no_identifier_is_the_passs_fault(name: str) -> None:
    verdict = only(plain(), buggy.make("renames", lambda module: renamed(module, name)))
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "renames")
    assert verdict.evidence is not None
    assert verdict.evidence.kind == "unprintable-name"


def test_another_good_name_is_none() -> None:
    assert only(plain(), buggy.make("renames", lambda module: renamed(module, "second"))).outcome is Outcome.PASS


def test_the_first_step_that_loses_is_to_blame() -> None:
    harmless = buggy.make("harmless", buggy.each(lambda function: function.with_attr("fuzz.note", 1)))
    dangling = attribute(relax.ShapeExpr([SIZE]))
    assert only(plain(), harmless, dangling, harmless, seed=NONE).culprit == "attribute"


def test_neighbouring_blocks_are_no_loss() -> None:
    module = two_blocks()
    assert len(module["main"].body.blocks) == 2
    assert loss_in_script(module, "main") is None


def test_units_hold_one_function_each_and_stubs() -> None:
    module = plain()
    assert unit_names(module) == [ATTRIBUTES, "helper", "main", TOGETHER]
    assert len(unit_of(module, ATTRIBUTES).functions) == 0
    assert len(unit_of(module, "helper").functions) == 1
    unit = unit_of(module, "main")
    assert {str(var.name_hint) for var in unit.functions} == {"helper", "main"}
    assert "R.exp" not in unit.script()
    assert all(loss_in_script(module, name) is None for name in unit_names(module))


def test_the_words_of_a_mismatch_name_nothing_of_the_module() -> None:
    one, other = plain(), boxed()
    assert mismatch(one["main"], one["main"]) == "another object"
    assert "7" not in mismatch(other["main"], one["main"])
    assert loss_in_json(one) is None


def test_the_words_of_a_mismatch_name_dtypes() -> None:
    one, other = (relax.Var("x", relax.TensorType((2,), dtype)) for dtype in ("float32", "float16"))
    assert mismatch(relax.Tuple([one]), relax.Tuple([other])).endswith("float32 became float16")


def test_more_exact_types_are_no_loss() -> None:
    module = parsed("""
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")) -> R.Tensor("float32", ndim=1):
        y: R.Tensor("float32", ndim=1) = R.exp(x)
        return y
""")
    loss = loss_in_script(module, "main")
    assert loss is None or loss[0] == REFINED


def test_a_failed_parse_leaves_no_builder_behind() -> None:
    (case,) = load(["script-device-of-local-function"])
    module = load_module(case)
    loss = loss_in_script(module, "main")
    assert loss is not None
    assert loss[0] == "not-parsed"
    assert not tvm.script.ir_builder.IRBuilder.is_in_scope()


@pytest.mark.parametrize("slug", ["script-boxed-attribute", "update-vdevice-unused-parameter"])
def test_the_script_shows_the_defect(slug: str, tmp_path: Path) -> None:
    (known,) = load([slug])
    module = load_module(known)
    verdict = next(each for each in said(module, *known.passes, seed=known.input_seed) if each.outcome is Outcome.FAIL)
    path = tmp_path / "script.py"
    case = Case(str(tvm.ir.save_json(module)), known.passes, known.input_seed)
    path.write_text(render_repro(case, verdict, signature(verdict).text).text, encoding="utf-8")
    result = check_repro(path)
    assert result.confirmed, result.output
