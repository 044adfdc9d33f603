"""Functions of TVM's runtime, by the name under which this process knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from oracles.execution.effects import printed
from oracles.execution.values import Opaque, ShapeValue, from_tvm
from oracles.interpreter.errors import Raised, Unsupported
from oracles.interpreter.precision import Precision, is_float, numpy_dtype


@dataclass(frozen=True, slots=True)
class External:
    """A function value that is a packed function.

    Attributes:
        name: Its global symbol.
    """

    name: str


def declared(machine: Any, value: Any, ty: Any) -> Any:
    """A value as the program declares it: in ``Precision.FLOAT64`` floats are rounded to their declared dtype.

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
    """What a kernel or a packed function gave, in the precision of the interpreter."""
    if isinstance(value, np.ndarray) and machine.precision is Precision.FLOAT64 and is_float(value.dtype.name):
        machine.rounded = True
        return value.astype("float64")
    if isinstance(value, tuple):
        return tuple([raised_precision(machine, part) for part in value])
    if isinstance(value, Opaque):
        raise Unsupported(f"packed function that gives a {value.kind}")
    return value


def to_runtime(value: Any) -> Any:
    """A value as the runtime takes it; arrays are copied."""
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
    """Call a packed function.

    Args:
        machine: The interpreter.
        name: Global symbol of the function.
        arguments: Values; those that the program allocated itself have what the function wrote into them afterwards.
        types: Their types.
        outputs: Tensors of the runtime that follow the arguments.

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
