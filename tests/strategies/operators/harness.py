"""One-operator modules: a row of the table drawn alone into a function, built by the minimal pipeline and run."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

from strategies.scope.bounds import Bounds, is_float
from strategies.scope.dims import dim_range

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from shared.operator_modules import ALL, ROW, Alone, draw_alone, draw_chain, scope_of

__all__ = ["ALL", "ROW", "Alone", "draw_alone", "draw_chain", "scope_of"]


def reference_passes() -> list[Any]:
    """The minimal pipeline: no memory planning, no fusion."""
    t = relax.transform
    return [
        t.RealizeVDevice(), relax.backend.DispatchSampling(), relax.backend.DispatchSortScan(), t.LambdaLift(),
        t.LegalizeOps(), t.ToNonDataflow(), t.RemovePurityChecking(), t.CallTIRRewrite(), t.LowerAllocTensor(),
        t.LowerRuntimeBuiltin(), t.ComputePrimValue(), t.VMShapeLower(), t.AttachGlobalSymbol(),
    ]  # fmt: skip


def inputs(module: Any, seed: int) -> tuple[list[Any], dict[Any, int]]:
    """Inputs of the default domain for ``main``, and the number chosen for each symbolic dim."""
    source = np.random.default_rng(seed)
    sizes: dict[Any, int] = {}

    def number(dim: Any) -> int:
        if isinstance(dim, tirx.IntImm):
            return int(dim)
        if isinstance(dim, tirx.Var):
            return sizes.setdefault(dim, int(source.integers(1, 5)))
        return evaluate(dim, sizes)

    made: list[Any] = []
    for param in module["main"].params:
        ty = param.ty
        if isinstance(ty, relax.ShapeType):
            made.append(tvm.runtime.ShapeTuple([number(dim) for dim in ty.values]))
        elif isinstance(ty, relax.TensorType):
            made.append(_array(source, [number(dim) for dim in ty.shape.values], str(ty.dtype)))
        else:
            made.append(int(source.integers(1, 5)))
    return made, sizes


def evaluate(dim: Any, sizes: dict[Any, int]) -> int:
    """The number that a dimension is, given its variables."""
    return dim_range(dim, {var: (size, size) for var, size in sizes.items()})[0]


def _array(source: np.random.Generator, shape: list[int], dtype: str) -> np.ndarray:
    if is_float(dtype):
        return np.asarray(source.integers(-128, 129, shape) / 64, dtype)
    lo, hi = (0, 1) if dtype == "bool" else (0, 3) if dtype.startswith("uint") else (-3, 3)
    return np.asarray(source.integers(lo, hi + 1, shape), dtype)


def run(alone: Alone, seed: int) -> list[str]:
    """Build and run; the complaints: a result of another shape or dtype than declared, not finite, or out of bounds."""
    with tvm.target.Target("llvm"):
        lowered = tvm.transform.Sequential(reference_passes())(alone.module)
    machine = relax.VirtualMachine(relax.build(lowered, target="llvm", relax_pipeline=None), tvm.cpu())
    arrays, sizes = inputs(alone.module, seed)
    given = [tvm.runtime.tensor(item) if isinstance(item, np.ndarray) else item for item in arrays]
    results = machine["main"](*given)
    complaints = []
    for value, result in zip(alone.values, results, strict=True):
        if isinstance(value.ty, relax.TensorType):
            complaints += check_tensor(value, result.numpy(), sizes)
        elif isinstance(value.ty, relax.TupleType):
            for field, part in itertools.zip_longest(value.ty.fields, result):
                if field.dtype is not None and str(field.dtype) != str(part.dtype):
                    complaints.append(f"declared {field}, got {part.dtype}")
    for array, tensor in zip(arrays, given, strict=True):
        if isinstance(array, np.ndarray) and not np.array_equal(array, tensor.numpy()):
            complaints.append("an input was overwritten")
    return complaints


def check_tensor(value: Any, array: np.ndarray, sizes: dict[Any, int]) -> list[str]:
    """Complaints about one tensor: its shape and dtype against the type, its elements against the bounds."""
    found = []
    if value.ty.dtype is not None and str(array.dtype) != str(value.ty.dtype):
        found.append(f"dtype {array.dtype}, declared {value.ty.dtype}")
    if isinstance(value.ty.shape, relax.ShapeExpr):
        known = {var: (size, size) for var, size in sizes.items()}
        declared = [dim_range(dim, known) for dim in value.ty.shape.values]
        if all(lo == hi for lo, hi in declared) and tuple(lo for lo, _ in declared) != array.shape:
            found.append(f"shape {array.shape}, declared {declared}")
    bounds: Bounds | None = value.bounds
    if not array.size:
        return found
    numbers = array.astype("float64")
    if not np.isfinite(numbers).all():
        return [*found, "not finite"]
    if bounds is not None and not (bounds.lo <= numbers.min() and numbers.max() <= bounds.hi):
        found.append(f"elements in [{numbers.min()}, {numbers.max()}], bounds {bounds}")
    if bounds is not None and bounds.integral and (numbers != np.floor(numbers)).any():
        found.append("not integral")
    return found
