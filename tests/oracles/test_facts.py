from __future__ import annotations

from typing import Any

import buggy_passes as buggy
import pytest
import sample_modules as samples
import tvm
from structural import STRUCTURAL
from tvm import relax

import oracles.core.module_facts
from oracles import Subject, judge
from oracles.core.module_facts import ModuleFacts, apply, complaint, equal
from oracles.core.verdict import Evidence, Outcome
from relaxkit.passes.pass_ref import PassRef


def test_reload_is_an_equal_copy_that_shares_nothing() -> None:
    facts = ModuleFacts(samples.dataflow())
    assert equal(facts.reload, facts.module)
    assert not facts.reload["main"].same_as(facts.module["main"])


def test_module_that_differs_from_its_reload_has_none() -> None:
    module = buggy.each(lambda function: function.with_attr("mark", tvm.tirx.Var("stray", "int64")))(samples.dataflow())
    assert ModuleFacts(module).reload is None


def test_preparing_runs_once_and_keeps_its_error() -> None:
    facts = ModuleFacts(samples.two_functions())
    legalize = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")
    merge = PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    assert facts.prepared(legalize) is facts.prepared(legalize)
    error = facts.prepared(merge)
    assert isinstance(error, Evidence)
    assert error.kind == "InternalError"


def test_modified_module_is_restored_and_its_children_forgotten() -> None:
    facts = ModuleFacts(samples.dataflow())
    legalize = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")
    snapshot, child = facts.snapshot, facts.prepared(legalize)
    assert not facts.modified()
    facts.module.update_func(facts.module.get_global_var("main"), facts.module["main"].with_attr("mark", 1))
    assert facts.modified()
    facts.restore()
    assert not facts.modified()
    assert ModuleFacts(facts.module).snapshot == snapshot
    assert facts.prepared(legalize) is not child


def test_pass_runs_under_a_target() -> None:
    seen: list[str] = []

    def run(module: object) -> object:
        seen.append(tvm.target.Target.current().kind.name)
        return module

    assert apply(buggy.make("looks", run).given, samples.dataflow()).error is None
    assert seen == ["llvm"]


def test_complaint() -> None:
    assert complaint(samples.private_calls()) is None
    found = complaint(buggy.drops("helper").given(samples.private_calls()))
    assert found is not None
    assert found.kind == "ill-formed"
    assert 'GlobalVar I.GlobalVar("helper") is not defined' in found.message


def test_module_that_cannot_be_loaded_again_is_judged_without_its_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some modules were saved in a form that TVM then refused to load ("Invalid DLTensor file format")."""
    for name in ("from_json_graph_str", "module_of"):
        monkeypatch.setattr(oracles.core.module_facts, name, _refuse)
    module = samples.dataflow()
    facts = ModuleFacts(module)
    assert facts.reload is None
    facts.restore()
    assert facts.module.same_as(module)
    verdicts = judge(Subject(module, [PassRef("Normalize", "relax.transform.Normalize()")], facts=facts), STRUCTURAL)
    said = {verdict.oracle: verdict.reason for verdict in verdicts if verdict.outcome is not Outcome.PASS}
    assert not said
    mutation = judge(Subject(module, [buggy.edits_input()]), STRUCTURAL)[1]
    assert mutation.outcome is Outcome.FAIL
    assert mutation.evidence is not None
    assert mutation.evidence.message == "the input module was modified"


def _refuse(text: str) -> object:
    raise ValueError("Invalid DLTensor file format")


def test_of_several_complaints_the_one_to_the_first_function_by_name_is_told() -> None:
    """UpdateParamType gives functions in the order of addresses: one case had two signatures, by the process."""

    def broken(name: str) -> Any:
        ty = relax.TensorType((2,), "float32")
        missing = relax.Var(f"missing_in_{name}", ty)
        function = relax.Function([relax.Var("x", ty)], relax.SeqExpr([], missing), ty)
        return tvm.ir.GlobalVar(name), function.with_attr("global_symbol", name)

    functions = [broken(name) for name in "ab"]
    for order in (functions, functions[::-1]):
        found = complaint(tvm.IRModule(dict(order)))
        assert found is not None
        assert "missing_in_a" in found.message


def test_a_prepared_module_that_a_pass_has_modified_is_made_again_to_say_what_it_was() -> None:
    facts = ModuleFacts(samples.dataflow())
    prepared = facts.prepared(PassRef("LegalizeOps", "relax.transform.LegalizeOps()"))
    assert isinstance(prepared, ModuleFacts)
    prepared.observe()
    before = str(tvm.ir.save_json(prepared.module))
    edited = Subject(prepared.module, [buggy.edits_input()])
    assert edited.output.error is None
    assert prepared.modified()
    assert prepared.snapshot == before
