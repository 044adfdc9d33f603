"""The environment oracle: what must not matter to a pass, and what its contract says may."""

from __future__ import annotations

import threading
from typing import Any

import buggy_passes as buggy
import pytest
import sample_modules as samples
import tvm
from sample_arguments import expressions
from structural import Say
from tvm import relax
from tvm.ir.instrument import pass_instrument

from oracles.core.subject import COSTLY_REPEATS, REPEATS, Subject
from oracles.core.verdict import Outcome, Verdict
from oracles.metamorphic import environment
from oracles.metamorphic.circumstances import other_module, other_module_after, run_under
from oracles.metamorphic.relations import RELATIONS
from relaxkit.passes.contract import (
    LEVELS,
    TARGETS,
    Circumstance,
    Contract,
    Dependence,
    Idempotence,
    OracleName,
)
from relaxkit.passes.contracts import CONTRACTS, contract_for
from relaxkit.passes.contracts.shared import PARTS_OF_LEVEL_ONE
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plan import preparation, preparing

ENVIRONMENT = OracleName.ENVIRONMENT
CANONICALIZE = PassRef("CanonicalizeBindings", "relax.transform.CanonicalizeBindings()")
INDEPENDENT = Contract("marks", idempotence=Idempotence.UNKNOWN)


@pytest.fixture
def under(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Verdict of the oracle with one circumstance for all passes."""

    def run(how: Circumstance, module: Any, *passes: PassRef, **options: Any) -> Verdict:
        monkeypatch.setattr(environment, "circumstance", lambda seed, ref, contract: how)
        return RELATIONS[ENVIRONMENT].judge(Subject(module, passes, **options))

    return run


def seen_by_a_pass(how: Circumstance) -> dict[str, Any]:
    """What a pass that is run under a circumstance finds around it."""
    found: dict[str, Any] = {}

    def look(module: Any) -> Any:
        context = tvm.transform.PassContext.current()
        target = tvm.target.Target.current()
        found.update(
            level=int(context.opt_level),
            instruments=[str(each.name) for each in context.instruments],
            immutable="testing.immutable_module" in context.config,
            target=None if target is None else str(target.kind.name),
            main_thread=threading.current_thread() is threading.main_thread(),
            runs=found.get("runs", 0) + 1,
        )
        return module

    probe = buggy.make("probe", look).build()
    run_under(how.value, probe, lambda: probe, other_module, samples.dataflow())
    return found


PLAIN = {"level": 2, "instruments": [], "immutable": False, "target": "llvm", "main_thread": True, "runs": 1}


@pytest.mark.parametrize(
    ("how", "differs"),
    [
        (Circumstance.INSTRUMENT, {"instruments": ["Watching"]}),
        (Circumstance.TIMING, {"instruments": ["PassTimingInstrument"], "main_thread": False}),
        (Circumstance.IMMUTABLE, {"immutable": True}),
        (Circumstance.LEVEL_0, {"level": 0}),
        (Circumstance.LEVEL_1, {"level": 1}),
        (Circumstance.LEVEL_3, {"level": 3}),
        (Circumstance.NO_TARGET, {"target": None}),
        (Circumstance.OTHER_TARGET, {"target": "c"}),
        (Circumstance.OTHER_PASS, {}),
        (Circumstance.FAILED_PASS, {}),
        (Circumstance.OTHER_MODULE, {"runs": 2}),
        (Circumstance.REBUILT, {}),
        (Circumstance.THREAD, {"main_thread": False}),
    ],
)
def test_circumstances_are_what_they_are_called(how: Circumstance, differs: dict[str, Any]) -> None:
    assert seen_by_a_pass(how) == PLAIN | differs


def test_another_object_is_another_object() -> None:
    old, new = buggy.marks(lambda: 1).build(), buggy.marks(lambda: 2).build()
    given = run_under(Circumstance.REBUILT.value, old, lambda: new, other_module, samples.dataflow())
    assert given["main"].attrs["mark"] == 2


@pytest.mark.parametrize("how", [how for how in Circumstance if how is not Circumstance.LEVEL_0])
@pytest.mark.parametrize(
    "ref", [CANONICALIZE, PassRef("LegalizeOps", "relax.transform.LegalizeOps()")], ids=lambda ref: ref.name
)
def test_passes_of_tvm_do_not_look_around(under: Any, how: Circumstance, ref: PassRef) -> None:
    verdict = under(how, samples.duplicates(), ref)
    assert (verdict.outcome, verdict.reason) == (Outcome.PASS, "")


def levelled(contract: Contract | None = INDEPENDENT) -> PassRef:
    return buggy.marks(lambda: int(tvm.transform.PassContext.current().opt_level), contract)


def test_a_pass_that_looks_at_the_level_fails(under: Any) -> None:
    verdict = under(Circumstance.LEVEL_3, samples.dataflow(), levelled())
    assert verdict.outcome is Outcome.FAIL
    assert verdict.culprit == "marks"
    assert verdict.evidence.kind == "not-equal"
    assert verdict.evidence.message == "another module at opt_level three"
    assert under(Circumstance.THREAD, samples.dataflow(), levelled()).outcome is Outcome.PASS


def test_in_a_pipeline_the_step_that_differs_is_to_blame(under: Any) -> None:
    verdict = under(Circumstance.LEVEL_3, samples.dataflow(), CANONICALIZE, levelled(), CANONICALIZE)
    assert (verdict.outcome, verdict.culprit) == (Outcome.FAIL, "marks")


def test_an_error_that_only_one_run_raises_fails(under: Any) -> None:
    def run(module: Any) -> Any:
        if tvm.target.Target.current() is None:
            raise RuntimeError("no target here")
        return module

    verdict = under(Circumstance.NO_TARGET, samples.dataflow(), buggy.make("picky", run))
    assert verdict.outcome is Outcome.FAIL
    assert (verdict.evidence.kind, verdict.evidence.message) == ("RuntimeError", "outside of a target: no target here")
    both = under(Circumstance.THREAD, samples.dataflow(), buggy.raises(RuntimeError("always")))
    assert (both.outcome, both.reason) == (Outcome.SKIP, "both runs raise")


def test_which_error_is_raised_is_not_compared(under: Any) -> None:
    """4a3d124ee1: FoldConstant came to one illegal operator or to another, as its script said: both runs raise."""

    def run(module: Any) -> Any:
        raise RuntimeError("no target here" if tvm.target.Target.current() is None else "here neither")

    verdict = under(Circumstance.NO_TARGET, samples.dataflow(), buggy.make("picky", run))
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, "both runs raise")


def test_a_costly_pass_is_repeated_less_often_before_a_difference_counts(under: Any) -> None:
    def runs(costly: bool) -> int:
        found: list[bool] = []

        def run(module: Any) -> Any:
            found.append(True)
            if tvm.target.Target.current() is None:
                raise RuntimeError("no target here")
            return module

        contract = Contract("slow", idempotence=Idempotence.UNKNOWN, costly=costly)
        verdict = under(Circumstance.NO_TARGET, samples.dataflow(), buggy.make("slow", run, contract))
        assert verdict.outcome is Outcome.FAIL
        return len(found)

    # A costly pass is run once more before, for several oracles in one.
    assert runs(costly=False) - runs(costly=True) == REPEATS - COSTLY_REPEATS - 1


def test_what_other_oracles_see_is_left_to_them(under: Any) -> None:
    random = under(Circumstance.LEVEL_3, samples.dataflow(), buggy.counts())
    assert (random.outcome, random.reason) == (Outcome.SKIP, "pass is not deterministic")
    for how in (Circumstance.IMMUTABLE, Circumstance.LEVEL_3):
        writing = under(how, samples.dataflow(), buggy.edits_input())
        assert (writing.outcome, writing.reason) == (Outcome.SKIP, "input was modified")


def test_a_part_that_writes_into_its_input_shows_as_immutable_module(under: Any) -> None:
    copies = buggy.make("copies", lambda module: module.clone()).build()
    pair = tvm.transform.Sequential([copies, buggy.edits_input().build()], name="pair")
    verdict = under(Circumstance.IMMUTABLE, samples.dataflow(), buggy.GivenPass("pair", "<pair>", pair))
    assert verdict.outcome is Outcome.FAIL
    assert "Immutable module has been modified in pass: edits_input" in verdict.evidence.message


def test_circumstances_are_drawn_by_seed_and_name_alone() -> None:
    contract = Contract("Normalize", environment=(Dependence(LEVELS, "the test"), Dependence(TARGETS, "the test")))
    ref = PassRef("Normalize", "relax.transform.Normalize()")
    drawn = [environment.circumstance(seed, ref, contract) for seed in range(200)]
    assert drawn == [environment.circumstance(seed, ref, contract) for seed in range(200)]
    assert set(drawn) == set(Circumstance) - LEVELS - TARGETS
    assert {environment.circumstance(seed, buggy.identity(), contract) for seed in range(200)} == set(drawn) - {
        Circumstance.REBUILT
    }
    everything = Contract("Normalize", environment=(Dependence(frozenset(Circumstance), "the test"),))
    assert environment.circumstance(0, ref, everything) is None


def test_a_users_pass_may_look_at_level_and_target() -> None:
    excused = contract_for(buggy.identity()).environment
    assert frozenset[Circumstance]().union(*(each.on for each in excused)) == LEVELS | TARGETS


def test_fuse_ops_takes_its_level_from_the_context_unless_it_is_given_one(say: Say, under: Any) -> None:
    own = PassRef("FuseOps", "relax.transform.FuseOps(fuse_opt_level=2)")
    context = PassRef("FuseOps", "relax.transform.FuseOps()")
    assert contract_for(own).environment == ()
    assert under(Circumstance.LEVEL_0, samples.duplicates(), own).outcome is Outcome.PASS
    assert LEVELS in {each.on for each in contract_for(context).environment}
    assert under(Circumstance.LEVEL_0, samples.duplicates(), context).outcome is Outcome.FAIL


@pass_instrument
class Parts:
    """Records whether a pass ran inside of another and was of a level above zero."""

    def __init__(self) -> None:
        self.depth = 0
        self.above = False

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.above |= self.depth > 0 and int(info.opt_level) > 0
        self.depth += 1

    def run_after_pass(self, module: Any, info: Any) -> None:
        self.depth -= 1


def test_the_other_module_is_well_formed_behind_any_passes() -> None:
    """VMShapeLower died of the one that UpdateParamType leaves, and the pass under judgement had the blame."""

    def without_helper(module: Any) -> Any:
        return tvm.IRModule({var: each for var, each in module.functions_items() if var.name_hint != "helper"})

    loses = buggy.make("loses", without_helper).build()
    given = other_module_after([loses, buggy.marks(lambda: 1).build(), loses])
    assert relax.analysis.check_well_formed(given)
    assert given["helper"].attrs["mark"] == given["main"].attrs["mark"] == 1


LEVELLED = [name for name, row in CONTRACTS.items() if PARTS_OF_LEVEL_ONE[0] in row.environment]


@pytest.mark.parametrize("name", LEVELLED)
def test_rows_that_excuse_level_zero_have_parts_above_it(name: str) -> None:
    """The source of ``PARTS_OF_LEVEL_ONE``, as a fact of the installed release."""
    module = samples.dataflow()  # without calls, on which AnnotateCustomMemoryScope fails
    with tvm.target.Target("llvm"):
        for before in preparation(CONTRACTS[name], module):
            module = preparing(before).build()(module)
        parts = Parts()
        with tvm.transform.PassContext(instruments=[parts]):
            PassRef(name, expressions(name)[0]).build()(module)
    assert parts.above


def test_the_oracle_is_asked(say: Say) -> None:
    assert say(samples.dataflow(), CANONICALIZE)[ENVIRONMENT].outcome is Outcome.PASS


@pytest.mark.parametrize(("ordered", "outcome"), [(False, Outcome.FAIL), (True, Outcome.SKIP)])
def test_an_order_by_addresses_is_no_evidence(under: Any, ordered: bool, outcome: Outcome) -> None:
    """VMShapeLower writes dims in the order of addresses; four plain runs had agreed, and one behind them had not."""

    def marked(module: Any) -> Any:
        immutable = "testing.immutable_module" in tvm.transform.PassContext.current().config
        return module.with_attr("seen", 1) if immutable else module

    contract = Contract("marks", idempotence=Idempotence.UNKNOWN, address_ordered=ordered)
    verdict = under(Circumstance.IMMUTABLE, samples.dataflow(), buggy.make("marks", marked), contracts=[contract])
    assert verdict.outcome is outcome
    assert verdict.reason == ("order follows addresses" if ordered else "")
