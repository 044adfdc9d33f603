"""Claims of the stock pipelines: kept on samples, and broken by a pipeline that leaves a pass out."""

from __future__ import annotations

from typing import Any

import pytest
import sample_modules as samples
import tvm
from tvm import relax, tirx

from oracles import check
from oracles.core.verdict import Outcome
from relaxkit.passes.claims.kept import claims_of, stated_claims
from relaxkit.passes.claims.lowering import legalizable_left_by_pipeline
from relaxkit.passes.contract import Ran
from relaxkit.passes.contracts import CONTRACTS
from relaxkit.passes.contracts.pipelines import pipeline
from relaxkit.passes.pass_ref import PassRef
from relaxkit.passes.plan import preparing

ORDER = (
    "LegalizeOps", "ToNonDataflow", "RemovePurityChecking", "CallTIRRewrite", "LowerAllocTensor", "LowerRuntimeBuiltin",
    "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol",
)  # fmt: skip


def applied(module: Any, *names: str) -> Any:
    with tvm.target.Target("llvm"):
        for name in names:
            module = preparing(name).build()(module)
    return module


def said(name: str, before: Any, after: Any) -> set[str]:
    ran = Ran(before, after, {})
    return {text.partition("\n")[0] for claim in stated_claims(CONTRACTS[name]) if (text := claim.violation(ran))}


def program() -> Any:
    """A shape over symbols and a number computed from them, besides kernels in a dataflow block."""
    bb = relax.BlockBuilder()
    n = tirx.Var("n", "int64")
    x, k = relax.Var("x", relax.TensorType((n, 2), "float32")), relax.Var("k", relax.ShapeType([n]))
    with bb.function("main", [x, k]):
        with bb.dataflow():
            a = bb.emit(relax.op.reshape(x, relax.ShapeExpr([n * 2])))
            b = bb.emit(relax.op.exp(a))
            c = bb.emit_output(relax.op.sum(b))
        p = bb.emit(n * 2 + 1)
        bb.emit_func_output(relax.Tuple([c, p]))
    return bb.finalize()


@pytest.mark.parametrize("name", ["build:default", "build:cpu", "build:zero"])
@pytest.mark.parametrize("module", [program, samples.dataflow, samples.kernels, samples.weights])
def test_pipelines_keep_their_claims(name: str, module: Any) -> None:
    before = module()
    with tvm.target.Target("llvm"):
        after = pipeline(name).build()(before)
    assert said(name, before, after) == set()
    assert said(name, before, before) != set()


@pytest.mark.parametrize(
    ("missing", "claim"),
    [
        ("ToNonDataflow", "a dataflow block is left"),
        ("LowerRuntimeBuiltin", "relax.memory.alloc_storage is left"),
        ("ComputePrimValue", "arithmetic is left"),
        ("VMShapeLower", "a symbolic shape is left"),
        ("AttachGlobalSymbol", "a function has no global_symbol"),
    ],
)
def test_each_pass_is_missed(missing: str, claim: str) -> None:
    before = program()
    # What must come behind the missing pass is left out, too.
    steps = [name for name in ORDER if name != missing and not (missing in ORDER[5:7] and name == "VMShapeLower")]
    assert claim in said("build:default", before, applied(before, *steps))
    assert said("build:default", before, applied(before, *ORDER)) == set()


def test_operator_whose_shape_was_not_known_is_excused() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(None, "float32", ndim=2))
    y = samples.var("y")
    with bb.function("main", [x, y]):
        a = bb.emit(relax.op.exp(x))
        bb.emit_func_output(relax.Tuple([a, bb.emit(relax.op.exp(y)), bb.emit(relax.op.tanh(y))]))
    module = bb.finalize()
    assert legalizable_left_by_pipeline(Ran(module, module, {})).startswith("relax.tanh is left")
    assert legalizable_left_by_pipeline(Ran(module, applied(module, "LegalizeOps"), {})) == ""


@pytest.mark.parametrize(
    ("name", "dropped"), [("StaticPlanBlockMemory", True), ("build:default", True), ("build:zero", False)]
)
def test_what_plans_memory_takes_the_attribute_that_asks_for_it(name: str, dropped: bool) -> None:
    asking = {"relax.memory_plan_dynamic_func_output": 1}
    functions = {var: function.with_attr(asking) for var, function in program().functions.items()}
    ran = Ran(tvm.IRModule(functions), program(), {})
    lost = [text for each in claims_of(CONTRACTS[name]) if asking.keys() & {*(text := each.violation(ran)).split()}]
    assert bool(lost) is not dropped


@pytest.mark.parametrize(
    "ref",
    [preparing("LowerRuntimeBuiltin"), PassRef("build:default", 'relax.get_pipeline("default")')],
    ids=lambda ref: ref.name,
)
def test_a_view_of_unknown_shape_is_refused(ref: PassRef) -> None:
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorType(dtype="float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.memory.view(x, None, "int32")))
    found = check(builder.get(), ref)
    assert [each.reason for each in found if each.outcome is Outcome.REJECT] == [
        "view of a tensor of unknown shape or dtype"
    ]
