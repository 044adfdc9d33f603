"""Code outside of Relax: a PrimFunc means what it does when it is run; a packed function is called by its name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax, tirx

from relaxkit.interpreter.registry import Precision, Raised, Undefined, Unsupported, is_float, numpy_dtype
from relaxkit.runtime.run import session
from relaxkit.runtime.values import Opaque, ShapeValue, from_tvm, printed


@dataclass(frozen=True, slots=True)
class PackedFunction:
    """A function value that is a packed function, by its global symbol."""

    name: str


def declared(machine: Any, value: Any, ty: relax.Type) -> Any:
    """Return a value as the program declares it: in ``Precision.FLOAT64`` floats are rounded to their declared dtype.

    Raises:
        Unsupported: The type does not say the dtype.
    """
    if isinstance(value, np.ndarray):
        if machine.precision is not Precision.FLOAT64 or value.dtype != np.float64:
            return value
        if not isinstance(ty, relax.TensorType) or str(ty.dtype or "") in ("", "void"):
            raise Unsupported("float of unknown dtype for a kernel")
        machine.rounded = True
        return value.astype(numpy_dtype(str(ty.dtype)))
    if isinstance(value, tuple):
        fields = ty.fields if isinstance(ty, relax.TupleType) else [None] * len(value)
        return tuple([declared(machine, part, field) for part, field in zip(value, fields, strict=True)])
    return value


def raised_precision(machine: Any, value: Any) -> Any:
    """Return what a kernel or a packed function gave, in the precision of the interpreter."""
    if isinstance(value, np.ndarray) and machine.precision is Precision.FLOAT64 and is_float(value.dtype.name):
        machine.rounded = True
        return value.astype("float64")
    if isinstance(value, tuple):
        return tuple([raised_precision(machine, part) for part in value])
    if isinstance(value, Opaque):
        raise Unsupported(f"packed function that gives a {value.kind}")
    return value


def to_runtime(value: Any) -> Any:
    """Return a value as the runtime takes it; arrays are copied."""
    if isinstance(value, np.ndarray):
        return tvm.runtime.tensor(value)
    if isinstance(value, ShapeValue):
        return tvm.runtime.ShapeTuple(value.dims)
    if isinstance(value, tuple):
        return tvm_ffi.convert([to_runtime(part) for part in value])
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    raise Unsupported("function value as argument of a packed function")


def call_packed(machine: Any, name: str, arguments: Sequence[Any], types: Sequence[Any], *outputs: Any) -> Any:
    """Call a packed function; tensors that the program allocated itself have what it wrote into them afterwards.

    Raises:
        Unsupported: No such function is registered, or it gives what has no value here.
        Raised: The function raises.
    """
    if machine.has_symbol(name):
        raise Unsupported("packed call of a function of the module")
    function = tvm.get_global_func(name, allow_missing=True)
    if function is None:
        raise Unsupported("packed function that is not registered")
    plain = [declared(machine, value, ty) for value, ty in zip(arguments, types, strict=True)]
    passed = [to_runtime(value) for value in plain]
    try:
        with printed(machine.printed):
            result = function(*passed, *outputs)
    except Exception as error:
        raise Raised("packed function raises") from error
    for value, tensor in zip(arguments, passed, strict=True):
        if machine.allocated(value):
            value[...] = tensor.numpy()
    return raised_precision(machine, from_tvm(result))


KERNELS = 1024
"""Loaded kernels that are found without computing the hash of their PrimFunc."""


def run_kernel(
    machine: Any,
    function: Any,
    arguments: Sequence[Any],
    types: Sequence[Any],
    outputs: Sequence[tuple[tuple[int, ...], str] | int],
    extra: Sequence[int] = (),
) -> list[np.ndarray[Any, Any]]:
    """Run a PrimFunc in destination-passing style; it computes in its declared dtypes, whatever the precision.

    Args:
        machine: The interpreter; its ``rounded`` is set when floats were rounded to the kernel's dtypes.
        arguments: Values of its leading parameters, which stay as they are.
        outputs: Shape and dtype of each new tensor behind them, or the number of the argument that is overwritten.
        extra: Integers behind the outputs (``tir_vars`` of TVM before 0.27).

    Raises:
        Unsupported: It cannot be compiled, or there is no JIT.
        Raised: It refuses its arguments.
    """
    if not isinstance(function, tirx.PrimFunc):
        raise Unsupported("kernel that is not a PrimFunc of the module")
    run = _loaded(function)
    passed = [to_runtime(declared(machine, value, ty)) for value, ty in zip(arguments, types, strict=True)]
    new = [tvm.runtime.empty(*each) for each in outputs if not isinstance(each, int)]
    try:
        run(*passed, *new, *extra)
    except Exception as error:
        raise Raised("kernel refuses its arguments") from error
    fresh = iter(new)
    tensors = [passed[each] if isinstance(each, int) else next(fresh) for each in outputs]
    return [raised_precision(machine, tensor.numpy()) for tensor in tensors]


@functools.lru_cache(maxsize=KERNELS)
def _loaded(function: tirx.PrimFunc) -> Callable[..., None]:
    """Functions are told apart by object: the cache keeps them alive, so that no other takes the place of one."""
    kernels = session().kernels
    try:
        symbol = kernels.symbol(function)
        (module,) = kernels.modules({symbol: function})
        found: Callable[..., None] = module[symbol]
    except Exception as error:
        raise Unsupported("kernel that is not compiled alone") from error
    return found


def new_tensor(ty: relax.Type, dim: Callable[[Any], int]) -> tuple[tuple[int, ...], str]:
    """Return the shape and dtype of a tensor of a type; raises ``Unsupported`` where the type leaves one open.

    Raises ``Undefined`` for a negative extent (what a convolution or a slice has left of nothing): no tensor has one,
    and the runtime asks for all memory that there is.
    """
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        raise Unsupported("output of unknown shape")
    dtype = str(ty.dtype or "")
    numpy_dtype(dtype)
    dims = tuple([dim(each) for each in ty.shape.values])
    if min(dims, default=0) < 0:
        raise Undefined("tensor of a negative extent")
    return dims, dtype
