"""Facts about a module that decide which constructor arguments of a pass make sense."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import GenericConst

from relaxkit.ir.dims import symbols_of
from relaxkit.ir.functions import attributes, called_names, is_composite, is_public
from relaxkit.ir.lowered import allocates
from strategies.constructs.composites import EXTERNAL
from strategies.constructs.differentiable import Loss, loss_of
from strategies.scope.chains import Term, chains_of, longest
from strategies.scope.features import dtype_feature, is_prim_type
from strategies.scope.values import dims_of
from strategies.seeds.replacements import REPLACEMENTS


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tensor parameter of known shape: its name, dims (symbolic ones by name, computed ones ``None``) and dtype."""

    name: str
    dims: tuple[int | str | None, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """A public Relax function.

    Attributes:
        name: Its name.
        parameters: Its tensor parameters.
        symbols: Symbolic dims that its parameters define.
        num_input: The attribute, -1 without.
        outputs: Of a function of one dataflow block that returns variables of tensors of static shape: those.
        cast_symbols: Symbolic dims that a ``match_cast`` of its own blocks defines.
        called: Whether a function of the module calls it or passes it on.
    """

    name: str
    parameters: tuple[Parameter, ...]
    symbols: tuple[str, ...]
    num_input: int
    outputs: tuple[Parameter, ...] = ()
    cast_symbols: tuple[str, ...] = ()
    called: bool = False


@dataclass(slots=True)
class Facts:
    """The facts of a module that the argument tables ask for.

    Attributes:
        functions: The public Relax functions, composites excepted.
        relax_functions: How many Relax functions there are, composites excepted.
        vdevices: Length of the vdevice table.
        meshes: Length of the table of meshes of devices.
        external: Whether there are functions for the external code generator.
        workspace: Whether an external function asks for a workspace.
        lowered: Whether a function is lowered already, in part or as a whole.
        calls: How often each operator is called in the functions' own blocks, without ``relax.``.
        repeated: Whether two of those calls are equal.
        function_calls: Whether a function is called.
        local_functions: Whether a function is bound there.
        composites: Whether there are composite functions.
        simple: Whether there is neither an ``If`` nor a ``match_cast``.
        prims: Whether a primitive value is computed.
        constants: Whether a call takes nothing but constants.
        shared_left: Whether two ``matmul`` share their left side.
        constant_left: Whether the left side of a ``matmul`` is a constant.
        idioms: Names of the idioms that were planted in the module, where that is known.
        replaceable: Attribute ``operator_name`` of the kernels that ``AlterOpImpl`` may replace.
        losses: The public functions that ``Gradient`` may differentiate.
        chains: Chains of operators in dataflow blocks.
        not_single: Names of parameters, of whatever function, that are no tensors of float32.
    """

    functions: tuple[FunctionFacts, ...] = ()
    relax_functions: int = 0
    vdevices: int = 0
    meshes: int = 0
    external: bool = False
    workspace: bool = False
    lowered: bool = False
    calls: Counter[str] = field(default_factory=Counter)
    repeated: bool = False
    function_calls: bool = False
    local_functions: bool = False
    composites: bool = False
    simple: bool = True
    prims: bool = False
    constants: bool = False
    shared_left: bool = False
    constant_left: bool = False
    idioms: tuple[str, ...] = ()
    replaceable: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()
    chains: tuple[Term, ...] = ()
    not_single: frozenset[str] = frozenset()

    @property
    def operators(self) -> frozenset[str]:
        """Names of the operators that are called in the functions' own blocks."""
        return frozenset(f"relax.{name}" for name in self.calls)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the public functions, ``main`` first when it is among them; ``("main",)`` when there are none."""
        names = sorted((f.name for f in self.functions), key=lambda name: name != "main")
        return tuple(names) or ("main",)


_MATMUL = tvm.ir.Op.get("relax.matmul")


def _look(facts: Facts, function: Any) -> None:
    """Note what a function's own blocks hold."""
    marks: set[int] = set()
    lefts: set[Any] = set()
    for binding in (binding for block in function.body.blocks for binding in block.bindings):
        value = binding.value
        if isinstance(binding, relax.MatchCast) or isinstance(value, relax.If):
            facts.simple = False
        elif isinstance(value, relax.Function):
            facts.local_functions = True
        elif isinstance(value, relax.Call):
            if not isinstance(value.op, tvm.ir.Op):
                facts.function_calls = True
                continue
            facts.calls[str(value.op.name).removeprefix("relax.")] += 1
            if value.op == _MATMUL:
                left = value.args[0]
                facts.constant_left |= not isinstance(left, relax.Var)
                facts.shared_left |= left in lefts
                lefts.add(left)
            mark = int(tvm_ffi.structural_hash(value))
            facts.repeated |= mark in marks
            marks.add(mark)
            if value.args and all(isinstance(argument, (GenericConst, relax.ShapeExpr)) for argument in value.args):
                facts.constants = True
        elif is_prim_type(binding.var.ty) and not isinstance(value, (relax.Var, tirx.IntImm)):
            facts.prims = True


def facts_of(module: tvm.IRModule | None, idioms: Iterable[str] = ()) -> Facts:
    """Collect the facts; of ``None``, those of an empty module.  ``idioms`` are those planted in it."""
    facts = Facts(idioms=tuple(idioms))
    if module is None:
        return facts
    functions, losses = [], []
    chains: list[Term] = []
    names: set[str] = set()
    not_single: set[str] = set()
    for var, function in module.functions.items():
        attrs = attributes(function)
        if not isinstance(function, relax.Function):
            if "operator_name" in attrs:
                names.add(str(attrs["operator_name"]))
            continue
        _look(facts, function)
        not_single |= {
            str(param.name)
            for param in function.params
            if not (isinstance(param.ty, relax.TensorType) and str(param.ty.dtype) == "float32")
        }
        facts.lowered = facts.lowered or allocates(function)
        if "Codegen" in attrs:
            facts.external |= str(attrs["Codegen"]) == EXTERNAL
            facts.workspace |= "WorkspaceSize" in attrs
        if is_composite(function):
            facts.composites |= "Composite" in attrs
            continue
        facts.relax_functions += 1
        chains += chains_of(function)
        if is_public(function):
            functions.append(_function(var.name_hint, function))
            if (loss := loss_of(var.name_hint, function)) is not None:
                losses.append(loss)
    called = called_names(module) if facts.function_calls else ()
    facts.functions = tuple(replace(each, called=each.name in called) for each in functions)
    facts.replaceable = tuple(sorted(name for name in names if name.partition(".")[0] in REPLACEMENTS))
    facts.vdevices = len(module.global_infos.get("vdevice", ()))
    facts.meshes = len(module.global_infos.get("mesh", ()))
    facts.losses, facts.chains, facts.not_single = tuple(losses), longest(chains), frozenset(not_single)
    return facts


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
    cast = {var.name: None for var in _cast_dims(function) if var.name not in symbols}
    return FunctionFacts(name, tuple(parameters), tuple(symbols), count, _outputs(function), tuple(cast))


def _cast_dims(function: Any) -> Iterator[Any]:
    """List symbolic dims of tensors that a ``match_cast`` in the function's own blocks may define."""
    for block in function.body.blocks:
        for binding in block.bindings:
            if isinstance(binding, relax.MatchCast) and isinstance(binding.ty, relax.TensorType):
                yield from relax.analysis.definable_tir_vars_in_type(binding.ty)


def _outputs(function: Any) -> tuple[Parameter, ...]:
    """Return what a function of one dataflow block returns, when that is variables of tensors of static shape."""
    blocks, result = function.body.blocks, function.body.body
    if len(blocks) != 1 or not isinstance(blocks[0], relax.DataflowBlock):
        return ()
    returned = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    found = []
    for each in returned:
        ty = each.ty
        if not isinstance(each, relax.Var) or not isinstance(ty, relax.TensorType) or ty.dtype is None:
            return ()
        dims = dims_of(ty.shape) if isinstance(ty.shape, relax.ShapeExpr) else (None,)
        if not all(isinstance(dim, int) for dim in dims):
            return ()
        found.append(Parameter(each.name, tuple(_name(dim) for dim in dims), str(ty.dtype)))
    return tuple(found)


def _name(dim: Any) -> int | str | None:
    if isinstance(dim, int):
        return dim
    return str(dim.name) if isinstance(dim, tirx.Var) else None


def array_text(parameter: Parameter, size: int, way: int = 0) -> str:
    """Return source text of an array that fits a parameter: symbolic dims are ``size``, elements in the default domain.

    Of the ``way``s in which elements vary, the last is that they do not.
    """
    dims = tuple(size if isinstance(dim, str) else dim for dim in parameter.dims)
    count = math.prod(dim or 0 for dim in dims)
    feature = dtype_feature(parameter.dtype)
    counted = f"np.full({count}, 3)" if way == 3 else f"np.arange({count}) * {(1, 3, 7)[way]}"
    if parameter.dtype == "bool":
        numbers = f"{counted} % 2 == 0"
    elif feature is None or "float" in parameter.dtype:
        numbers = f"({counted} * 7 % 17 - 8) / 8"
    elif parameter.dtype.startswith("uint"):
        numbers = f"{counted} % 4"
    else:
        numbers = f"{counted} % 5 - 2"
    return f'({numbers}).reshape({dims}).astype("{parameter.dtype}")'
