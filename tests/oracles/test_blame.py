from __future__ import annotations

import buggy_passes as buggy
import sample_modules as samples
import tvm
from tvm import relax

from oracles.blame import inner_culprit


def test_inner_pass_that_raises() -> None:
    pipeline = tvm.transform.Sequential([relax.transform.Normalize(), relax.transform.MergeCompositeFunctions()])
    assert inner_culprit(pipeline, samples.two_functions()) == "MergeCompositeFunctions"


def test_first_inner_pass_that_yields_an_ill_formed_module() -> None:
    pipeline = tvm.transform.Sequential(
        [relax.transform.Normalize(), relax.transform.InlinePrivateFunctions(), relax.transform.DeadCodeElimination()]
    )
    assert inner_culprit(pipeline, samples.symbolic_callee(), ill_formed=True) == "InlinePrivateFunctions"


def test_nobody_is_blamed_when_nothing_fails() -> None:
    assert inner_culprit(relax.transform.Normalize(), samples.dataflow()) is None
    assert inner_culprit(relax.transform.Normalize(), samples.dataflow(), ill_formed=True) is None


def test_pass_without_a_contract_is_nobody() -> None:
    assert inner_culprit(buggy.raises(ValueError("odd")).given, samples.dataflow()) is None
