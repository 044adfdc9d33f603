from __future__ import annotations

import buggy_passes as buggy
import sample_modules as samples
import tvm
from tvm import relax

from corpus.case import load, load_module
from oracles.core.blame import inner_pass
from oracles.core.module_facts import complaint


def test_inner_pass_that_raises() -> None:
    pipeline = tvm.transform.Sequential([relax.transform.Normalize(), relax.transform.MergeCompositeFunctions()])
    assert inner_pass(pipeline, samples.two_functions()) == "MergeCompositeFunctions"


def test_first_inner_pass_that_yields_an_ill_formed_module() -> None:
    pipeline = tvm.transform.Sequential(
        [relax.transform.Normalize(), relax.transform.InlinePrivateFunctions(), relax.transform.DeadCodeElimination()]
    )
    assert inner_pass(pipeline, samples.symbolic_callee(), complaint) == "InlinePrivateFunctions"


def test_nobody_is_blamed_when_nothing_fails() -> None:
    assert inner_pass(relax.transform.Normalize(), samples.dataflow()) is None
    assert inner_pass(relax.transform.Normalize(), samples.dataflow(), complaint) is None


def test_pass_without_a_contract_is_nobody() -> None:
    assert inner_pass(buggy.raises(ValueError("odd")).given, samples.dataflow()) is None


def test_the_innermost_pass_may_be_one_that_a_composed_pass_runs_itself() -> None:
    """FuseTIR runs RemoveUnusedParameters, which forgets closures: the corpus has it as a defect of that pass."""
    module = corpus_module("remove-unused-parameters-made-closure")
    assert inner_pass(relax.transform.FuseTIR(), module, complaint) == "FuseTIR"
    assert inner_pass(relax.transform.FuseTIR(), module, complaint, innermost=True) == "RemoveUnusedParameters"


def test_what_is_wrong_with_an_output_may_be_said_otherwise() -> None:
    pipeline = tvm.transform.Sequential([relax.transform.Normalize(), relax.transform.DeadCodeElimination()])
    fewer = inner_pass(pipeline, samples.two_functions(), lambda module: len(module.functions) < 1)
    assert fewer is None
    assert inner_pass(pipeline, samples.two_functions(), lambda module: True, innermost=True) == "Normalize"


def corpus_module(slug: str) -> tvm.IRModule:
    (case,) = load([slug])
    return load_module(case)
