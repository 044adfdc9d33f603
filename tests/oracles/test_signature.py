from __future__ import annotations

from typing import Any

import sample_modules as samples
import tvm
from tvm import relax, tirx
from verdict_rows import ref, tensor, verdict

from oracles.core.function_signatures import changed_signature, contradicted_type
from oracles.core.verdict import Outcome
from relaxkit.passes.contract import (
    OracleName,
)

TT = relax.TensorType


def _module(shape: Any, ret: Any, rename: bool = False) -> Any:
    """A function from ``(n, m, 3)`` that declares the return type ``ret(n, m)``."""
    n, m = tirx.Var("k" if rename else "n", "int64"), tirx.Var("m", "int64")
    bb = relax.BlockBuilder()
    x = samples.var("x", shape(n, m))
    with bb.function("main", [x]):
        y = bb.emit(relax.op.call_pure_packed("identity", x, ty_args=ret(n, m)))
        bb.emit_func_output(y)
    return bb.get()


def test_other_names_of_symbolic_variables_are_the_same_signature() -> None:
    old = _module(lambda n, m: (n, m, 3), lambda n, m: TT((n + m, 3), "float32"))
    new = _module(lambda n, m: (n, m, 3), lambda n, m: TT((m + n, 3), "float32"), rename=True)
    assert changed_signature(old, new) is None


def test_other_order_of_symbolic_dimensions_is_another_signature() -> None:
    old = _module(lambda n, m: (n, m, 3), lambda n, m: TT((n, 3), "float32"))
    new = _module(lambda n, m: (n, m, 3), lambda n, m: TT((m, 3), "float32"), rename=True)
    evidence = changed_signature(old, new)
    assert evidence is not None
    assert evidence.message == "a public function has another return type"


def test_static_parameter_instead_of_a_symbolic_one_is_another_signature() -> None:
    old = _module(lambda n, m: (n, m, 3), lambda n, m: TT((3,), "float32"))
    new = _module(lambda n, m: (4, m, 3), lambda n, m: TT((3,), "float32"))
    evidence = changed_signature(old, new)
    assert evidence is not None
    assert evidence.message == "a public function has other parameter types"


def test_functions_of_code_generators_are_no_signature() -> None:
    module = samples.composites(samples.dataflow(), codegen=True)
    assert any("Codegen" in function.attrs for function in module.functions.values())
    assert changed_signature(module, tvm.IRModule({"main": module["main"]})) is None


def test_symbolic_contradiction() -> None:
    module = _module(lambda n, m: (n, m, 3), lambda n, m: TT((n, 3), "float32"))
    function = module["main"]
    n = function.params[0].ty.shape.values[0]
    declared = relax.Function(function.params, function.body, TT((n + 1, 3), "float32"), True, function.attrs)
    assert contradicted_type(module, module) is None
    assert contradicted_type(module, tvm.IRModule({"main": declared})) is not None


def test_a_device_may_be_said_where_none_was_and_is_another_object_in_a_copy():
    def returning(*devices):
        x = relax.Var("x", tensor((2,)))
        types = [relax.TensorType((2,), "float32", None if each is None else relax.VDevice(*each)) for each in devices]
        result = relax.Var("result", relax.TupleType(types))  # as declared: what contradicts itself is not judged
        function = relax.Function([x], relax.SeqExpr([], result), relax.TupleType(types))
        return tvm.IRModule({tvm.ir.GlobalVar("main"): function.with_attr("global_symbol", "main")})

    first, second = ("llvm", 0, "global"), ("llvm", 1, "global")
    assert changed_signature(returning(None, first), returning(first, first)) is None
    assert changed_signature(returning(first, None), returning(None, None)) is not None
    assert changed_signature(returning(None, first), returning(None, second)) is not None


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
    assert (
        verdict(tvm.IRModule({name: declared}), OracleName.WELL_FORMED, ref("CanonicalizeBindings")).outcome
        is not Outcome.FAIL
    )
    assert changed_signature(tvm.IRModule({name: declared}), builder.get()) is None
    assert changed_signature(builder.get(), tvm.IRModule({name: declared})) is not None
