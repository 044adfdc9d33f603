"""The postcondition oracle: what it blames, what it leaves to others, and the claims that every pass makes."""

from __future__ import annotations

import ast
import functools
import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import buggy_passes as buggy
import pytest
import sample_modules as samples
import tvm
from structural import Say
from tvm import relax

import oracles
from fuzzer.findings.signature import signature
from fuzzer.repro.checks.postcondition import with_imported
from fuzzer.repro.table import EXTERNAL_PIECES, PIECES
from oracles.core.verdict import UNCOVERED, Outcome, Verdict
from oracles.structural.postcondition import UnknownArguments
from relaxkit.passes.arguments import NotLiteral
from relaxkit.passes.claims.kept import KEPT, claims_of, stated_claims
from relaxkit.passes.contract import Contract, Kept, OracleName, Postcondition, Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef

POSTCONDITION = OracleName.POSTCONDITION
ROOT = Path(oracles.__file__).parent.parent


def claiming(violation: Any, **fields: Any) -> Contract:
    """A contract with one claim, which keeps nothing besides."""
    claim = Postcondition("it is done", violation, "the test")
    return Contract("claims", postconditions=(claim,), **({"changes": frozenset(Kept)} | fields))


def unmarked(ran: Ran) -> str:
    marked = ran.after["main"].attrs is not None and "mark" in ran.after["main"].attrs
    return "" if marked else "main is not marked\nfunction: main"


def judged(say: Say, module: Any, *passes: Any, **options: Any) -> Verdict:
    return say(module, *passes, **options)[POSTCONDITION]


def test_what_is_done_passes(say: Say) -> None:
    assert judged(say, samples.dataflow(), buggy.marks(contract=claiming(unmarked))).outcome is Outcome.PASS


def test_what_is_not_done_fails(say: Say) -> None:
    verdict = judged(say, samples.dataflow(), buggy.identity(), contracts=[claiming(unmarked)])
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "identity")
    assert verdict.evidence is not None
    assert verdict.evidence.message == "it is done: main is not marked"
    assert verdict.evidence.expected == "it is done"
    assert verdict.evidence.observed == "main is not marked\nfunction: main"
    assert signature(verdict).kind == "not-done"


def test_a_pass_that_claims_nothing_is_skipped(say: Say) -> None:
    contract = Contract("identity", changes=frozenset(Kept))
    verdict = judged(say, samples.dataflow(), buggy.identity(), contracts=[contract])
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "no postcondition")


def test_a_pass_that_claims_nothing_is_said_to_even_if_it_raises(say: Say) -> None:
    """The gate demanded checks of the postconditions of a pass that has none and always raises."""
    raises = buggy.raises(TypeError("boom"))
    contract = Contract("raises", changes=frozenset(Kept))
    verdict = judged(say, samples.dataflow(), raises, contracts=[contract])
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "no postcondition")


def test_an_ill_formed_output_is_not_judged(say: Say) -> None:
    contract = claiming(unmarked)
    verdict = judged(say, samples.private_calls(), buggy.drops("helper"), contracts=[contract])
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "output is ill-formed")


def test_a_step_whose_input_is_ill_formed_is_not_judged(say: Say) -> None:
    whole, nothing = samples.private_calls(), Contract("nothing", changes=frozenset(Kept))
    passes = [buggy.drops("helper"), buggy.identity(), buggy.make("mends", lambda module: whole)]
    verdict = judged(say, samples.private_calls(), *passes, contracts=[nothing, claiming(unmarked), nothing])
    assert (verdict.outcome, verdict.culprit) == (Outcome.SKIP, "identity")
    assert verdict.reason == "input of the pass is ill-formed"


def test_the_first_step_that_breaks_its_claim_is_to_blame(say: Say) -> None:
    nothing = Contract("nothing", changes=frozenset(Kept))
    verdict = judged(
        say,
        samples.dataflow(),
        buggy.identity(),
        buggy.make("first", lambda module: module),
        buggy.make("second", lambda module: module),
        contracts=[nothing, claiming(unmarked), claiming(unmarked)],
    )
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "first")


def test_a_later_step_that_writes_into_its_input_does_not_blame_an_earlier_one(say: Say) -> None:
    def unmark(module: Any) -> Any:
        var = module.get_global_var("main")
        module.update_func(var, module[var].without_attr("mark"))
        return module

    contracts = [claiming(unmarked), Contract("unmarks", changes=frozenset(Kept))]
    verdict = judged(say, samples.dataflow(), buggy.marks(), buggy.make("unmarks", unmark), contracts=contracts)
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "the violation did not recur on a copy of the input")


def test_arguments_come_from_the_text_of_the_pass(say: Say) -> None:
    seen: list[Any] = []

    def look(ran: Ran) -> str:
        seen.append(ran.arguments.get("call_only"))
        return ""

    sort = PassRef("EliminateCommonSubexpr", "relax.transform.EliminateCommonSubexpr(call_only=True)")
    assert judged(say, samples.dataflow(), sort, contracts=[claiming(look)]).outcome is Outcome.PASS
    assert seen == [True]


def test_a_claim_on_unknown_arguments_is_not_judged(say: Say) -> None:
    def look(ran: Ran) -> str:
        return "anything" if "0" in ran.arguments else "nothing"

    assert judged(say, samples.dataflow(), buggy.identity(), contracts=[claiming(look)]).outcome is Outcome.PASS
    for ask in (lambda it: it["0"], lambda it: it.get("0"), list, len):
        with pytest.raises(NotLiteral):
            ask(UnknownArguments())


def test_entries_given_to_a_pass_object_are_not_guessed(say: Say) -> None:
    module = relax.transform.EliminateCommonSubexpr()(samples.private_calls())
    given = buggy.make("DeadCodeElimination", relax.transform.DeadCodeElimination(["helper"]))
    contract = CONTRACTS["DeadCodeElimination"]
    assert judged(say, module, given, contracts=[contract]).outcome is Outcome.PASS


def attributed() -> Any:
    """A module with attributes, tables, a kernel, an external function and a private function."""
    module = samples.kernels().with_attr("model", "a").with_attr("size", 4)
    module.update_global_info("vdevice", [relax.VDevice("llvm")])
    var = module.get_global_var("main")
    module.update_func(var, module[var].with_attr("note", 7))
    return module


def changed(change: Any) -> Any:
    """A pass that replaces ``main`` by ``change(main)``."""

    def run(module: Any) -> Any:
        result = module.clone()
        result.update_func(module.get_global_var("main"), change(module["main"]))
        return result

    return run


def other_kernel(module: Any) -> Any:
    result = module.clone()
    for var, function in module.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            result.update_func(var, function.with_attr("tuned", 1))
    return result


HARMS = {
    Kept.MODULE_ATTRIBUTES: lambda module: tvm.IRModule(
        dict(module.functions_items()), attrs={"size": 4}, global_infos=module.global_infos
    ),
    Kept.GLOBAL_INFOS: lambda module: tvm.IRModule(dict(module.functions_items()), attrs=module.attrs),
    Kept.FUNCTION_ATTRIBUTES: changed(lambda function: function.with_attr("note", 8)),
    Kept.PARAMETER_NAMES: changed(buggy.with_renamed_parameters),
    Kept.PURITY: changed(
        lambda function: relax.Function(function.params, function.body, function.ret_ty, False, function.attrs)
    ),
    Kept.KERNELS: other_kernel,
}


@pytest.mark.parametrize("kept", list(HARMS), ids=str)
def test_what_every_pass_keeps(say: Say, kept: Kept) -> None:
    harm = buggy.make("harms", HARMS[kept])
    verdict = judged(say, attributed(), harm, contracts=[Contract("harms")])
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.expected == KEPT[kept].claim
    excused = Contract("harms", changes=frozenset({kept}))
    assert judged(say, attributed(), harm, contracts=[excused]).outcome is Outcome.PASS


@pytest.mark.parametrize(("attribute", "outcome"), [("note", Outcome.PASS), ("other", Outcome.FAIL)])
def test_of_attributes_only_those_that_are_listed_may_change(say: Say, attribute: str, outcome: Outcome) -> None:
    harm = buggy.make("harms", HARMS[Kept.FUNCTION_ATTRIBUTES])
    listed = Contract("harms", attributes=(attribute,))
    assert judged(say, attributed(), harm, contracts=[listed]).outcome is outcome


def test_a_plan_may_take_its_own_attribute_away_and_no_other() -> None:
    for name in ("StaticPlanBlockMemory", "build:default", "build:cpu"):
        (kept,) = [each for each in claims_of(CONTRACTS[name]) if each.claim == KEPT[Kept.FUNCTION_ATTRIBUTES].claim]
        for attribute, said in (("relax.memory_plan_dynamic_func_output", False), ("note", True)):
            before = samples.dataflow()
            before["main"] = before["main"].with_attr(attribute, 1)
            after = tvm.IRModule({"main": before["main"].without_attr(attribute)})
            assert bool(kept.violation(Ran(before, after, {}))) is said


def test_a_split_may_make_a_kernel_external_and_change_no_other_way() -> None:
    (kept,) = [each for each in claims_of(CONTRACTS["SplitCallTIRByPattern"]) if "kernels" in each.claim]
    before = attributed()
    external = before.clone()
    for var, function in before.functions_items():
        if isinstance(function, tvm.tirx.PrimFunc):
            external.update_func(var, relax.ExternFunc(var.name_hint))
    assert not kept.violation(Ran(before, external, {}))
    assert kept.violation(Ran(before, other_kernel(before), {}))
    assert KEPT[Kept.KERNELS].violation(Ran(before, external, {})), "no other pass may"


def test_external_functions_are_kept() -> None:
    extern = relax.ExternFunc("ext", relax.FuncType([], relax.AnyType()))
    before = tvm.IRModule({"ext": extern})
    ran = Ran(before, tvm.IRModule({}), {})
    assert KEPT[Kept.EXTERNALS].violation(ran)
    assert not KEPT[Kept.EXTERNALS].violation(Ran(before, before, {}))


def test_a_pass_without_contract_may_change_everything(say: Say) -> None:
    verdict = judged(say, attributed(), buggy.make("harms", HARMS[Kept.MODULE_ATTRIBUTES]))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "no postcondition")
    fields = "in the contract of harms, changes=frozenset({Kept.MODULE_ATTRIBUTES}) allows it, changes=frozenset()"
    assert verdict.note.startswith(f"The pass drops or changes module attributes, and {UNCOVERED} ({fields} forbids")


def test_a_users_pass_that_drops_attributes_is_one_finding_and_says_in_it_which(say: Say) -> None:
    harm = buggy.make("harms", HARMS[Kept.MODULE_ATTRIBUTES])
    modules = [samples.kernels().with_attr(name, 7) for name in ("model", "maker")]
    found = [judged(say, module, harm, contracts=[Contract("harms")]) for module in modules]
    assert signature(found[0]) == signature(found[1])
    assert [each.shown.details.done for each in found] == ["drops the attribute model", "drops the attribute maker"]


@pytest.mark.parametrize("name", sorted(CONTRACTS))
def test_claims_of_a_contract_can_be_told_apart_and_copied_into_a_script(name: str) -> None:
    made = list(claims_of(CONTRACTS[name]))
    assert len({item.claim for item in made}) == len(made)
    for item in made:
        assert item.source
        found: Any = item.violation
        if isinstance(found, functools.partial):
            assert not found.args
            assert all(ast.literal_eval(repr(value)) == value for value in found.keywords.values())
            found = found.func
        file = Path(inspect.getsourcefile(inspect.unwrap(found)) or "").relative_to(ROOT)
        assert file.parts[:3] == ("relaxkit", "passes", "claims")
        assert getattr(inspect.getmodule(found), found.__name__) is found


def defined(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


@pytest.mark.parametrize(
    "file", sorted((ROOT / "relaxkit" / "passes" / "claims").glob("*.py")), ids=lambda file: file.stem
)
def test_no_name_is_defined_twice_in_what_one_script_is_made_of(file: Path) -> None:
    """A script may have the pieces of all oracles and of code generators, and the file of one postcondition."""
    count = Counter(name for path in {*PIECES, *EXTERNAL_PIECES, *with_imported(file)} for name in defined(ROOT / path))
    assert [name for name, times in count.items() if times > 1] == []


def test_rows_of_the_high_level_passes_claim_something() -> None:
    from relaxkit.passes.contracts.algebra import ROWS as ALGEBRA
    from relaxkit.passes.contracts.clean import ROWS as CLEAN
    from relaxkit.passes.contracts.params import ROWS as PARAMS
    from relaxkit.passes.contracts.rewrite import ROWS as REWRITE

    silent = [row.name for table in (CLEAN, PARAMS, ALGEBRA, REWRITE) for row in table if not stated_claims(row)]
    assert silent == []
