"""PrimFuncs: what one means is what it does when it is compiled and run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from oracles.execution.run import session
from oracles.interpreter.errors import Raised, Undefined, Unsupported
from oracles.interpreter.packed import declared, raised_precision, to_runtime
from oracles.interpreter.precision import numpy_dtype

KERNELS = 1024
"""Loaded kernels that are found without computing the hash of their PrimFunc."""


class _Refused(Exception):
    """The PrimFunc cannot be compiled alone."""


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
        function: The ``tirx.PrimFunc``.
        arguments: Values of its leading parameters, which stay as they are.
        types: Their types.
        outputs: Shape and dtype of each new tensor behind them, or the number of the argument that is overwritten.
        extra: Integers behind the outputs (``tir_vars`` of TVM before 0.27).

    Returns:
        The outputs.

    Raises:
        Unsupported: It cannot be compiled, or there is no JIT.
        Raised: It refuses its arguments.
    """
    run = loaded(function)
    passed = [to_runtime(declared(machine, value, ty)) for value, ty in zip(arguments, types, strict=True)]
    new = [tvm.runtime.empty(*each) for each in outputs if not isinstance(each, int)]
    try:
        run(*passed, *new, *extra)
    except Exception as error:
        raise Raised("kernel refuses its arguments") from error
    fresh = iter(new)
    tensors = [passed[each] if isinstance(each, int) else next(fresh) for each in outputs]
    return [raised_precision(machine, tensor.numpy()) for tensor in tensors]


def loaded(function: Any) -> Callable[..., None]:
    """The callable of a PrimFunc; raises ``Unsupported``."""
    if not isinstance(function, tirx.PrimFunc):
        raise Unsupported("kernel that is no PrimFunc of the module")
    try:
        return _loaded(function)
    except _Refused as error:
        raise Unsupported("kernel that is not compiled alone") from error


@functools.lru_cache(maxsize=KERNELS)
def _loaded(function: Any) -> Callable[..., None]:
    """Functions are told apart by object: the cache keeps them alive, so that no other takes the place of one."""
    kernels = session().kernels
    try:
        symbol = kernels.symbol(function)
        (module,) = kernels.modules({symbol: function})
        found: Callable[..., None] = module[symbol]
    except Exception as error:
        raise _Refused from error
    return found


def new_tensor(ty: Any, dim: Callable[[Any], int]) -> tuple[tuple[int, ...], str]:
    """Shape and dtype of a tensor of a type; raises ``Unsupported`` where the type leaves one open.

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
