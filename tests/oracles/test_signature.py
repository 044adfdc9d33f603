from __future__ import annotations

from typing import Any

import sample_modules as samples
import tvm
from tvm import relax, tirx

from oracles.signature import changed_signature, contradicted_type

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
