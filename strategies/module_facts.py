"""Facts about a module that decide which constructor arguments of a pass make sense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax, tirx

from strategies.composites import EXTERNAL
from strategies.detect_kernels import is_lowered
from strategies.dims import symbols_of
from strategies.type_features import dtype_feature
from strategies.values import dims_of


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tensor parameter of known shape: its name, dims (symbolic ones by name, computed ones ``None``) and dtype."""

    name: str
    dims: tuple[int | str | None, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """A public Relax function: its name, tensor parameters, symbolic dims, and ``num_input`` (-1 without)."""

    name: str
    parameters: tuple[Parameter, ...]
    symbols: tuple[str, ...]
    num_input: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What the argument tables ask of a module.

    Attributes:
        functions: The public Relax functions, composites excepted.
        relax_functions: How many Relax functions there are, composites excepted.
        operators: Names of the operators that are called in the functions' own blocks.
        vdevices: Length of the vdevice table.
        kernels: Whether there are PrimFuncs.
        external: Whether there are functions for the external code generator.
        workspace: Whether an external function asks for a workspace.
        lowered: Whether a function is lowered already, in part or as a whole.
    """

    functions: tuple[FunctionFacts, ...] = ()
    relax_functions: int = 0
    operators: frozenset[str] = frozenset()
    vdevices: int = 0
    kernels: bool = False
    external: bool = False
    workspace: bool = False
    lowered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the public functions, ``main`` first when it is among them; ``("main",)`` when there are none."""
        names = sorted((f.name for f in self.functions), key=lambda name: name != "main")
        return tuple(names) or ("main",)


def facts_of(module: tvm.IRModule | None) -> Facts:
    """Collect the facts; of ``None``, those of an empty module."""
    if module is None:
        return Facts()
    functions, operators, count, kernels = [], set(), 0, False
    external = workspace = lowered = False
    for var, function in module.functions.items():
        if not isinstance(function, relax.Function):
            kernels = True
            continue
        operators |= _operators(function)
        lowered = lowered or is_lowered(function)
        attrs = function.attrs
        if attrs is not None and "Codegen" in attrs:
            external |= str(attrs["Codegen"]) == EXTERNAL
            workspace |= "WorkspaceSize" in attrs
        if attrs is not None and ("Composite" in attrs or "Codegen" in attrs):
            continue
        count += 1
        if attrs is not None and "global_symbol" in attrs:
            functions.append(_function(var.name_hint, function))
    vdevices = len(module.global_infos["vdevice"]) if "vdevice" in module.global_infos else 0
    return Facts(tuple(functions), count, frozenset(operators), vdevices, kernels, external, workspace, lowered)


def _function(name: str, function: Any) -> FunctionFacts:
    parameters = []
    symbols: dict[str, None] = {}
    for parameter in function.params:
        ty = parameter.ty
        if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr) and ty.dtype is not None:
            dims = dims_of(ty.shape)
            parameters.append(Parameter(parameter.name, tuple(_name(dim) for dim in dims), str(ty.dtype)))
            for dim in dims:
                if not isinstance(dim, int):
                    symbols.update((var.name, None) for var in symbols_of(dim))
    count = int(function.attrs["num_input"]) if "num_input" in function.attrs else -1
    return FunctionFacts(name, tuple(parameters), tuple(symbols), count)


def _name(dim: Any) -> int | str | None:
    if isinstance(dim, int):
        return dim
    return str(dim.name) if isinstance(dim, tirx.Var) else None


def _operators(function: Any) -> set[str]:
    found = set()
    for block in function.body.blocks:
        for binding in block.bindings:
            value = binding.value
            if isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.Op):
                found.add(value.op.name)
    return found


def array_text(parameter: Parameter, size: int) -> str:
    """Source text of an array that fits a parameter, symbolic dims being ``size``, elements in the default domain."""
    dims = tuple(size if isinstance(dim, str) else dim for dim in parameter.dims)
    count = 1
    for dim in dims:
        count *= dim or 0
    feature = dtype_feature(parameter.dtype)
    if parameter.dtype == "bool":
        numbers = f"np.arange({count}) % 2 == 0"
    elif feature is None or "float" in parameter.dtype:
        numbers = f"(np.arange({count}) * 7 % 17 - 8) / 8"
    elif parameter.dtype.startswith("uint"):
        numbers = f"np.arange({count}) % 4"
    else:
        numbers = f"np.arange({count}) % 5 - 2"
    return f'({numbers}).reshape({dims}).astype("{parameter.dtype}")'
