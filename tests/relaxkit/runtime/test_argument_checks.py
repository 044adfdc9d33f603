"""Kernels with short checks refuse what kernels with TVM's own checks refuse, with the same kind of error."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, te, tirx, topi

from oracles.measure.comparison import compare
from relaxkit.runtime import DiskCache, ExecMode, KernelCache, Session
from relaxkit.runtime.compile import argument_checks as checker
from relaxkit.runtime.compile import packed_functions as short_checks
from relaxkit.runtime.compile.kernels import Checks, compile_object
from relaxkit.runtime.values import ARGUMENT_ERROR

pytestmark = pytest.mark.skipif(not hasattr(tvm_ffi, "structural_map"), reason="TVM until 0.26 keeps its own checks")
F32 = "float32"
Damage = Callable[[np.ndarray[Any, Any]], Any]


def tensor(value: Any, device: int = 0) -> Any:
    return tvm.runtime.tensor(np.array(value, order="C"), device=tvm.cpu(device))


DAMAGES: dict[str, Damage] = {
    "dim": lambda value: tensor(np.zeros((*value.shape[:-1], value.shape[-1] + 1), value.dtype)),
    "first dim": lambda value: tensor(np.zeros((value.shape[0] + 1, *value.shape[1:]), value.dtype)),
    "fewer": lambda value: tensor(value[..., :1]),
    "rank": lambda value: tensor(value[np.newaxis]),
    "lower rank": lambda value: tensor(value.reshape(-1)[0]),
    "dtype": lambda value: tensor(value.astype("int32")),
    "bits": lambda value: tensor(value.astype("float64")),
    "device": lambda value: tensor(value, device=1),
    "null": lambda value: None,
    "number": lambda value: 3,
    "text": lambda value: "a",
    "strides": lambda value: tvm_ffi.from_dlpack(np.repeat(value, 2, axis=-1)[..., ::2]),
}


def two_tensors() -> tuple[Any, list[Any]]:
    a, b = te.placeholder((2, 3), F32, name="a"), te.placeholder((3,), F32, name="b")
    values = [np.arange(6, dtype=F32).reshape(2, 3), np.ones(3, F32), np.zeros((2, 3), F32)]
    return te.create_prim_func([a, b, topi.add(a, b)]), values


def symbolic() -> tuple[Any, list[Any]]:
    n = tirx.Var("n", "int64")
    a, b = te.placeholder((n, 3), F32, name="a"), te.placeholder((n * 2, 3), F32, name="b")
    total = te.compute((n, 3), lambda i, j: a[i, j] + b[i * 2, j])
    values = [np.arange(6, dtype=F32).reshape(2, 3), np.ones((4, 3), F32), np.zeros((2, 3), F32)]
    return te.create_prim_func([a, b, total]), values


def with_a_scalar() -> tuple[Any, list[Any]]:
    a, b = te.placeholder((4,), F32, name="a"), te.placeholder((), F32, name="b")
    return te.create_prim_func([a, b, topi.multiply(a, b)]), [np.ones(4, F32), np.float32(3), np.zeros(4, F32)]


KERNELS = {"two_tensors": two_tensors, "symbolic": symbolic, "with_a_scalar": with_a_scalar}


@functools.cache
def compiled(name: str, checks: Checks) -> Any:
    kernel, _ = KERNELS[name]()
    cache = KernelCache(None, checks=checks)
    symbol = cache.symbol(kernel)
    (loaded,) = cache.objects({symbol: kernel})
    assert (checker.PREFIX.encode() in loaded.content) is (checks is Checks.SHORT)
    return loaded.module[symbol]


def complaint(name: str, checks: Checks, arguments: list[Any]) -> Exception | None:
    try:
        compiled(name, checks)(*arguments)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", KERNELS)
def test_what_fits_gives_the_same_bits(name: str) -> None:
    results = []
    for checks in Checks:
        _, values = KERNELS[name]()
        arguments = [tensor(value) for value in values]
        compiled(name, checks)(*arguments)
        results.append(arguments[-1].numpy())
    assert results[0].any()
    assert np.array_equal(*results)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", KERNELS)
def test_every_argument_that_does_not_fit_is_refused_as_by_tvm(name: str, damage: str) -> None:
    _, values = KERNELS[name]()
    seen = 0
    for place, value in enumerate(values):
        arguments = [tensor(each) for each in values]
        if not value.shape and damage not in ("rank", "dtype", "bits", "device", "null", "number", "text"):
            continue
        arguments[place] = DAMAGES[damage](value)
        theirs, ours = (complaint(name, checks, arguments) for checks in (Checks.TVM, Checks.SHORT))
        if theirs is None:
            # A symbolic dim that nothing contradicts; or an object whose bytes TVM reads as if they were a tensor's.
            assert ours is None
            continue
        assert type(ours) is type(theirs), place
        assert ARGUMENT_ERROR in str(ours)
        assert ARGUMENT_ERROR not in str(theirs)
        seen += 1
    assert seen


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("change", [lambda given: given[:-1], lambda given: [*given, given[0]]])
def test_the_number_of_arguments_is_checked(name: str, change: Callable[[list[Any]], list[Any]]) -> None:
    _, values = KERNELS[name]()
    for checks in Checks:
        assert isinstance(complaint(name, checks, change([tensor(value) for value in values])), TypeError)


def test_the_first_unfit_argument_is_named() -> None:
    _, values = two_tensors()
    arguments = [DAMAGES["dtype"](values[0]), DAMAGES["dim"](values[1]), tensor(values[2])]
    assert "dtype" in str(complaint("two_tensors", Checks.SHORT, arguments))
    arguments = [DAMAGES["dim"](values[0]), DAMAGES["dtype"](values[1]), tensor(values[2])]
    assert "shape" in str(complaint("two_tensors", Checks.SHORT, arguments))


def test_a_tensor_without_elements_needs_no_data() -> None:
    a = te.placeholder((2, 0), F32, name="a")
    cache = KernelCache(None)
    kernel = te.create_prim_func([a, topi.exp(a)])
    symbol = cache.symbol(kernel)
    (loaded,) = cache.objects({symbol: kernel})
    assert checker.PREFIX.encode() in loaded.content
    loaded.module[symbol](tensor(np.zeros((2, 0), F32)), tensor(np.zeros((2, 0), F32)))


class DLTensor(ctypes.Structure):
    """As dlpack.h has it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class Foreign:
    """A tensor of float32 by way of DLPack, with what no tensor of TVM's has."""

    def __init__(self, shape: tuple[int, ...], data: int, byte_offset: int = 0) -> None:
        dims = (ctypes.c_int64 * len(shape))(*shape)
        fields = (data, (1, 0), len(shape), (2, 32, 1, 0), dims, None, byte_offset, None, None)
        self.tensor = DLTensor(*fields)

    def __dlpack__(self, **_: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_a_tensor_needs_data_exactly_if_it_has_elements() -> None:
    nothing = Foreign((0, 3), 0)
    full = Foreign((2, 3), 0)
    fits = [tvm_ffi.from_dlpack(nothing), tensor(np.zeros((0, 3), F32)), tensor(np.zeros((0, 3), F32))]
    unfit = [tvm_ffi.from_dlpack(full), tensor(np.zeros((4, 3), F32)), tensor(np.zeros((2, 3), F32))]
    for checks in Checks:
        assert complaint("symbolic", checks, fits) is None
        refused = complaint("symbolic", checks, unfit)
        assert isinstance(refused, ValueError), checks
        assert "data" in str(refused)


def test_an_offset_is_refused() -> None:
    content = np.zeros(64, F32)
    shifted = Foreign((2, 3), content.ctypes.data, byte_offset=4)
    arguments = [tvm_ffi.from_dlpack(shifted), tensor(np.ones(3, F32)), tensor(np.zeros((2, 3), F32))]
    for checks in Checks:
        refused = complaint("two_tensors", checks, arguments)
        assert isinstance(refused, ValueError), checks
        assert "byte_offset" in str(refused)


def left_alone() -> dict[str, Any]:
    size = te.var("size", "int64")
    a, packed = te.placeholder((4,), F32, name="a"), te.placeholder((4,), "int4", name="a")
    strided = tirx.decl_buffer((4,), F32, name="a", strides=(2,))
    offset = tirx.decl_buffer((4,), F32, name="a", elem_offset=tirx.Var("offset", "int32"))
    moved = tirx.decl_buffer((4,), F32, name="a", elem_offset=4)
    doubled = te.compute((4,), lambda i: a[i] * 2)
    plain = te.create_prim_func([a, doubled])
    fails = tirx.AssertStmt(tirx.const(False, "bool"), tvm.ir.StringImm("ValueError"), [tvm.ir.StringImm("no")])
    deep = te.placeholder((1,) * (checker.MAX_RANK + 1), F32, name="deep")
    return {
        "a number": te.create_prim_func([a, size, te.compute((size,), lambda i: a[i])]),
        "elements of four bits": te.create_prim_func([packed, te.compute((4,), lambda i: packed[i])]),
        "strides": tirx.PrimFunc([strided], plain.body),
        "an offset": tirx.PrimFunc([offset], plain.body),
        "an offset that is known": tirx.PrimFunc([moved], plain.body),
        "asserts itself": plain.with_body(tirx.SeqStmt([fails, plain.body])),
        "more dims": te.create_prim_func([deep, topi.exp(deep)]),
        "nothing": tirx.PrimFunc([], tirx.Evaluate(tirx.const(0, "int32"))),
    }


LEFT = ("a number", "elements of four bits", "strides", "an offset", "an offset that is known", "asserts itself",
        "more dims", "nothing")  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_may_need_other_checks_keeps_those_of_tvm(name: str) -> None:
    assert short_checks.expected(left_alone()[name]) is None


def test_a_kernel_that_keeps_them_is_compiled_together_with_others() -> None:
    number, (plain, values) = left_alone()["a number"], two_tensors()
    cache = KernelCache(None)
    kernels = {cache.symbol(kernel): kernel for kernel in (number, plain)}
    (loaded,) = cache.objects(kernels)
    first, second = kernels
    given, taken = tensor(np.arange(4, dtype=F32)), tensor(np.zeros(3, F32))
    loaded.module[first](given, 3, taken)
    assert np.array_equal(taken.numpy(), [0, 1, 2])
    with pytest.raises(ValueError, match="on argument #2 when calling"):
        loaded.module[first](given, 4, taken)
    with pytest.raises(ValueError, match=ARGUMENT_ERROR):
        loaded.module[second](tensor(values[0]), tensor(values[1]), taken)


def test_the_checking_functions_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, _ = two_tensors()
    first = KernelCache(DiskCache(tmp_path))
    first.modules({first.symbol(kernel): kernel})
    monkeypatch.setattr(checker, "checker_object", lambda: pytest.fail("compiled again"))
    second = KernelCache(DiskCache(tmp_path))
    second.modules({second.symbol(kernel): kernel})
    assert second.from_disk == 1


def test_kernels_with_either_checks_are_kept_apart_on_disk(tmp_path: Path) -> None:
    kernel, _ = two_tensors()
    for checks in Checks:
        cache = KernelCache(DiskCache(tmp_path), checks=checks)
        (loaded,) = cache.objects({cache.symbol(kernel): kernel})
        assert (checker.PREFIX.encode() in loaded.content) is (checks is Checks.SHORT)


def misfit() -> Any:
    """A module whose kernel takes what only the run shows to be of another size; it prints first."""
    kernel, _ = two_tensors()
    builder, x, y = relax.BlockBuilder(), relax.Var("x", relax.TensorType(ndim=2, dtype=F32)), relax.Var("y")
    y = relax.Var("y", relax.TensorType((3,), F32))
    name = builder.add_func(kernel.without_attr("global_symbol"), "adds")
    with builder.function("main", [x, y], {"relax.force_pure": True}):
        builder.emit(relax.op.print(y, format="before: {}"))
        builder.emit_func_output(builder.emit(relax.call_tir(name, [x, y], relax.TensorType((2, 3), F32))))
    return builder.finalize()


@pytest.mark.parametrize("mode", list(ExecMode))
def test_a_program_fails_with_the_message_of_tvm(mode: ExecMode) -> None:
    program = Session().build(misfit(), mode)
    fits, unfit, y = np.ones((2, 3), F32), np.ones((3, 3), F32), np.ones(3, F32)
    assert compare(fits + y, program.call("main", [fits, y])) is None
    program.take_output()
    with pytest.raises(ValueError, match=r"Invalid a\.shape\[0\] on argument #0 when calling") as raised:
        program.call("main", [unfit, y])
    assert ARGUMENT_ERROR not in str(raised.value)
    assert len(program.take_output()) == 1


def test_the_call_that_is_made_again_is_observed_as_the_first() -> None:
    program = Session().build(misfit())
    seen: list[str] = []

    def observe(_function: Any, symbol: str, before: bool, _result: Any, *_: Any) -> int:
        seen.extend([symbol] if before and symbol.startswith("kernel_") else [])
        return 0

    program.instrument(observe)
    with pytest.raises(ValueError, match="on argument #0"):
        program.call("main", [np.ones((3, 3), F32), np.ones(3, F32)])
    assert len(seen) == 2
    assert seen[0] == seen[1]
    program.instrument(None)
    with pytest.raises(ValueError, match="on argument #0"):
        program.call("main", [np.ones((3, 3), F32), np.ones(3, F32)])
    assert len(seen) == 2


def test_what_fails_by_short_checks_alone_is_not_hidden() -> None:
    program = Session().build(misfit())
    alone = type(program)(program.machine)
    with pytest.raises(ValueError, match=ARGUMENT_ERROR + "shape"):
        alone.call("main", [np.ones((3, 3), F32), np.ones(3, F32)])


def test_objects_are_those_of_tvm_where_its_packed_functions_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, _ = two_tensors()
    monkeypatch.setattr(short_checks, "expected", lambda function: None)
    assert checker.PREFIX.encode() not in compile_object({"kernel": kernel})
