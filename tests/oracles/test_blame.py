from __future__ import annotations

import contextlib
from collections.abc import Callable

import buggy_passes as buggy
import sample_modules as samples
import tvm
from tvm import relax

from corpus.case import load, load_module
from oracles.core.blame import BegunPasses, first_wrong, inner_pass
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


def catching(then: Callable[[tvm.IRModule], tvm.IRModule]) -> tvm.transform.Pass:
    """A pass that goes on where one inside of it raises, and one behind it."""

    def run(module: tvm.IRModule, _: object) -> tvm.IRModule:
        with contextlib.suppress(RuntimeError):
            named("Normalize", failing)(module)
        return module

    outer = tvm.transform.module_pass(run, opt_level=0, name="FoldConstant")
    return tvm.transform.Sequential([outer, named("FuseOps", then)])


def named(name: str, work: Callable[[tvm.IRModule], tvm.IRModule]) -> tvm.transform.Pass:
    return tvm.transform.module_pass(lambda module, _: work(module), opt_level=0, name=name)


def failing(module: tvm.IRModule) -> tvm.IRModule:
    raise RuntimeError("it fails")


def test_a_pass_that_went_on_where_one_inside_of_it_raised_is_not_blamed_for_the_next() -> None:
    assert inner_pass(catching(failing), samples.dataflow()) == "FuseOps"
    given = samples.dataflow()
    marking = catching(lambda module: module.with_attr("wrong", 1))
    assert inner_pass(marking, given, lambda module: "wrong" in (module.attrs or {})) == "FuseOps"
    seen = named("FuseOps", lambda module: module.with_attr("seen", 1).with_attr("wrong", 1))
    *_, (name, entered) = first_wrong(
        tvm.transform.Sequential([catching(lambda module: module.with_attr("before", 1)), seen]), given,
        lambda module: "wrong" in (module.attrs or {}),
    )  # fmt: skip
    assert name == "FuseOps"
    assert "before" in entered.attrs, "what it was given is its own, and not that of a pass that ended"
    told: list[str] = []
    with tvm.transform.PassContext(instruments=[BegunPasses(told.append)]):
        catching(lambda module: module)(given)
    assert told == ["", "FoldConstant", "FoldConstant", "", "FuseOps", "", ""]


def test_what_is_wrong_with_an_output_may_be_said_otherwise() -> None:
    pipeline = tvm.transform.Sequential([relax.transform.Normalize(), relax.transform.DeadCodeElimination()])
    fewer = inner_pass(pipeline, samples.two_functions(), lambda module: len(module.functions) < 1)
    assert fewer is None
    given = samples.two_functions()
    other = inner_pass(pipeline, given, lambda module: not module.same_as(given), innermost=True)
    assert other == "Normalize"


def test_who_is_given_a_wrong_module_by_the_one_that_runs_it_is_not_blamed() -> None:
    def marked(module: tvm.IRModule) -> bool:
        return module.attrs is not None and "wrong" in module.attrs

    def mark(module: tvm.IRModule) -> tvm.IRModule:
        return module.with_attr("wrong", 1)

    def outer(first: Callable[[tvm.IRModule], tvm.IRModule], inner: tvm.transform.Pass) -> tvm.transform.Pass:
        return tvm.transform.module_pass(lambda module, _: inner(first(module)), opt_level=0, name="FuseTIR")

    marking = tvm.transform.module_pass(lambda module, _: mark(module), opt_level=0, name="Normalize")
    given, clean = samples.dataflow(), relax.transform.Normalize()
    assert inner_pass(outer(mark, clean), given, marked, innermost=True) == "FuseTIR"
    assert inner_pass(outer(lambda module: module, marking), given, marked, innermost=True) == "Normalize"


def corpus_module(slug: str) -> tvm.IRModule:
    (case,) = load([slug])
    return load_module(case)
