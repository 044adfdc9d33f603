"""Calls of kernels, packed functions and closures; effects; memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from one_operator import computed, module_of
from tvm import relax, te, tirx

from relaxkit.compat import jit
from relaxkit.interpreter import Interpreter, Precision, Raised, Undefined, Unsupported
from relaxkit.runtime import session
from relaxkit.runtime.values import ShapeValue, trace

op = relax.op
X = np.array([1, 2, 3], "float32")
needs_jit = pytest.mark.skipif(not jit.available(), reason="no JIT for the installed TVM")


def kernel(outputs: int = 1, dtype: str = "float32") -> Any:
    """Outputs ``x + 0.5`` and ``2 * x`` of a vector of any length."""
    n = tirx.Var("n", "int64")
    x = te.placeholder((n,), dtype, name="x")
    results = [te.compute((n,), lambda i: x[i] + tirx.const(0.5, dtype)), te.compute((n,), lambda i: x[i] + x[i])]
    made = te.create_prim_func([x, *results[:outputs]])
    return made.without_attr("global_symbol").with_attr("tirx.noalias", True)


def in_place_kernel() -> Any:
    """``x[i] = x[i] + y[i]``, as the lowered form of an addition in place."""
    x, y = te.placeholder((3,), "float32", name="x"), te.placeholder((3,), "float32", name="y")
    total = te.compute((3,), lambda i: x[i] + y[i])
    return te.create_prim_func([x, y, total]).without_attr("global_symbol")


def calling(build: Any, function: Any, *types: Any) -> Any:
    """A module with a kernel, and a ``main`` that gives what ``build(builder, kernel, *params)`` returns."""
    builder = relax.BlockBuilder()
    var = builder.add_func(function, "kernel")
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params):
        builder.emit_func_output(builder.normalize(build(builder, var, *params)))
    return builder.get()


def vector(size: Any = 3, dtype: str = "float32") -> Any:
    return relax.TensorType((size,), dtype)


@needs_jit
def test_a_kernel_is_executed_for_every_size() -> None:
    n = tirx.Var("n", "int64")
    module = calling(lambda b, k, x: b.emit(relax.call_tir(k, x, vector(n))), kernel(), vector(n))
    interpreter = Interpreter(module)
    assert interpreter.call("main", [X]).tolist() == [1.5, 2.5, 3.5]
    assert interpreter.call("main", [X[:1]]).tolist() == [1.5]
    assert interpreter.call("main", [X[:0]]).shape == (0,)
    assert not interpreter.rounded


@needs_jit
def test_a_kernel_whose_output_has_a_negative_extent_is_undefined() -> None:
    n = tirx.Var("n", "int64")
    module = calling(lambda b, k, x: b.emit(relax.call_tir(k, x, vector(n - 4))), kernel(), vector(n))
    with pytest.raises(Undefined, match="negative extent"):
        Interpreter(module).call("main", [X])


@needs_jit
def test_a_kernel_of_several_outputs_gives_a_tuple() -> None:
    module = calling(lambda b, k, x: b.emit(relax.call_tir(k, x, [vector(), vector()])), kernel(2), vector())
    first, second = Interpreter(module).call("main", [X])
    assert first.tolist() == [1.5, 2.5, 3.5]
    assert second.tolist() == [2, 4, 6]


@needs_jit
def test_a_kernel_computes_in_its_dtypes_and_says_so() -> None:
    ty = vector(dtype="float16")

    def build(b: Any, k: Any, x: Any) -> Any:
        return b.emit(relax.call_tir(k, b.emit(op.multiply(x, x)), ty))

    interpreter = Interpreter(calling(build, kernel(dtype="float16"), ty), Precision.FLOAT64)
    result = interpreter.call("main", [np.array([1, 45.25, 2], "float16")])
    assert result.dtype == np.float64
    assert interpreter.rounded
    assert result.tolist() == [1.5, 2048, 4.5]  # 45.25 ** 2 is 2047.5625, in float16 2048; 2048.5 is 2048


@needs_jit
def test_what_a_kernel_overwrites_has_no_value_any_more() -> None:
    def once(b: Any, k: Any, x: Any, y: Any) -> Any:
        fresh = b.emit(op.add(x, x))
        return b.emit(op.add(b.emit(relax.op.call_tir_inplace(k, [fresh, y], [0], vector())), y))

    def twice(b: Any, k: Any, x: Any, y: Any) -> Any:
        fresh = b.emit(op.add(x, x))
        return b.emit(op.add(b.emit(relax.op.call_tir_inplace(k, [fresh, y], [0], vector())), fresh))

    body = in_place_kernel()
    one, two = (calling(each, _over_first(body), vector(), vector()) for each in (once, twice))
    before = X.copy()
    assert Interpreter(one).call("main", [X, X]).tolist() == [4, 8, 12]
    with pytest.raises(Undefined, match="overwritten"):
        Interpreter(two).call("main", [X, X])
    assert (before == X).all()


def _over_first(function: Any) -> Any:
    """A kernel of ``(x, y)`` that stores ``x + y`` to ``x``: script, for a tensor expression never overwrites."""
    text = """
@T.prim_func(private=True, s_tir=True)
def kernel(x: T.Buffer((T.int64(3),), "float32"), y: T.Buffer((T.int64(3),), "float32")):
    for i in range(3):
        with T.sblock("add"):
            at = T.axis.spatial(3, i)
            x[at] = x[at] + y[at]
"""
    try:
        return tvm.script.from_source(text)
    except Exception:  # the older releases' spelling
        return tvm.script.from_source(text.replace("sblock", "block").replace(", s_tir=True", ""))


@needs_jit
def test_a_lowered_function_writes_into_what_it_allocated() -> None:
    def build(b: Any, k: Any, x: Any) -> Any:
        first = b.emit(op.builtin.alloc_tensor(relax.ShapeExpr([3]), "float32", 0))
        b.emit(relax.Call(k, [x, first]))
        storage = b.emit(op.memory.alloc_storage(relax.ShapeExpr([12]), 0, "global", "uint8"))
        second = b.emit(op.memory.alloc_tensor(storage, 0, relax.ShapeExpr([3]), "float32"))
        b.emit(relax.Call(k, [first, second]))
        b.emit(op.memory.kill_tensor(first))
        return relax.Tuple([second])

    for precision in Precision:
        interpreter = Interpreter(calling(build, kernel(), vector()), precision)
        assert interpreter.call("main", [X])[0].tolist() == [2, 3, 4]


def test_a_function_in_destination_passing_style_fills_its_output() -> None:
    copied = computed(lambda x: relax.call_dps_packed("runtime.TVMTensorCopyFromTo", [x], out_ty=x.ty), X)
    assert copied.tolist() == X.tolist()


def test_a_packed_function_gives_what_it_gives() -> None:
    assert computed(lambda x: op.call_pure_packed("vm.builtin.shape_of", x, ty_args=relax.ShapeType([3])), X) == (
        ShapeValue((3,))
    )
    pair = relax.TupleType([vector(), vector()])
    both = computed(lambda x: op.call_pure_packed("vm.builtin.make_tuple", x, x, ty_args=pair), X)
    assert [each.tolist() for each in both] == [X.tolist()] * 2


def test_a_packed_function_that_nobody_registered_is_not_known() -> None:
    with pytest.raises(Unsupported, match="registered"):
        computed(lambda x: op.call_pure_packed("relaxfuzz.nobody", x, ty_args=vector()), X)


def test_an_error_of_a_packed_function_is_the_programs() -> None:
    wrong = relax.TensorType((4,), "float32")
    with pytest.raises(Raised):
        computed(lambda x: relax.call_dps_packed("runtime.TVMTensorCopyFromTo", [x], out_ty=wrong), X)


def test_a_consumed_argument_that_stays_as_it_was_may_be_read() -> None:
    def build(x: Any) -> Any:
        return op.call_inplace_packed("vm.builtin.copy", x, inplace_indices=[0], ty_args=vector())

    for precision in Precision:
        assert computed(build, X, precision=precision).tolist() == X.tolist()


def closures(invoke: Any) -> Any:
    """``main(x, y)``: a closure of ``f(a, b, c) = (a - b) * c`` with its last two arguments bound one by one."""
    builder = relax.BlockBuilder()
    a, b, c = (relax.Var(name, vector()) for name in "abc")
    with builder.function("f", [a, b, c], private=True):
        function = builder.emit_func_output(builder.emit(op.multiply(builder.emit(op.subtract(a, b)), c)))
    x, y = relax.Var("x", vector()), relax.Var("y", vector())
    with builder.function("main", [x, y], pure=False):
        one = builder.emit(op.make_closure(function, relax.Tuple([y])))
        two = builder.emit(op.make_closure(one, relax.Tuple([x])))
        builder.emit_func_output(builder.emit(invoke(two, relax.Tuple([y]), ty_args=vector())))
    return builder.get()


@pytest.mark.parametrize("invoke", [op.invoke_closure, op.invoke_pure_closure])
def test_bound_arguments_of_a_closure_come_last(invoke: Any) -> None:
    y = np.array([5, 6, 7], "float32")
    assert Interpreter(closures(invoke)).call("main", [X, y]).tolist() == [20, 24, 28]  # (y - x) * y


def printing(*calls: Any) -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 2), "float32"))
    with builder.function("main", [x], pure=False):
        for call in calls:
            builder.emit(call(x))
        builder.emit_func_output(x)
    return builder.get()


@needs_jit
def test_printing_writes_what_the_virtual_machine_writes() -> None:
    module = printing(
        lambda x: op.print(x, format="first {}"),
        lambda x: op.print(relax.ShapeExpr([2, 3]), x, format="{}, {}!"),
        lambda x: op.print(relax.Tuple([x, relax.const(3, "int8")]), format="pair {}"),
        lambda x: op.print(format="nothing"),
        lambda x: op.print(relax.ShapeExpr([4]), tirx.IntImm("int64", 7), format="{} {}"),
        lambda x: op.print(x, x),
    )
    array = np.array([[1.5, 2], [0.1, 1e20]], "float32")
    program = session().build(module)
    program.call("main", [array])
    wanted = trace(program.take_output(), True)
    assert wanted[0] == "first [[1.5e+00 2.0e+00]"
    for precision in Precision:
        interpreter = Interpreter(module, precision)
        interpreter.call("main", [array])
        assert trace(interpreter.printed, True) == wanted
    assert interpreter.printed[3] == "nothing\n"


def test_an_assertion_passes_or_ends_the_program_in_order() -> None:
    def check(holds: bool) -> Any:
        return lambda x: op.assert_op(relax.const(holds, "bool"), [relax.ShapeExpr([2])], format="wrong: {}")

    module = printing(check(True), lambda x: op.print(format="before"), check(False), lambda x: op.print(format="no"))
    interpreter = Interpreter(module)
    with pytest.raises(Raised, match=r"wrong: \(2,\)"):
        interpreter.call("main", [np.zeros((2, 2), "float32")])
    assert interpreter.printed == ["before\n"]


@pytest.mark.parametrize("mark", [op.builtin.stop_lift_params, op.memory.ensure_zero_offset])
def test_some_operators_are_the_identity(mark: Any) -> None:
    assert computed(mark, X) is not None
    assert computed(mark, X).tolist() == X.tolist()


def test_a_view_has_another_shape_dtype_and_beginning() -> None:
    array = np.arange(6, dtype="float32").reshape(2, 3)
    assert computed(lambda x: op.memory.view(x, (3, 2)), array).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert computed(lambda x: op.memory.view(x, (2,), None, 8), array).tolist() == [2, 3]
    bits = computed(lambda x: op.memory.view(x, (2, 3), "uint32"), np.full((2, 3), -1, "int32"))
    assert bits.dtype == np.uint32
    assert (bits == 2**32 - 1).all()
    ones = computed(lambda x: op.memory.view(x, (3,), "int32"), np.ones(3, "float32"), precision=Precision.FLOAT64)
    assert ones.tolist() == [0x3F800000] * 3


def test_a_view_never_leaves_its_tensor() -> None:
    built = module_of(lambda x: relax.Call(tvm.ir.Op.get("relax.memory.view"), _view_args(x)), relax.TensorType(ndim=1))
    assert Interpreter(built).call("main", [np.zeros(4, "float32")]).shape == (3,)
    with pytest.raises(Raised, match="beyond"):
        Interpreter(built).call("main", [np.zeros(3, "float32")])


def _view_args(x: Any) -> list[Any]:
    return [x, relax.ShapeExpr([3]), relax.Tuple([]), tirx.IntImm("int64", 4)]
