"""A wrong pass is never proved: of planted bugs, and of TVM's passes on drawn modules, executed all the same."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import tvm
import tvm_ffi
from planted.catalogue import PLANTED, Manner, Planted
from planted.generated import module as generated
from planted.generated import modules
from shared.proofs import proof_of
from tvm import relax

from oracles import Subject, judge
from oracles.core.verdict import Outcome
from oracles.measure.interpret import Interpreted, compare_interpreted
from relaxkit.passes.arguments import given_of
from relaxkit.passes.contract import OracleName
from relaxkit.passes.contracts import CONTRACTS, contract_for
from relaxkit.passes.pass_ref import PassRef
from relaxkit.proof import Result, prove

NUMERIC = [each for each in PLANTED if each.oracle is OracleName.NUMERIC and each.manner is Manner.VERDICT]
# What is wrong with these does not show in the text of the program: their claim is about how it is executed.
EXECUTED = frozenset({"run-error", "does-not-build"})


def proved(subject: Any) -> bool:
    """Whether the output differs from the input and is proved to compute the same."""
    if subject.facts is None or subject.facts.complaint is not None or subject.output.error is not None:
        return False
    return bool(subject.changed) and proof_of(subject).result is Result.PROVED


@pytest.mark.parametrize("parts", [2, pytest.param(1, marks=pytest.mark.slow)], ids=["half", "all"])
@pytest.mark.parametrize("planted", NUMERIC, ids=lambda planted: planted.id)
def test_a_planted_wrong_result_is_not_proved(planted: Planted, parts: int) -> None:
    """On every second module in the default run, and on the others for its neighbour."""
    for index in range(NUMERIC.index(planted) % parts, 12, parts):
        module = generated(index)
        subject = Subject(module, [planted.ref()], [contract_for(planted.ref())], input_seed=index)
        if proved(subject):
            found = judge(subject, [OracleName.NUMERIC])
            assert all(each.outcome is not Outcome.FAIL for each in found), found


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CONTRACTS if not name.startswith("build:")])
def test_what_is_proved_is_executed_alike(name: str) -> None:
    for index, module in enumerate(modules(12)):
        ref = PassRef(name, f"relax.transform.{name}()")
        try:
            ref.build()
        except Exception:
            pytest.skip("the pass needs arguments, and none are drawn here")
        subject = Subject(module, [ref], input_seed=index)
        if proved(subject):
            for verdict in judge(subject, [OracleName.NUMERIC]):
                assert verdict.evidence is None or verdict.evidence.kind in EXECUTED, verdict


def mutants(module: Any) -> Iterator[Any]:
    """Modules with one wrong operand: two of one type exchanged, or a parameter of its type in the place of one."""
    for var, function in module.functions_items():
        if not isinstance(function, relax.Function) or not relax.analysis.check_well_formed(module):
            continue
        inside: list[Any] = []
        relax.analysis.post_order_visit(function.body, inside.append)
        for call in (each for each in inside if isinstance(each, relax.Call)):
            for arguments in wrong(call, function.params):
                changed = relax.Call(call.op, arguments, call.attrs, call.ty_args)
                mutant = tvm.IRModule(dict(module.functions_items()), global_infos=module.global_infos)
                mutant[var] = Replacing(call, changed).visit_expr(function)
                if relax.analysis.check_well_formed(mutant):
                    yield mutant


def wrong(call: Any, params: Any) -> Iterator[list[Any]]:
    arguments = list(call.args)
    tensors = [place for place, each in enumerate(arguments) if isinstance(each.ty, relax.TensorType)]
    for place in tensors:
        alike = [each for each in params if tvm_ffi.structural_equal(each.ty, arguments[place].ty)]
        for other in alike[:2]:
            if not other.same_as(arguments[place]):
                yield [*arguments[:place], other, *arguments[place + 1 :]]
    if len(tensors) == 2 and tvm_ffi.structural_equal(*(arguments[place].ty for place in tensors)):
        yield [arguments[1], arguments[0], *arguments[2:]]


@relax.expr_functor.mutator
class Replacing(relax.PyExprMutator):
    """Puts one call in the place of another."""

    def __init__(self, old: Any, new: Any) -> None:
        super().__init__()
        self.old, self.new = old, new

    def visit_call_(self, call: Any) -> Any:
        return self.new if call.same_as(self.old) else super().visit_call_(call)


def test_a_wrong_operand_is_proved_only_where_it_makes_no_difference() -> None:
    """What is proved of a mutant is interpreted: a dead call, or an operand that was the same all along."""
    results: Counter[str] = Counter()
    for seed, module in enumerate(modules(40)):
        for mutant in itertools.islice(mutants(module), 6):
            result = prove(module, mutant).result
            results[str(result)] += 1
            if result is Result.PROVED:
                seen = compare_interpreted(module, mutant, seed, given_of([]))
                assert seen is not Interpreted.DIFFERENT, mutant.script()
    assert results["different"] > 60
    assert results["proved"] < results["different"], "drawn modules have dead code, but not that much"
