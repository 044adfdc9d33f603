"""How grave a finding is: what rare things it needs, asked on cases of the corpus in an isolated process."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.assessment import Assessment, Blame, EvidenceClass, Rarity, Severity, assess
from fuzzer.findings.family import UNKNOWN
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.minimizer.reductions.values import constants_in
from fuzzer.repro.pristine import check_pristine
from fuzzer.repro.short.render import short_forms
from fuzzer.triage.questions import EDITS, broken_where_used, rare, wrong
from fuzzer.triage.weigh import accused, weigh
from fuzzer.worker.child import Elsewhere
from fuzzer.worker.worker import IsolatedWorker
from oracles.core.verdict import Death, Details, Evidence, Outcome, Verdict
from relaxkit.ir.domain import ORDINARY
from relaxkit.ir.sketch.emit import emit
from relaxkit.ir.sketch.params import add_param
from relaxkit.ir.sketch.sketch import take
from relaxkit.passes.contract import Harm, OracleName
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.shipped import in_default_pipeline, in_shipped_order

HARD, DOCUMENTED, OURS, _ = EvidenceClass
S1, S2, S3, S4, S5 = Severity
WRONG = "legalize-layer-norm-axes-order"


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


def case_of(slug: str) -> tuple[Case, OracleName]:
    (known,) = load([slug])
    return Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed), known.oracle


def weighed(worker: IsolatedWorker, case: Case, oracle: OracleName, first: Case | None = None) -> Assessment:
    judge = Judge(worker, (oracle,))
    verdict = judge.verdicts(case)[0]
    return weigh(judge, case, (first or case, verdict), verdict, accused(judge, case, verdict, UNKNOWN))[0]


def with_parameter(case: Case, ty: Any) -> Case:
    """Give ``main`` a parameter that nothing reads."""
    sketch = take(tvm.ir.load_json(case.module_json))
    add_param(sketch, "main", tvm.relax.Var("unread", ty))
    return replace(case, module_json=str(tvm.ir.save_json(emit(sketch))))


@pytest.mark.parametrize(
    ("slug", "expected", "reason"),
    [
        (WRONG, (DOCUMENTED, S1), ""),
        ("static-plan-inplace-packed", (DOCUMENTED, S1), ""),
        ("legalize-not-equal-nan", (DOCUMENTED, S2), "needs NaN, infinities, denormals or the greatest floats"),
        ("legalize-sum-empty-symbolic", (DOCUMENTED, S2), "needs dims of 0"),
        ("legalize-astype-float8-zero", (DOCUMENTED, S2), "needs float8"),
        ("merge-composite-if", (HARD, S3), ""),
        ("lazy-get-input-caller", (HARD, S4), "needs a public function that is called by another"),
        ("lazy-set-output-force-pure", (HARD, S4), "needs forced purity"),
        ("run-codegen-recursion", (HARD, S4), "needs recursion"),
        ("merge-composite-closure", (HARD, S4), "needs local functions"),
        ("script-boxed-attribute", (HARD, S5), ""),
        ("inplace-calls-hint", (HARD, S2), "needs device hints"),
        ("remove-unused-parameters-made-closure", (HARD, S4), "needs closures"),
        ("compute-prim-value-name-elsewhere", (HARD, S4), "needs a function whose name the pass also generates"),
        ("merge-composite-beside-another", (HARD, S3), ""),
        ("remove-unused-parameters-elsewhere", (OURS, S5), ""),
        ("rewrite-dataflow-reshape-branch", (OURS, S5), ""),
    ],
)
def test_a_case_of_each_severity(
    worker: IsolatedWorker, slug: str, expected: tuple[EvidenceClass, Severity], reason: str
) -> None:
    found = weighed(worker, *case_of(slug))
    assert (found.evidence, found.severity) == expected
    assert found.reason.startswith(reason)
    assert bool(reason) == found.reason.startswith("needs")
    assert found.final


@I.ir_module
class Normalised:
    @R.function
    def main(x: R.Tensor(("m", 2, 2), "float32"), gamma: R.Tensor(("m",), "float32")) -> R.Tensor(
        ("m", 2, 2), "float32"
    ):
        with R.dataflow():
            lv = R.nn.layer_norm(x, gamma, gamma, axes=[0], epsilon=0.0625)
            R.output(lv)
        return lv


def test_an_ill_formed_module_that_builds_and_gives_something_else_is_silently_wrong(worker: IsolatedWorker) -> None:
    found = weighed(worker, *case_of("expand-matmul-of-sum-out-dtype"))
    assert (found.severity, found.reason) == (S1, "results are wrong, too (wrong-dtype)")


@I.ir_module
class Taken:
    @R.function
    def main(x: R.Tensor((2,), "float32"), at: R.Tensor((2,), "int64")) -> R.Tensor((2,), "float32"):
        return R.take(x, at, axis=0, mode="fast")


_CLIPS = """
import tvm
from tvm import relax


@relax.expr_functor.mutator
class _Clips(relax.PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if call.op != tvm.ir.Op.get("relax.take"):
            return call
        return relax.op.take(*call.args, axis=0, mode="clip")


@relax.transform.function_pass(opt_level=0, name="Clips")
class Clips:
    def transform_function(self, function, module, context):
        return _Clips().visit_expr(function)
"""


@pytest.mark.parametrize(("mode", "differs"), [("fast", False), ("wrap", True)])
def test_results_are_wrong_only_where_the_program_has_documented_ones(mode: str, differs: bool, tmp_path: Path) -> None:
    """Indices out of range are undefined in one mode, and wrapped around in the other."""
    path = tmp_path / "clips.py"
    path.write_text(_CLIPS)
    module = tvm.script.from_source(Taken.script().replace('mode="fast"', f'mode="{mode}"'))
    case = Case(str(tvm.ir.save_json(module)), (PassRef("Clips", f"user:{path}:Clips"),), 0)
    emptied = Case(str(tvm.ir.save_json(tvm.IRModule({}))), case.passes, 0)  # has no operand that was guarded
    assert (wrong(case, emptied, "Clips") is not None) is differs


@I.ir_module
class Attended:
    @R.function(private=True)
    def main(x: R.Tensor((1, 1, 1, 1), "float32")) -> R.Tensor((1, 1, 1, 1), "float32"):
        with R.dataflow():
            lv = R.nn.attention(x, x, x, scale=T.float32(0.125))
            R.output(lv)
        return lv


@I.ir_module
class Distributed:
    @R.function
    def main(
        x: R.Tensor((1, 1), "float32"), x1: R.Tensor((2, 1), "float32"), x2: R.Tensor((1,), "float32")
    ) -> R.Tensor((2, 1), "float32"):
        lv = R.add(x2, x)
        return R.matmul(x1, lv)


@I.ir_module
class Raising:
    @R.function
    def main(
        x: R.Tensor((3, 2), "float32"), x1: R.Tensor((2,), "float32"), x2: R.Tensor((2, 2), "float32")
    ) -> R.Tensor((3, 2), "float32"):
        lv = R.add(x2, x1)
        return R.matmul(x, lv)


@pytest.mark.parametrize(
    ("module", "name", "oracle"),
    [
        (Raising, "ExpandMatmulOfSum", OracleName.CRASH),
        (Attended, "ToMixedPrecision", OracleName.POSTCONDITION),
        (Distributed, "ExpandMatmulOfSum", OracleName.WELL_FORMED),
    ],
)
def test_what_makes_results_wrong_is_shown_by_other_values(
    worker: IsolatedWorker, module: Any, name: str, oracle: OracleName
) -> None:
    """Over dims of 1 a softmax gives 1 whatever its scale, and what is broadcast has only another shape, or no type."""
    case = Case(str(tvm.ir.save_json(module)), (PassRef(name, f"relax.transform.{name}()"),), 0)
    judge = Judge(worker, (oracle,))
    (verdict,) = judge.verdicts(case)
    found, ((shown, wrong),) = weigh(judge, case, (case, verdict), verdict, accused(judge, case, verdict, UNKNOWN))
    assert (found.severity, wrong.shown.kind, shown.input_seed in ORDINARY) == (S1, "wrong-value", True)
    forms = short_forms(shown, wrong, found)
    assert check_pristine(forms.scripts[0].text, forms.scripts[0].ending).confirmed


@pytest.mark.parametrize("seed", range(4))
def test_numbers_for_symbols_show_what_is_wrong_behind_a_module_that_does_not_build(
    worker: IsolatedWorker, seed: int
) -> None:
    """gamma was put on the wrong axis, which the report told as a multiplication that does not build."""
    passes = (PassRef("DecomposeOpsForTraining", "relax.transform.DecomposeOpsForTraining()"),)
    case = Case(str(tvm.ir.save_json(Normalised)), passes, seed)
    found = weighed(worker, case, OracleName.NUMERIC)
    assert found.severity is S1
    assert "results are wrong, too (wrong-" in found.reason


@pytest.mark.parametrize("ty", [R.Tensor((2,), "float8_e4m3fn"), R.Tensor((0, 2), "float32")])
def test_what_fails_without_something_rare_does_not_need_it(worker: IsolatedWorker, ty: Any) -> None:
    case, oracle = case_of(WRONG)
    odd = with_parameter(case, ty)
    found = Judge(worker, (oracle,)).ask(rare, odd)
    assert found in ({Rarity.FLOAT8}, {Rarity.EMPTY})
    assert weighed(worker, odd, oracle).severity is S1
    verdict, others = Judge(worker, (oracle,)).verdicts(odd)[0], Judge(worker, (OracleName.MUTATION,))
    again, _ = weigh(others, odd, (odd, verdict), verdict, Blame(verdict.culprit))
    assert again.severity is S1, "by the oracle of this failure, whichever judged before"


@pytest.mark.parametrize(
    ("value", "special"), [(np.nan, True), (-np.inf, True), (1e-40, True), (0.0, False), (1.5, False)]
)
def test_constants_that_are_no_ordinary_numbers_are_seen_and_replaced(
    worker: IsolatedWorker, value: float, special: bool
) -> None:
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(relax.op.abs(relax.const(np.full(2, value, "float32")))))
    case = Case(str(tvm.ir.save_json(builder.get())), (PassRef("Normalize", "relax.transform.Normalize()"),), 0)
    assert Judge(worker, ()).ask(rare, case) == ({Rarity.VALUES} if special else set())
    plain = EDITS[Rarity.VALUES](builder.get(), case)
    edited = replace(case, module_json=str(tvm.ir.save_json(plain)))
    assert Judge(worker, ()).ask(rare, edited) == set()
    ((_, constant),) = constants_in(take(plain))
    assert np.all(constant.value.numpy() == np.float32(1.0 if special else value))


@I.ir_module
class Taking:
    @R.function
    def main(
        f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")), x: R.Tensor((2,), "float32")
    ) -> R.Tensor((2,), "float32"):
        return f(x)


def test_a_parameter_that_is_a_function_is_given_a_closure(worker: IsolatedWorker) -> None:
    case = Case(str(tvm.ir.save_json(Taking)), (PassRef("Normalize", "relax.transform.Normalize()"),), 0)
    assert Judge(worker, ()).ask(rare, case) == {Rarity.CLOSURES}


class Deadly(Judge):
    """Its process dies when it runs the program."""

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        runs = isinstance(function, Elsewhere) and function.name == "wrong"
        return super().ask(signal.raise_signal, signal.SIGSEGV) if runs else super().ask(function, *arguments)


def test_a_program_that_dies_when_it_is_run_is_a_memory_error(worker: IsolatedWorker) -> None:
    case, oracle = case_of("expand-matmul-of-sum-out-dtype")
    judge = Deadly(worker, (oracle,))
    (found,) = judge.verdicts(case)
    weight, _ = weigh(judge, case, (case, found), found, accused(judge, case, found, UNKNOWN))
    assert weight.severity is S1
    assert weight.reason.startswith("the program crashes when it runs (signal 11")


@I.ir_module
class Scaled:
    @R.function
    def main(p3: R.Tensor((1,), "float32"), lv1: R.Tensor((1, 1), "float32")) -> R.Tensor((1, 1), "float32"):
        return R.nn.group_norm(lv1, p3, p3, num_groups=1, channel_axis=-1, axes=[0], scale=False)


def test_special_inputs_are_not_needed_where_ordinary_ones_show_it_in_more_elements(worker: IsolatedWorker) -> None:
    passes = (PassRef("LegalizeOps", "relax.transform.LegalizeOps()"),)
    case = Case(str(tvm.ir.save_json(Scaled)), passes, -1)
    (found,) = Judge(worker, (OracleName.NUMERIC,)).verdicts(case)
    assert found.evidence is not None
    assert found.evidence.details.variation, "a single element normalised is zero, whatever it is scaled by"
    assert weighed(worker, case, OracleName.NUMERIC).severity is S1


@I.ir_module
class Held:
    @R.function
    def main(p4: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        with R.dataflow():
            lv: R.Tensor((3,), "float32") = R.nn.relu(p4)
            lv1: R.Tuple(R.Tensor((3,), "float32")) = (lv,)
            lv2: R.Tensor((3,), "float32") = R.add(lv, lv)  # noqa: F841  # it is done in place
            lv3: R.Tensor((3,), "float32") = lv1[0]
            R.output(lv3)
        return lv3


def test_special_inputs_are_not_needed_where_other_ordinary_ones_show_it(worker: IsolatedWorker) -> None:
    passes = (PassRef("DataflowUseInplaceCalls", "relax.transform.DataflowUseInplaceCalls()"),)
    case = Case(str(tvm.ir.save_json(Held)), passes, 1834010275)
    (found,) = Judge(worker, (OracleName.NUMERIC,)).verdicts(case)
    assert found.evidence is not None
    assert found.evidence.details.variation, "relu makes zeros of what is drawn first"
    assert weighed(worker, case, OracleName.NUMERIC).severity is S1


@I.ir_module
class Placed:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @R.function
    def main(x: R.Tensor((1,), "float32", "llvm:0:global")) -> R.Tensor((1,), "float32", "llvm:0:global"):
        return x


def test_what_is_not_read_back_is_ill_formed_where_it_is_called(worker: IsolatedWorker) -> None:
    text = 'relax.transform.UpdateVDevice(relax.VDevice("llvm", 2, "global"), 0)'
    case = Case(str(tvm.ir.save_json(Placed)), (PassRef("UpdateVDevice", text),), 0)
    found = weighed(worker, case, OracleName.ROUNDTRIP)
    assert found.severity is S3
    assert "ill-formed" in found.reason


def test_what_is_not_read_back_and_fits_its_callers_is_minor(worker: IsolatedWorker) -> None:
    case, oracle = case_of("adreno-drops-devices")
    assert oracle is OracleName.ROUNDTRIP
    assert weighed(worker, case, oracle).severity is S5


_UNDEFINES = """
from tvm import relax


def undefines():
    def run(function, *_):
        if "global_symbol" in function.attrs:
            return function
        body = relax.SeqExpr([], relax.Var("nowhere", function.ret_ty))
        return relax.Function(function.params, body, function.ret_ty)

    return relax.transform.function_pass(run, opt_level=0, name="undefines")
"""


@I.ir_module
class Pair:
    @R.function
    def caller(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x

    @R.function
    def called(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        return x


def test_private_functions_are_called_whatever_functions_there_are(tmp_path: Path) -> None:
    (tmp_path / "undefines.py").write_text(_UNDEFINES)
    passes = (
        PassRef("Normalize", "relax.transform.Normalize()"),
        PassRef("undefines", f"user:{tmp_path / 'undefines.py'}:undefines"),
    )
    case = Case(str(tvm.ir.save_json(Pair)), passes, 0)
    failed = Verdict(OracleName.ROUNDTRIP, Outcome.FAIL, "undefines")
    assert "ill-formed" in broken_where_used(case, failed)
    assert broken_where_used(case, replace(failed, culprit="Normalize")) == "", "another pass is at fault"


_FORGETS = """
import tvm

def forgets():
    return tvm.transform.module_pass(lambda module, _: tvm.IRModule(module.functions), opt_level=0, name="forgets")
"""


def test_a_lost_list_of_devices_is_grave_where_code_of_one_does_not_build(
    worker: IsolatedWorker, tmp_path: Path
) -> None:
    (tmp_path / "forgets.py").write_text(_FORGETS)
    forgets = PassRef("forgets", f"user:{tmp_path / 'forgets.py'}:forgets")
    listed = tvm.IRModule(Pair.functions, global_infos={"vdevice": [relax.VDevice("llvm", 0, "global")]})
    for module, severity in ((Pair, S5), (listed, S3)):
        case = Case(str(tvm.ir.save_json(module)), (forgets,), 0)
        lost = Evidence("not-done", "keeps global infos", details=Details(rests_on=OURS))
        for oracle, evidence in (
            (OracleName.ROUNDTRIP, Evidence("unlisted-device", "x")),
            (OracleName.POSTCONDITION, lost),
        ):
            verdict = Verdict(oracle, Outcome.FAIL, "forgets", evidence=evidence)
            found, _ = weigh(Judge(worker, (oracle,)), case, (case, verdict), verdict, Blame("forgets"))
            assert (found.severity, found.question) == (severity, severity is S5 and evidence is lost)


def test_special_inputs_are_not_needed_where_the_first_case_did_without(worker: IsolatedWorker) -> None:
    case, oracle = case_of("legalize-sum-empty-symbolic")
    judge = Judge(worker, (oracle,))
    (found,) = judge.verdicts(case)
    assert found.evidence is not None
    ordinary = replace(found, evidence=replace(found.evidence, details=replace(found.evidence.details, variation="")))
    severities = [
        weigh(judge, case, (case, first), found, accused(judge, case, found, UNKNOWN))[0].severity
        for first in (found, ordinary)
    ]
    assert severities == [S2, S1]


def test_what_the_first_case_does_not_have_is_not_needed(worker: IsolatedWorker) -> None:
    case, oracle = case_of("legalize-astype-float8-zero")
    ordinary, _ = case_of(WRONG)
    assert weighed(worker, case, oracle, first=ordinary).severity is S1


def test_a_closure_is_needed_that_passes_have_made_of_a_local_function_of_the_first_case(
    worker: IsolatedWorker,
) -> None:
    case, oracle = case_of("remove-unused-parameters-made-closure")
    local, _ = case_of("merge-composite-closure")
    assert weighed(worker, case, oracle, first=local).severity is S4


@I.ir_module
class Weighted:
    @R.function
    def main(w: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"num_input": 0})
        return R.add(w, w)


def test_what_passes_before_the_judged_one_make_is_rare_as_well(worker: IsolatedWorker) -> None:
    names = ("LazyGetInput", "RewriteCUDAGraph")
    passes = tuple(PassRef(name, f"relax.transform.{name}()") for name in names)
    case = Case(str(tvm.ir.save_json(Weighted)), passes, 0)
    ask = Judge(worker, ()).ask
    assert Rarity.CLOSURES not in ask(rare, case, names[0])
    assert Rarity.CLOSURES in ask(rare, case, names[1]), "functions as parameters"


@I.ir_module
class Pooled:
    @R.function
    def main(x: R.Tensor((1, 1, 1, 1), "float32")) -> R.Tensor((1, 1, 1, 1), "float32"):
        lowest = R.full(R.shape([1, 1, 1, 1]), R.const(-3.4028234663852886e38, "float32"), "float32")
        return R.grad.max_pool2d_backward(x, lowest)


def test_the_lowest_float_is_no_ordinary_number(worker: IsolatedWorker) -> None:
    passes = (PassRef("LegalizeOps", "relax.transform.LegalizeOps()"),)
    found = weighed(worker, Case(str(tvm.ir.save_json(Pooled)), passes, 0), OracleName.NUMERIC)
    assert found.severity is S2
    assert "the greatest floats" in found.reason


@I.ir_module
class Biased:
    @R.function(private=True)
    def main(x: R.Tensor((1, 1, 1, 1), "float32")) -> R.Tensor((1, 1, 1, 1), "float32"):
        with R.dataflow():
            lv = R.nn.attention_bias(x, x, x, x)
            R.output(lv)
        return lv


def test_an_operand_that_an_operator_drops_changes_results(worker: IsolatedWorker) -> None:
    """Nobody can call a private function to see that they are wrong."""
    passes = (PassRef("ToMixedPrecision", "relax.transform.ToMixedPrecision()"),)
    found = weighed(worker, Case(str(tvm.ir.save_json(Biased)), passes, 0), OracleName.POSTCONDITION)
    assert found.severity is S1
    assert "results are wrong" in found.reason


def test_an_order_is_needed_only_where_the_pass_alone_does_not_fail(worker: IsolatedWorker) -> None:
    case, oracle = case_of(WRONG)
    names = ("CanonicalizeBindings", "LegalizeOps", "TopologicalSort")
    odd = replace(case, passes=tuple(PassRef(name, f"relax.transform.{name}()") for name in names))
    assert Judge(worker, (oracle,)).ask(rare, odd) == {Rarity.ORDER}
    assert weighed(worker, odd, oracle).severity is S1


def verdict(oracle: OracleName, kind: str, details: Details | None = None) -> Verdict:
    return Verdict(oracle, Outcome.FAIL, "FuseOps", evidence=Evidence(kind, "wrong", details=details or Details()))


BLAME = Blame("FuseOps")


@pytest.mark.parametrize(
    ("oracle", "kind", "rare", "expected"),
    [
        (OracleName.NUMERIC, "wrong-value", [Rarity.ORDER], S2),
        (OracleName.NUMERIC, "not-as-documented", [Rarity.CLOSURES], S1),  # a call alone shows it
        (OracleName.NUMERIC, "not-as-documented", [Rarity.CLOSURES, Rarity.EMPTY], S2),
        (OracleName.CRASH, "InternalError", [Rarity.ORDER], S4),
        (OracleName.CRASH, "InternalError", [Rarity.FLOAT8], S3),  # loud is loud, whatever the data
        (OracleName.ROUNDTRIP, "not-parsed", [Rarity.LOCAL_FUNCTIONS], S5),
    ],
)
def test_what_a_finding_needs_demotes_it(oracle: OracleName, kind: str, rare: list[Rarity], expected: Severity) -> None:
    assert assess(verdict(oracle, kind), rare, BLAME, stock=False).severity is expected


def test_a_signal_is_grave_unless_the_module_recurses() -> None:
    died = verdict(OracleName.CRASH, "signal 11", Details(death=Death.SIGNAL, code=11))
    assert assess(died, [Rarity.LOCAL_FUNCTIONS, Rarity.ORDER], BLAME, stock=False).severity is S3
    assert assess(died, [Rarity.LOCAL_FUNCTIONS, Rarity.RECURSION], BLAME, stock=False).severity is S4


@pytest.mark.parametrize(("harm", "expected"), [(Harm.WRONG, S1), (Harm.BROKEN, S3), (Harm.LESS, S5)])
def test_a_broken_claim_is_as_grave_as_its_harm(harm: Harm, expected: Severity) -> None:
    broken = verdict(OracleName.POSTCONDITION, "not-done", Details(rests_on=DOCUMENTED, harm=harm))
    assert assess(broken, [], BLAME, stock=False).severity is expected
    ours = verdict(OracleName.POSTCONDITION, "not-done", Details(rests_on=OURS, harm=harm))
    assert assess(ours, [], BLAME, stock=False).question


def test_the_shipped_pipelines_tell_orders_and_what_is_stock() -> None:
    assert in_shipped_order(["LegalizeOps", "FuseTIR", "ToNonDataflow", "VMShapeLower"])
    assert not in_shipped_order(["FuseTIR", "LegalizeOps"])
    assert in_default_pipeline("FoldConstant")
    assert in_default_pipeline("build:zero")
    assert not in_default_pipeline("ConvertLayout"), "one target's alone"
