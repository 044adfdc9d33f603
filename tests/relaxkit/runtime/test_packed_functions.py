"""Packed functions that we write in place of TVM's: what they unpack, and what of TVM's is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import ml_dtypes  # noqa: F401  (gives NumPy the names bfloat16 and float8_*; a dependency of TVM itself)
import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import te, tirx, topi

from relaxkit.runtime import KernelCache
from relaxkit.runtime.compile import argument_checks as checker
from relaxkit.runtime.compile import packed_functions as short_checks
from relaxkit.runtime.compile.kernels import Checks, compile_object, kernel_target, object_of

pytestmark = pytest.mark.skipif(not hasattr(tvm_ffi, "structural_map"), reason="TVM until 0.26 keeps its own")
F32 = "float32"
GLOBAL = "relaxfuzz.test.kernel"


def tensor(value: Any) -> Any:
    return tvm.runtime.tensor(np.array(value, order="C"))


def code(kernel: Any) -> str:
    """The LLVM IR of the functions that a kernel with short checks is."""
    module = tvm.IRModule({tvm.ir.GlobalVar("kernel"): kernel.with_attr("global_symbol", "kernel")})
    text = str(short_checks.library(module, kernel_target()).inspect_source("ll"))
    return "\n".join(re.findall(r"^define [^{]*@[^{]*(?:kernel|main).*?^}", text, re.MULTILINE | re.DOTALL))


def loaded(kernel: Any, checks: Checks = Checks.SHORT) -> Any:
    cache = KernelCache(None, checks=checks)
    symbol = cache.symbol(kernel)
    (found,) = cache.objects({symbol: kernel})
    assert (checker.PREFIX.encode() in found.content) is (checks is Checks.SHORT)
    return found.module[symbol]


def results(kernel: Any, *values: Any) -> list[np.ndarray[Any, Any]]:
    """What a kernel writes to its last argument, with either checks."""
    written = []
    for checks in (Checks.TVM, Checks.SHORT):
        arguments = [tensor(value) for value in values]
        loaded(kernel, checks)(*arguments)
        written.append(arguments[-1].numpy())
    return written


def added(dtype: str = F32) -> Any:
    a, b = te.placeholder((4, 3), dtype, name="a"), te.placeholder((3,), dtype, name="b")
    return te.create_prim_func([a, b, topi.add(a, b)])


def in_two_steps(size: int) -> Any:
    a = te.placeholder((size,), F32, name="a")
    doubled = te.compute((size,), lambda i: a[i] * 2, name="doubled")
    return te.create_prim_func([a, te.compute((size,), lambda i: doubled[size - 1 - i] + 1)])


def test_a_kernel_is_one_function_that_looks_into_no_argument() -> None:
    text = code(added())
    assert text.count("define ") == 1
    assert not re.search(r"_strides|_shape|type_index", text)


def test_addresses_of_dims_that_are_not_known_are_unpacked_with_the_data() -> None:
    n, m = tirx.Var("n", "int64"), tirx.Var("m", "int64")
    a, b = te.placeholder((n, 3), F32, name="a"), te.placeholder((m, n), F32, name="b")
    text = code(te.create_prim_func([a, b, te.compute((m, n), lambda i, j: a[j, 0] + b[i, j])]))
    assert text.count("define ") == 1
    assert text.count(f"@{checker.DIM}(") == 2
    assert text.count(f"@{checker.SAME}(") == 3


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "float16", "bfloat16", "float8_e4m3fn"])
def test_elements_of_any_dtype_are_found(dtype: str) -> None:
    a = te.placeholder((4, 3), dtype, name="a")
    kernel = te.create_prim_func([a, te.compute((4, 3), lambda i, j: a[3 - i, j])])
    values = np.arange(12).reshape(4, 3)
    values = values.astype(dtype)
    theirs, ours = results(kernel, values, np.zeros_like(values))
    assert ours.tobytes() == theirs.tobytes() == values[::-1].tobytes()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_dims_have_the_dtype_of_their_variable(dtype: str) -> None:
    n = tirx.Var("n", dtype)
    a, b = te.placeholder((n, 2), F32, name="a"), te.placeholder((n * 2 + 1,), F32, name="b")
    kernel = te.create_prim_func([a, b, te.compute((n, 2), lambda i, j: a[i, j] + b[i * 2] + n.astype(F32))])
    a_value, b_value, nothing = np.ones((5, 2), F32), np.arange(11, dtype=F32), np.zeros((5, 2), F32)
    theirs, ours = results(kernel, a_value, b_value, nothing)
    assert np.array_equal(theirs, ours)
    assert ours[-1, 0] == 14
    with pytest.raises(ValueError, match="symbolic shape"):
        loaded(kernel)(tensor(a_value), tensor(b_value[:-1]), tensor(nothing))
    with pytest.raises(ValueError, match="symbolic shape"):
        loaded(kernel)(tensor(a_value), tensor(b_value), tensor(nothing[1:]))


def test_a_variable_that_no_dim_is_remains_what_tvm_complains_of() -> None:
    n = tirx.Var("n", "int64")
    a = te.placeholder((n * 2,), F32, name="a")
    kernel = te.create_prim_func([a, te.compute((n * 2,), lambda i: a[i] + 1)])
    with pytest.raises(Exception, match="not passed in as API arguments"):
        compile_object({"kernel": kernel})


def test_loops_run_in_parallel() -> None:
    schedule = tvm.s_tir.Schedule(in_two_steps(4096))
    for block in ("doubled", "compute"):
        schedule.parallel(*schedule.get_loops(schedule.get_sblock(block)))
    kernel = schedule.mod["main"]
    assert "TVMBackendParallelLaunch" in code(kernel)
    values = np.arange(4096, dtype=F32)
    theirs, ours = results(kernel, values, np.zeros(4096, F32))
    assert np.array_equal(ours, theirs)
    assert np.array_equal(ours, values[::-1] * 2 + 1)


def test_memory_that_a_kernel_allocates_is_freed_before_it_returns() -> None:
    kernel = in_two_steps(4096)
    text = code(kernel)
    assert (
        text.index("@__TVMBackendAllocWorkspace") < text.index("@__TVMBackendFreeWorkspace") < text.index("ret i32 0")
    )
    values = np.arange(4096, dtype=F32)
    theirs, ours = results(kernel, values, np.zeros(4096, F32))
    assert np.array_equal(ours, theirs)


def test_a_kernel_that_returns_something_itself_keeps_the_function_of_tvm() -> None:
    plain = in_two_steps(4)
    assert short_checks.expected(plain) is not None
    returns = plain.with_body(tirx.SeqStmt([plain.body, tirx.Return(tirx.const(1, "int32"))]))
    assert short_checks.expected(returns) is None


def calls() -> Any:
    """A kernel that calls another one, by way of a packed function, with tensors that it makes on its stack."""
    a, b, c = (tirx.decl_buffer(shape, F32) for shape in ((4, 3), (3,), (4, 3)))
    return tirx.PrimFunc([a, b, c], tirx.Evaluate(tirx.call_packed(GLOBAL, a, b, c)))


@pytest.fixture
def called() -> Iterator[None]:
    tvm.register_global_func(GLOBAL, loaded(added()), override=True)
    yield
    tvm_ffi.registry.remove_global_func(GLOBAL)


@pytest.mark.usefixtures("called")
@pytest.mark.parametrize("checks", Checks)
def test_tensors_may_be_objects_or_pointers(checks: Checks) -> None:
    a, b, c = np.arange(12, dtype=F32).reshape(4, 3), np.arange(3, dtype=F32), np.zeros((4, 3), F32)
    arguments = [tensor(each) for each in (a, b, c)]
    loaded(calls(), checks)(*arguments)
    assert np.array_equal(arguments[-1].numpy(), a + b)
    arguments = [tensor(each) for each in (a, b, c)]
    loaded(added())(*arguments)
    assert np.array_equal(arguments[-1].numpy(), a + b)


def test_what_is_compiled_for_another_target_is_as_it_would_be_without_our_options_of_llvm() -> None:
    module = tvm.IRModule({tvm.ir.GlobalVar("kernel"): added().with_attr("global_symbol", "kernel")})
    plain = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    before = object_of(module, plain)
    with_options = object_of(module)
    assert object_of(module, plain) == before
    assert len(with_options) < len(before)


def test_passes_run_with_the_configuration_of_the_context() -> None:
    schedule = tvm.s_tir.Schedule(in_two_steps(8))
    for block in ("doubled", "compute"):
        schedule.vectorize(*schedule.get_loops(schedule.get_sblock(block)))
    kernel = schedule.mod["main"]
    assert "<8 x float>" in code(kernel)
    with tvm.transform.PassContext(config={"tirx.disable_vectorize": True}):
        assert "<8 x float>" not in code(kernel)


def test_passes_that_are_left_out_are_passes_that_would_run() -> None:
    seen: set[str] = set()

    @tvm.instrument.pass_instrument
    class Names:
        def run_after_pass(self, _module: Any, info: Any) -> None:
            seen.add(str(info.name))

    whole, _ = short_checks._pipeline()
    with tvm.transform.PassContext(instruments=[Names()]):
        whole(tvm.IRModule({}))
    assert set(short_checks._LEFT_OUT) <= seen
    seen.clear()
    with short_checks._context(disabled_pass=list(short_checks._LEFT_OUT), instruments=[Names()]):
        whole(tvm.IRModule({}))
    assert seen
    assert not set(short_checks._LEFT_OUT) & seen
