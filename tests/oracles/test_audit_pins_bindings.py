"""False alarms about bindings that campaigns brought to light, each pinned by its mend; others: ``test_audit_pins``."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tvm import relax, tirx

from oracles import judge
from oracles.contract import Ran
from oracles.facts import ModuleFacts
from oracles.passref import PassRef
from oracles.postconditions.clean import projection_left
from oracles.signature import changed_signature
from oracles.subject import Subject
from oracles.verdict import OracleName, Outcome, Verdict

X = "relax.transform"
IN_PLACE = PassRef("DataflowUseInplaceCalls", f"{X}.DataflowUseInplaceCalls()")


def verdict(module: Any, oracle: OracleName, *passes: PassRef) -> Verdict:
    subject = Subject(module, passes, facts=ModuleFacts(module))
    (found,) = [each for each in judge(subject, [oracle]) if each.oracle is oracle]
    return found


@pytest.mark.parametrize("aliases", [1, 3, 6])
def test_every_alias_costs_common_subexpressions_a_run(aliases: int) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1,), "float32"))
    with builder.function("main", [x]):
        builder.emit(relax.op.add(x, x))
        last = builder.emit(relax.op.add(x, x))
        for _ in range(aliases):
            last = builder.emit(last)
        builder.emit_func_output(last)
    cse = PassRef("EliminateCommonSubexpr", f"{X}.EliminateCommonSubexpr()")
    assert verdict(builder.get(), OracleName.IDEMPOTENCE, cse).outcome is Outcome.PASS


def overwritten_last() -> Any:
    """A value that one operator reads, and then another one that may overwrite it."""
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType(shape, "float32")) for name, shape in (("x", (2,)), ("y", (1,))))
    with builder.function("main", [x, y]):
        with builder.dataflow():
            value = builder.emit(relax.op.add(y, x))
            first = builder.emit_output(relax.op.abs(value))
            second = builder.emit_output(relax.op.nn.relu(value))
        builder.emit_func_output(relax.Tuple([first, second]))
    return builder.get()


def test_sorting_sees_no_order_between_a_reader_and_a_call_in_place() -> None:
    sort = PassRef("TopologicalSort", f'{X}.TopologicalSort(order="breadth-first", direction="from-outputs")')
    module = overwritten_last()
    assert "call_tir_inplace" in IN_PLACE.build()(module).script()
    assert verdict(module, OracleName.NUMERIC, IN_PLACE).outcome is Outcome.PASS
    found = verdict(module, OracleName.NUMERIC, IN_PLACE, sort)
    assert (found.outcome, found.reason) == (Outcome.SKIP, "calls a kernel in place")
    assert verdict(module, OracleName.NUMERIC, sort).outcome is Outcome.PASS


@pytest.mark.parametrize(("bound", "outcome"), [(2, Outcome.SKIP), (3, Outcome.PASS)])
def test_values_and_dims_that_contradict_each_other_are_no_pass_s_fault(bound: int, outcome: Outcome) -> None:
    builder = relax.BlockBuilder()
    m = tirx.Var("m", "int64")
    p, x = (relax.Var(name, relax.TensorType((m,), "float32")) for name in "px")
    with builder.function("predict", [p, x]):
        builder.emit_func_output(builder.emit(relax.op.abs(x)))
    dims = PassRef("BindSymbolicVars", f'{X}.BindSymbolicVars({{"m": {bound}}})')
    values = PassRef("BindParams", f'{X}.BindParams("predict", {{"p": np.arange(3).astype("float32")}})')
    for oracle in (OracleName.WELL_FORMED, OracleName.NUMERIC):
        assert verdict(builder.get(), oracle, dims, values).outcome is outcome


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ('np.arange(2).astype("float32")', Outcome.PASS),
        ('np.arange(2).astype("int8")', Outcome.SKIP),
        ('np.zeros((2, 3), "float32")', Outcome.SKIP),
        ('np.zeros((3,), "float32")', Outcome.SKIP),
    ],
)
def test_a_value_that_is_not_for_its_parameter_is_no_pass_s_fault(value: str, outcome: Outcome) -> None:
    """As the minimizer makes them when it gives a parameter a simpler type and leaves its value."""
    builder = relax.BlockBuilder()
    p = relax.Var("p", relax.TensorType((2,), "float32"))
    with builder.function("predict", [p]):
        builder.emit_func_output(builder.emit(relax.op.abs(p)))
    bind = PassRef("BindParams", f'{X}.BindParams("predict", {{"p": {value}}})')
    for oracle in (OracleName.CRASH, OracleName.WELL_FORMED, OracleName.NUMERIC):
        assert verdict(builder.get(), oracle, bind).outcome is outcome


def test_a_return_type_that_was_wrong_before_may_be_mended() -> None:
    builder = relax.BlockBuilder()
    x, shape = relax.Var("x", relax.TensorType((2,), "float32")), relax.Var("shape", relax.ShapeType(ndim=2))
    with builder.function("main", [x, shape]):
        builder.emit_func_output(builder.emit(relax.op.reshape(x, shape)))
    right = builder.get()["main"]
    wrong = relax.TensorType(None, "float32", ndim=3)
    body = relax.SeqExpr(right.body.blocks, right.body.body)
    relax.expr._update_type(body, wrong)
    declared = relax.Function(right.params, body, wrong, right.is_pure, right.attrs)
    (name,) = builder.get().get_global_vars()
    canonical = PassRef("CanonicalizeBindings", f"{X}.CanonicalizeBindings()")
    assert verdict(tvm.IRModule({name: declared}), OracleName.WELL_FORMED, canonical).outcome is not Outcome.FAIL
    assert changed_signature(tvm.IRModule({name: declared}), builder.get()) is None
    assert changed_signature(builder.get(), tvm.IRModule({name: declared})) is not None


def test_kernels_without_a_root_block_are_refused_by_fusing() -> None:
    kernel = """
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def copies(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(2)):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.copies, (x,), R.Tensor((2,), "float32"))
            z = R.call_tir(cls.copies, (y,), R.Tensor((2,), "float32"))
            R.output(z)
        return z
"""
    passes = [PassRef(name, f"{X}.{name}()") for name in ("FuseOps", "FuseTIR")]
    whole = [PassRef("build:zero", 'relax.get_pipeline("zero")')]  # the same inside of a pipeline
    for tried in (passes, whole):
        found = verdict(tvm.script.from_source(kernel), OracleName.CRASH, *tried)
        assert (found.outcome, found.reason) == (Outcome.REJECT, "kernel without a root block")


def test_an_operand_whose_shape_is_not_known_is_refused_where_kernels_are_specialized() -> None:
    kernel = """
@I.ir_module(s_tir=True)
class Module:
    @T.prim_func(private=True, s_tir=True)
    def copies(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("B"):
                v = T.axis.spatial(T.int64(2), i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor("float32", ndim=1)) -> R.Tensor((2,), "float32"):
        cls = Module
        y = R.call_tir(cls.copies, (x,), R.Tensor((2,), "float32"))
        return y
"""
    specialize = PassRef("SpecializePrimFuncBasedOnCallSite", "relax.transform.SpecializePrimFuncBasedOnCallSite()")
    found = verdict(tvm.script.from_source(kernel), OracleName.CRASH, specialize)
    assert (found.outcome, found.reason) == (Outcome.REJECT, "argument without a shape")


def test_a_projection_of_a_constant_that_is_an_output_may_stay() -> None:
    """FoldConstant made a tuple of constants, and one reached an output through an alias: work of the second run."""
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        with builder.dataflow():
            pair = builder.emit(relax.Tuple([relax.const(0, "int64"), relax.const(1, "int64")]))
            out = builder.emit_output(builder.emit(relax.TupleGetItem(pair, 1)))
        builder.emit_func_output(out)
    run = relax.transform.CanonicalizeBindings()(builder.finalize())
    (block,) = run["main"].body.blocks
    assert isinstance(block.bindings[-1].value, relax.TupleGetItem)
    assert not projection_left(Ran(run, run, {}))
