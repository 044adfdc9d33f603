"""Types without the devices on which they agree, so that the rest of them can be compared.

A repro script contains the source of this file: only TVM is used here.
"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm import relax


def without_agreed_devices(old: Any, new: Any) -> tuple[Any, Any]:
    """Both types without the devices on which they agree: equal ones, and one where ``old`` names none.

    ``is_base_of`` takes devices for the same only when they are one object, which they are not in a copy of a module.
    """
    if isinstance(old, relax.TupleType) and isinstance(new, relax.TupleType) and len(old.fields) == len(new.fields):
        pairs = [without_agreed_devices(*pair) for pair in zip(old.fields, new.fields, strict=True)]
        return relax.TupleType([left for left, _ in pairs]), relax.TupleType([right for _, right in pairs])
    if not isinstance(old, relax.TensorType) or not isinstance(new, relax.TensorType):
        return old, new
    if old.vdevice is None or tvm_ffi.structural_equal(old.vdevice, new.vdevice):
        return _nowhere(old), _nowhere(new)
    return old, new


def _nowhere(ty: Any) -> Any:
    return relax.TensorType(ty.shape, ty.dtype, None, -1 if ty.shape is not None else ty.ndim)
