"""What a failure hangs on: other names, and numbers for symbolic dims, on modules that fail for one of the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from corpus.case import load, load_module
from fuzzer.core.case import Case
from fuzzer.findings.family import Edit, family
from fuzzer.minimizer.judge.judge import Judge
from fuzzer.triage.questions import EDITS, edited
from fuzzer.triage.traits import find_traits
from fuzzer.worker.worker import IsolatedWorker
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

INLINE = PassRef("InlinePrivateFunctions", "relax.transform.InlinePrivateFunctions()")


LIFT = PassRef("LiftTransformParams", "relax.transform.LiftTransformParams()")


@I.ir_module(s_tir=True)
class Collapsed:
    """The body of the private function keeps its own n where it is inlined, and the operator cannot compare the two."""

    @R.function(private=True)
    def inner(x: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
        n = T.int64()
        return R.collapse_sum_to(x, R.shape([n, 2]))

    @R.function
    def main(x: R.Tensor((1, 2), "float32")) -> R.Tensor((1, 2), "float32"):
        cls = Collapsed
        with R.dataflow():
            y = cls.inner(x)
            R.output(y)
        return y


@pytest.fixture(scope="module")
def worker() -> Iterator[IsolatedWorker]:
    with IsolatedWorker() as worker:
        yield worker


def case_of(module: object, ref: PassRef) -> Case:
    return Case(str(tvm.ir.save_json(module)), (ref,), 0)


@pytest.mark.parametrize(
    ("module", "ref", "oracle", "gone", "text"),
    [
        (
            Collapsed,
            INLINE,
            OracleName.CRASH,
            Edit.NUMBERS,
            "InlinePrivateFunctions: symbolic dims that nothing defines, or that type inference refuses",
        ),
    ],
)
def test_what_a_failure_hangs_on(
    worker: IsolatedWorker, module: object, ref: PassRef, oracle: OracleName, gone: Edit, text: str
) -> None:
    case, judge = case_of(module, ref), Judge(worker, (oracle,))
    verdict = judge.verdicts(case)[0]
    traits = find_traits(judge, case, verdict)
    assert traits.gone == {gone}
    assert family(verdict, traits).text == text
    assert family(verdict, replace(traits, gone=frozenset())).text != text


def test_a_failure_that_stays_says_nothing(worker: IsolatedWorker) -> None:
    (known,) = load(["remove-unused-parameters-made-closure"])
    case = Case(str(tvm.ir.save_json(load_module(known))), known.passes, known.input_seed)
    judge = Judge(worker, (known.oracle,))
    assert find_traits(judge, case, judge.verdicts(case)[0]).gone == frozenset()


def test_names_are_left_where_a_pass_names_a_function() -> None:
    plain = case_of(Collapsed, INLINE)
    other = edited(plain, EDITS[Edit.NAMES])
    assert other is not None
    renamed = tvm.ir.load_json(other.module_json)
    assert sorted(str(var.name_hint)[3:] for var in renamed.functions) == ["inner", "main"]
    assert sorted(str(var.name_hint)[:3] for var in renamed.functions) == ["z0_", "z1_"]
    public = next(each for each in renamed.functions.values() if each.attrs and "global_symbol" in each.attrs)
    assert str(public.attrs["global_symbol"]).endswith("_main")
    named = replace(plain, passes=(PassRef("Gradient", 'relax.transform.Gradient("main")'),))
    assert edited(named, EDITS[Edit.NAMES]) is None


def test_numbers_take_the_place_of_all_symbolic_dims() -> None:
    other = edited(case_of(Collapsed, INLINE), EDITS[Edit.NUMBERS])
    assert other is not None
    module = tvm.ir.load_json(other.module_json)
    assert {int(each.params[0].ty.shape.values[0]) for each in module.functions.values()} == {1}, "as the caller has it"
    assert edited(other, EDITS[Edit.NUMBERS]) is None, "there is nothing left to edit"
