"""Types: their parts, the float dtypes of a module, devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.functions import function_name, reached_functions
from relaxkit.ir.walk import places, sequences


def has_distributed_tensors(function: Any) -> bool:
    """Say whether a type in a function is that of a distributed tensor."""
    return any(isinstance(ty, relax.distributed.DTensorType) for ty in types_in(function))


def types_in(function: Any) -> Iterator[Any]:
    """Types that a Relax function mentions, each with its parts: parameters, result, variables, values, type arguments.

    A type may come more than once.
    """
    yield from parts_of_type(function.ret_ty)
    for param in function.params:
        yield from parts_of_type(param.ty)
    for place in places(function):
        binding = place.binding
        yield from parts_of_type(binding.var.ty)
        if isinstance(binding, relax.MatchCast):
            yield from parts_of_type(binding.ty)
        value = binding.value
        yield from parts_of_type(value.ty)
        if isinstance(value, relax.Call):
            for argument in value.ty_args:
                yield from parts_of_type(argument)
        elif isinstance(value, relax.Function):
            yield from parts_of_type(value.ret_ty)
            for param in value.params:
                yield from parts_of_type(param.ty)
    for sequence in sequences(function):
        yield from parts_of_type(sequence.body.ty)


def parts_of_type(ty: relax.Type) -> Iterator[Any]:
    """Yield a type and what it is made of: the fields of tuples, the parameters and the result of functions."""
    if ty is None:
        return
    yield ty
    if isinstance(ty, relax.TupleType):
        for field in ty.fields:
            yield from parts_of_type(field)
    elif isinstance(ty, relax.FuncType):
        for param in ty.params or ():
            yield from parts_of_type(param)
        yield from parts_of_type(ty.ret)


# Which float dtypes a module computes in, or a part of it: the narrowest of them says how large a rounding is.

_FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")


def floats_in(text: str) -> tuple[str, ...]:
    """Return the float dtypes that the JSON of a module names."""
    return tuple(dtype for dtype in _FLOATS if f'"{dtype}"' in text)


def floats_of(module: tvm.IRModule, symbol: str) -> tuple[str, ...]:
    """Float dtypes in a public function, and in whatever it calls; raises ``KeyError`` where there is none."""
    reached = reached_functions(module, [function_name(module, symbol)])
    functions = {gv: function for gv, function in module.functions.items() if gv.name_hint in reached}
    return floats_in(tvm.ir.save_json(tvm.IRModule(functions)))


# Types without the devices on which they agree, so that the rest of them can be compared.
#
# A repro script contains the source of this file: only TVM is used here.


def without_agreed_devices(old: Any, new: Any) -> tuple[Any, Any]:
    """Return both types without the devices on which they agree: equal ones, and one where ``old`` names none.

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


def _nowhere(ty: relax.Type) -> Any:
    return relax.TensorType(ty.shape, ty.dtype, None, -1 if ty.shape is not None else ty.ndim)


def without_devices(ty: Any) -> Any:
    """Return a type of values, or of a function, that says of no tensor where it is."""
    if isinstance(ty, relax.TupleType):
        return relax.TupleType([*map(without_devices, ty.fields)])
    if isinstance(ty, relax.FuncType) and ty.params is not None:
        return relax.FuncType([*map(without_devices, ty.params)], without_devices(ty.ret), ty.purity)
    return _nowhere(ty) if isinstance(ty, relax.TensorType) else ty


def flat(ty: relax.Type) -> list[Any]:
    """Return the types that a type is made of, those inside of tuples in the place of these."""
    return [leaf for item in ty.fields for leaf in flat(item)] if isinstance(ty, relax.TupleType) else [ty]


def dims_of(ty: relax.Type) -> list[relax.Expr] | None:
    """Return the dims that a tensor or shape type spells out; ``None`` for every other type."""
    shape = ty.shape if isinstance(ty, relax.TensorType) else ty
    known = isinstance(shape, relax.ShapeExpr | relax.ShapeType) and shape.values is not None
    return list(shape.values) if known else None


def static_dims(ty: relax.Type) -> list[int] | None:
    """Return the dims of a tensor type of static shape; ``None`` for every other type."""
    dims = dims_of(ty) if isinstance(ty, relax.TensorType) else None
    known = dims is not None and all(isinstance(dim, tvm.tirx.IntImm) for dim in dims)
    return [int(dim) for dim in dims or ()] if known else None


def dims_in(ty: relax.Type) -> list[relax.Expr]:
    """Return the dims that the shapes inside of a type spell out."""
    return [dim for leaf in flat(ty) for dim in dims_of(leaf) or ()]
