"""The locality oracle: variations that must not matter, and what is made of the functions left alone."""

from __future__ import annotations

import dataclasses
from typing import Any

import buggy_passes as buggy
import numpy as np
import pytest
import sample_modules as samples
import tvm
import tvm_ffi
from structural import Say
from tvm import relax

from oracles.core.module_facts import complaint
from oracles.core.subject import Subject
from oracles.core.verdict import Outcome, Verdict
from oracles.metamorphic.locality_compare import differing, reached
from oracles.metamorphic.locality_variation import BUILDERS, Change, draw, prepared
from oracles.metamorphic.relations import RELATIONS
from oracles.metamorphic.unrelated import unrelated_twin
from relaxkit.ir.edits import functions_of, joined, renamed, reordered, without
from relaxkit.passes.contract import Locality, OracleName, Refusal, default_contract
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.pass_ref import PassRef

LOCALITY = OracleName.LOCALITY
SEEDS = range(20)


def promising(reach: Locality = Locality.FUNCTION, **fields: Any) -> Any:
    return dataclasses.replace(default_contract("sample"), locality=reach, **fields)


def verdicts(module: Any, ref: PassRef, seeds: Any = SEEDS) -> list[Verdict]:
    return [RELATIONS[OracleName.LOCALITY].judge(Subject(module, [ref], input_seed=seed)) for seed in seeds]


def outcomes(module: Any, ref: PassRef) -> set[Outcome]:
    return {verdict.outcome for verdict in verdicts(module, ref)}


def drawn(module: Any, seed: int, reach: Locality = Locality.FUNCTION) -> Any:
    return draw(Subject(module, [buggy.identity()], input_seed=seed), reach)


def numbers(contract: Any) -> PassRef:
    """Gives each Relax function its place in the module as an attribute."""

    def run(module: Any) -> Any:
        result = module.clone()
        for number, (var, function) in enumerate(module.functions.items()):
            if isinstance(function, relax.Function):
                result.update_func(var, function.with_attr("number", number))
        return result

    return buggy.make("numbers", run, contract)


def test_a_constant_that_json_does_not_carry_is_a_counted_skip() -> None:
    """It was an error of the harness."""

    def run(module: Any) -> Any:
        builder = relax.BlockBuilder()
        for number, var in enumerate(module.functions):
            with builder.function(var.name_hint, [], attrs={"number": number}):
                builder.emit_func_output(relax.const(np.zeros((2, 0), "float32")))
        return builder.finalize()

    empties = buggy.make("empties", run, promising(keeps_public_signatures=False))
    found = {(each.outcome, each.reason) for each in verdicts(samples.two_functions(), empties)}
    assert (Outcome.SKIP, "output holds objects compared by identity") in found
    assert Outcome.FAIL not in {outcome for outcome, _ in found}


def fails_when(condition: Any, contract: Any, error: Exception | None = None) -> PassRef:
    def run(module: Any) -> Any:
        if condition(module):
            raise error or RuntimeError("beyond me")
        return module

    return buggy.make("fails_when", run, contract)


def test_a_pass_that_counts_functions_fails() -> None:
    found = [verdict for verdict in verdicts(samples.private_calls(), numbers(promising())) if verdict.evidence]
    assert {verdict.outcome for verdict in found} == {Outcome.FAIL}
    assert {verdict.evidence.message for verdict in found if verdict.evidence} <= {
        "another result beside other functions",
        "another result in another order of functions",
    }
    assert all(verdict.evidence and verdict.evidence.kind == "not-local" for verdict in found)


@pytest.mark.parametrize("reach", [Locality.MODULE, Locality.UNKNOWN])
def test_nothing_is_compared_that_is_not_promised(reach: Locality) -> None:
    assert Outcome.FAIL not in outcomes(samples.private_calls(), numbers(promising(reach)))


def test_a_users_pass_without_contract_is_not_judged(say: Say) -> None:
    verdict = say(samples.private_calls(), buggy.identity())[LOCALITY]
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "locality is not promised")


def test_a_pass_that_changes_nothing_passes() -> None:
    clean = buggy.make("clean", lambda module: module, promising())
    assert outcomes(samples.private_calls(), clean) == {Outcome.PASS}


def test_names_of_private_functions_are_the_passes_own() -> None:
    def run(module: Any) -> Any:  # unique names over the module
        private = [name for name, f in functions_of(module).items() if "global_symbol" not in (f.attrs or {})]
        return renamed(module, {name: f"p{number}" for number, name in enumerate(private)})

    assert outcomes(samples.private_chain(), buggy.make("names", run, promising())) == {Outcome.PASS}


@pytest.mark.parametrize("reach", [Locality.FUNCTION, Locality.MODULE])
def test_an_error_that_an_unrelated_function_causes_fails(reach: Locality) -> None:
    def strangers(module: Any) -> bool:
        return any(name.startswith("unrelated") for name in functions_of(module))

    alone_too = verdicts(samples.dataflow(), fails_when(strangers, promising(reach)))
    assert {verdict.reason for verdict in alone_too} == {"the pass raises on the added function alone"}
    together = verdicts(
        samples.dataflow(),
        fails_when(lambda module: strangers(module) and "main" in functions_of(module), promising(reach)),
    )
    assert {verdict.evidence.kind for verdict in together if verdict.evidence} == {"RuntimeError"}
    assert {verdict.outcome for verdict in together} == {Outcome.FAIL}


def test_a_documented_refusal_of_the_varied_module_rejects() -> None:
    contract = promising(refusals=(Refusal("RuntimeError", "beyond me", "too many", "the test"),))
    ref = fails_when(lambda module: len(module.functions) > 1, contract)
    said = verdicts(samples.dataflow(), ref)[0]
    assert (said.outcome, said.reason) == (Outcome.REJECT, "varied module: too many")


def test_an_error_that_an_unrelated_function_heals_fails() -> None:
    ref = fails_when(lambda module: len(module.functions) == 1, promising())
    said = verdicts(samples.dataflow(), ref)[0]
    assert said.outcome is Outcome.FAIL
    assert said.evidence is not None
    assert said.evidence.kind == "healed"


@pytest.mark.parametrize("heals", [True, False])
def test_an_error_behind_a_step_that_differs_is_not_blamed_on_the_step_that_raises(heals: bool) -> None:
    def marked(module: Any) -> bool:
        return any("number" in (f.attrs or {}) for f in functions_of(module).values())

    def first(module: Any) -> Any:  # marks functions where there are several, or where there is one
        return numbers(promising()).build()(module) if (len(module.functions) > 1) is heals else module

    raising = fails_when(lambda module: marked(module) is not heals, promising())
    passes = [buggy.make("first", first, promising()), raising]
    said = RELATIONS[OracleName.LOCALITY].judge(Subject(samples.dataflow(), passes, input_seed=0))
    assert (said.outcome, said.reason) == (Outcome.SKIP, "a pass before the one that raises makes another module")
    clean = buggy.make("clean", lambda module: module, promising())
    alone = fails_when(
        lambda module: "main" in functions_of(module) and (len(module.functions) > 1) is not heals, promising()
    )
    assert (
        RELATIONS[OracleName.LOCALITY].judge(Subject(samples.dataflow(), [clean, alone], input_seed=0)).outcome
        is Outcome.FAIL
    )


def test_the_first_step_that_differs_is_to_blame() -> None:
    clean = buggy.make("clean", lambda module: module, promising())
    for seed in SEEDS:
        subject = Subject(samples.private_calls(), [clean, numbers(promising()), clean], input_seed=seed)
        verdict = RELATIONS[OracleName.LOCALITY].judge(subject)
        assert verdict.outcome is Outcome.PASS or verdict.culprit == "numbers"


def test_what_a_module_wide_step_did_is_not_blamed_on_the_next() -> None:
    clean = buggy.make("clean", lambda module: module, promising())
    for seed in SEEDS:
        passes = [numbers(promising(Locality.MODULE)), clean]
        assert (
            RELATIONS[OracleName.LOCALITY].judge(Subject(samples.private_calls(), passes, input_seed=seed)).outcome
            is not Outcome.FAIL
        )


@pytest.mark.parametrize("builder", sorted(BUILDERS))
def test_unrelated_functions_are_well_formed_and_only_call_each_other(builder: str) -> None:
    module = BUILDERS[builder]()
    assert complaint(module) is None
    assert all(name.startswith("unrelated") for name in functions_of(module))


@pytest.mark.parametrize("builder", sorted(BUILDERS))
def test_unrelated_functions_can_be_prepared(builder: str) -> None:
    names = CONTRACTS["VMShapeLower"].prepare
    module, again = prepared(builder, names), prepared(builder, names)
    assert module is not None
    assert all(name.startswith("unrelated") for name in functions_of(module))
    assert not module.same_as(again)  # a pass that writes into its input must not reach the next subject's
    assert tvm_ffi.structural_equal(module, again)


@pytest.mark.parametrize("legalize", [False, True])
def test_a_twin_is_a_copy_that_shares_nothing(legalize: bool) -> None:
    module = samples.private_chain()
    twin = unrelated_twin(module, "main", legalize)
    both = joined(module, twin, True)
    assert complaint(both) is None
    assert twin["unrelated_main"].attrs["global_symbol"] == "unrelated_main"
    assert all(name.startswith("unrelated_") for name in functions_of(twin))
    assert any(isinstance(function, tvm.tirx.PrimFunc) for function in twin.functions.values()) == legalize
    assert set(reached(functions_of(both), "unrelated_main")) == set(functions_of(twin))


def test_a_private_function_sometimes_has_the_name_that_the_pass_would_give() -> None:
    ref = PassRef("LegalizeOps", "relax.transform.LegalizeOps()")
    taken = set()
    for seed in range(100):
        variation = draw(Subject(samples.private_calls(), [ref], input_seed=seed), Locality.FUNCTION)
        assert variation is not None
        if {"add", "tir_exp"} & set(functions_of(variation.module)):
            taken.add(variation.change)
            assert complaint(variation.module) is None
    assert taken == {Change.ADDED, Change.RENAMED}


def test_variations_are_well_formed_and_leave_something_to_compare() -> None:
    seen = set()
    for make in (samples.private_calls, samples.private_chain, samples.kernels, samples.dataflow):
        for seed in range(60):
            variation = drawn(make(), seed)
            seen.add(variation.change)
            assert variation.roots
            assert complaint(variation.module) is None, (make, seed, variation.call)
    assert seen == set(Change) - {Change.REMOVED}  # these modules have one public function each


def two_public(shared: bool) -> Any:
    """Two public functions, which call one private function or none."""
    module = samples.private_calls()
    var, main = next((var, f) for var, f in module.functions.items() if var.name_hint == "main")
    other = samples.dataflow()["main"] if not shared else relax.utils.copy_with_new_vars(main)
    functions = {**dict(module.functions.items()), tvm.ir.GlobalVar("other"): other.with_attr("global_symbol", "other")}
    assert var in functions
    return tvm.IRModule(functions)


@pytest.mark.parametrize(
    ("reach", "shared", "compared"),
    [
        (Locality.FUNCTION, False, True),
        (Locality.FUNCTION, True, True),
        (Locality.CALLERS, False, True),
        (Locality.CALLERS, True, False),
    ],
)
def test_what_a_removed_function_called_is_related_where_callers_matter(
    reach: Locality, shared: bool, compared: bool
) -> None:
    changes = {drawn(two_public(shared), seed, reach).change for seed in range(60)}
    assert (Change.REMOVED in changes) == compared


def test_names_that_a_pass_asks_for_stay() -> None:
    ref = PassRef("DeadCodeElimination", 'relax.transform.DeadCodeElimination(["helper"])')
    for seed in range(40):
        variation = draw(Subject(two_public(False), [ref], input_seed=seed), Locality.FUNCTION)
        assert variation is not None
        assert "helper" in functions_of(variation.module)


def test_the_seed_alone_decides_how_a_smaller_module_is_varied() -> None:
    for seed in range(40):
        large, small = drawn(samples.private_chain(4), seed), drawn(samples.private_chain(1), seed)
        assert (large.change, large.builder) == (small.change, small.builder)


def test_order_of_functions_is_that_of_insertion_for_passes() -> None:
    module = samples.private_chain()
    names = list(functions_of(module))
    turned = reordered(module, names[::-1])
    assert list(functions_of(turned)) == names[::-1]
    seen = list(functions_of(relax.transform.ToNonDataflow()(turned)))
    assert [name for name in seen if name in names] == names[::-1]


def test_renamed_module_is_another_object_with_other_names() -> None:
    module = samples.private_calls()
    copy = renamed(module, {"helper": "zz_helper"})
    assert set(functions_of(copy)) == {"main", "zz_helper"}
    assert complaint(copy) is None
    assert tvm_ffi.structural_equal(renamed(copy, {"zz_helper": "helper"}), module)


def test_what_a_function_reaches_is_in_order_of_first_use() -> None:
    assert reached(functions_of(samples.private_chain(3)), "main") == ["main", "f0", "f1", "f2"]


def test_functions_are_compared_up_to_private_names() -> None:
    module = samples.private_chain()
    other = renamed(module, {"f0": "f1", "f1": "f0"})
    roots, fixed = ("main",), frozenset({"main"})
    assert differing(module, module, other, roots, fixed, True) is None
    found = differing(module, module, without(module, ["main"]), roots, fixed, True)
    assert found is not None
    changed = buggy.marks().given(module)
    found = differing(module, module, changed, roots, fixed, True)
    assert found is not None
    assert not tvm_ffi.structural_equal(*found)


def test_public_functions_that_a_pass_makes_are_compared() -> None:
    module = samples.dataflow()

    def beside(value: int) -> Any:
        made = samples.dataflow()["main"].with_attr("global_symbol", "made").with_attr("value", value)
        return joined(module, tvm.IRModule({"made": made}), False)

    arguments = (("main",), frozenset({"main"}))
    assert differing(module, beside(1), beside(1), *arguments, True) is None
    assert differing(module, beside(1), beside(2), *arguments, True) is not None
    assert differing(module, beside(1), beside(2), *arguments, False) is None


def test_symbols_of_private_functions_are_names_only() -> None:
    module = samples.private_calls()
    attach = relax.transform.AttachGlobalSymbol()
    outputs = attach(module), attach(renamed(module, {"helper": "a_helper"}))
    assert differing(module, *outputs, ("main",), frozenset({"main"}), False) is None


def test_only_the_prepared_module_is_varied() -> None:
    ref = PassRef("FuseOps", "relax.transform.FuseOps()")
    drawn = [draw(Subject(samples.dataflow(), [ref], input_seed=seed), Locality.FUNCTION) for seed in range(9)]
    added = [variation.unrelated for variation in drawn if variation is not None and variation.unrelated is not None]
    assert added
    for unrelated in added:
        kernels = [f for f in unrelated.functions.values() if isinstance(f, tvm.tirx.PrimFunc)]
        assert kernels
        assert all("op_pattern" in kernel.attrs for kernel in kernels)


def test_merge_composite_functions_dies_beside_another_function() -> None:
    """Known: https://github.com/apache/tvm/issues/17210; documented nowhere, and not in the contract."""
    bb = relax.BlockBuilder()
    x = samples.var("x")
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.exp(x))
        bb.emit_func_output(out)
    ref = PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
    found = verdicts(bb.finalize(), ref)[0]
    assert found.outcome is Outcome.FAIL
    assert found.evidence is not None
    assert "could not be found in any group" in found.evidence.message
