"""Frames: what is shared by the functions of a module under construction, and what belongs to one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import relax, tirx
from tvm.ir import GenericConst

from strategies.scope.bounds import LOW_PRECISION, Bounds
from strategies.scope.dims import Range
from strategies.scope.features import TYPE_FEATURES, Feature, type_features
from strategies.scope.values import Dim, Value

_SYMBOL_NAMES = ("n", "m", "k", "b", "h", "s", "t", "u", "q", "r")

CONST = "relax.const"
"""Stands among the operators that are aimed at for constants: these then mostly take constants, and own results."""

_BASE = ("float32",)
_MORE: dict[Feature, tuple[str, ...]] = {
    Feature.HALF: ("float16",),
    Feature.DOUBLE: ("float64",),
    Feature.INTEGERS: ("int32", "int64", "int8", "uint8", "int16", "uint32", "uint16"),
    Feature.BOOLEANS: ("bool",),
    Feature.LOW_PRECISION: LOW_PRECISION,
}


class Infeasible(Exception):
    """A request that cannot be met under the features of this case; the step is left undone."""


@contextlib.contextmanager
def setting(thing: Any, **attributes: Any) -> Iterator[None]:
    """Give some attributes of a scope or a frame other values for a while."""
    before = {name: getattr(thing, name) for name in attributes}
    try:
        for name, value in attributes.items():
            setattr(thing, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(thing, name, value)


@dataclass(frozen=True, slots=True)
class CalleeSignature:
    """The facts about a function that a caller must know.

    Attributes:
        var: Its global variable.
        parameters: Its parameters, with their bounds.
        result: What its result is bounded by, part by part.
        symbols: Range of each of its symbolic dims.
        casts: The shapes that its parameters of unknown shape are cast to.
        depth: Length of the longest chain of calls from it, itself counted.
        private: Whether it has no ``global_symbol``.
        typed: Whether its parameters are bound to a vdevice, which their arguments must share.
        impure: Whether a call of it may have an effect.
        shared: Symbolic dims of the caller that it mentions as they are; only a local function has some.
        group: Names of the functions that make it up: itself, and its partner in mutual recursion.
        returns: The closure that it returns, whose ``var`` the call gives.
    """

    var: Any
    parameters: tuple[Value, ...]
    result: Value
    symbols: dict[Any, Range]
    casts: dict[Any, tuple[Dim, ...]]
    depth: int = 1
    private: bool = False
    typed: bool = False
    impure: bool = False
    shared: tuple[Any, ...] = ()
    group: frozenset[str] = frozenset()
    returns: CalleeSignature | None = None


@dataclass(slots=True)
class ModuleFrame:
    """State that the functions of a module under construction share.

    Attributes:
        builder: The block builder that holds the module.
        features: The features that this case may use.
        executable: Whether the module must be executable on a CPU.
        callables: The functions that a later function may call.
        vdevices: The vdevice table, empty for a module without one.
        meshes: The meshes of devices so far over which distributed functions spread their tensors.
        kernels: Signatures of the kernels by what they compute, so that equal ones are shared.
        strict: Whether the caller wants only modules that build: what TVM should build and does not is left out, too.
        forbidden: What the caller forbade.
        rows: The operators that this case may use, each at its place in the table; ``None`` at the others.
        unrunnable: Those that never execute, when the case may use them.
        aimed: Names of the operators that the caller wants more of.
        dtypes: Element types that the features of this case allow.
        watched: What is forbidden and shows in a type, so that each binding must be looked at.
        idioms: Names of the idioms planted so far, near misses with a suffix.
        seeds_used: Fingerprints of the seeds whose functions were spliced in.
        function_room: How many more functions an idiom may add.
        constants: The constant tensors so far, some of which stand in several places.
    """

    builder: Any
    features: frozenset[Feature]
    executable: bool
    callables: list[CalleeSignature] = field(default_factory=list)
    vdevices: tuple[Any, ...] = ()
    meshes: list[Any] = field(default_factory=list)
    kernels: dict[Any, Any] = field(default_factory=dict)
    strict: bool = False
    forbidden: frozenset[Feature] = frozenset()
    rows: tuple[Any, ...] = ()
    unrunnable: tuple[Any, ...] = ()
    aimed: frozenset[str] = frozenset()
    dtypes: tuple[str, ...] = _BASE
    watched: frozenset[Feature] = frozenset()
    idioms: list[str] = field(default_factory=list)
    seeds_used: list[str] = field(default_factory=list)
    function_room: int = 2
    constants: list[Value] = field(default_factory=list)
    _shapes: dict[tuple[int, ...], Any] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        more = [dtype for feature, dtypes in _MORE.items() if feature in self.features for dtype in dtypes]
        self.dtypes = _BASE + tuple(more)
        self.watched = self.forbidden & (TYPE_FEATURES | {Feature.DUPLICATE_CODE, Feature.CONSTANTS})

    def permits(self, dtype: str) -> bool:
        """Say whether the caller did not forbid an element type."""
        return not any(dtype in dtypes for feature, dtypes in _MORE.items() if feature in self.forbidden)

    def refuse(self, ty: Any) -> None:
        """Raise ``Infeasible`` when a type shows what the caller forbade."""
        if self.watched and (clash := type_features(ty) & self.watched):
            raise Infeasible(f"forbidden: {', '.join(sorted(clash))}")

    def refuse_constants(self, expr: Any) -> None:
        """Raise ``Infeasible`` when a call takes a constant tensor that the caller forbade."""
        items = expr.args if isinstance(expr, relax.Call) else expr.fields if isinstance(expr, relax.Tuple) else [expr]
        for item in items:
            if isinstance(item, relax.Tuple):
                self.refuse_constants(item)
            elif isinstance(item, GenericConst) and isinstance(item.ty, relax.TensorType) and item.ty.ndim > 0:
                if Feature.CONSTANTS in self.forbidden:
                    raise Infeasible("constants are forbidden")
                self.refuse(item.ty)

    def take_room(self) -> None:
        """Count a function that an idiom adds; raises ``Infeasible`` when there is no room for one."""
        if self.function_room <= 0:
            raise Infeasible("no room for a function")
        self.function_room -= 1

    def next_number(self, kind: str) -> int:
        """Return 0, 1, 2, ... for each kind of name."""
        number = self._numbers.get(kind, 0)
        self._numbers[kind] = number + 1
        return number

    def fresh_name(self, stem: str) -> str:
        """Return a name, with a number behind it where it was given out before."""
        return f"{stem}{self.next_number(stem) or ''}"

    def shared_shape(self, dims: tuple[int, ...]) -> Any:
        """Return one ``ShapeExpr`` object for all uses of a static shape."""
        if dims not in self._shapes:
            self._shapes[dims] = relax.ShapeExpr(list(dims))
        return self._shapes[dims]

    def listed(self, module: Any) -> Any:
        """Return the module with its tables of devices and of meshes."""
        for name, table in (("vdevice", self.vdevices), ("mesh", self.meshes)):
            if table:
                module.update_global_info(name, list(table))
        return module

    @contextlib.contextmanager
    def builder_scope(self) -> Iterator[None]:
        """Make the builder the current one, as some operators' Python code expects."""
        relax.BlockBuilder._stack.append(self.builder)
        try:
            yield
        except BaseException:
            with contextlib.suppress(Exception):  # TVM warns of blocks that are left open
                while True:
                    self.builder._end_block()
            raise
        finally:
            relax.BlockBuilder._stack.pop()


@dataclass(slots=True)
class FunctionFrame:
    """One function under construction.

    Attributes:
        parameters: Its parameters so far, in order of their making.
        weights: Which of them are weights (they go last).
        weight_work: Values computed from weights alone.
        symbols: Range of each symbolic dim known in the function.
        symbol_list: The symbolic dims that its parameters define; more parameters may have them.
        awaited: Those drawn for a parameter that is still to be made: nothing else may have them.
        shape_symbols: Those that only a Shape parameter may define.
        cast_symbols: Those that only a cast defines, seen here.
        max_parameters: How many parameters it may get.
        casts: Shapes that tensors of unknown shape were cast to, by variable.
        device: The vdevice of its typed parameters, or ``None``.
        depth: Length of the longest chain of calls from it, itself counted.
        deepest: How long that chain may become.
        bound: Variables by the hash of what they are bound to, where something is forbidden.
        planted: Results of the idioms that it was to hold.
        attrs: Attributes that the function gets besides others.
        split_blocks: Whether two ordinary blocks stand side by side in the end.
        is_weighted: Whether it has ``num_input``.
        allowed: The actions that may be taken, by kind of place.
        used: Variables that some call or tuple takes.
        called: Whether a later function may call it.
        impure: Whether it has an effect so far.
        pure_only: Whether it must not get one.
        closures: Signatures of local functions and returned closures, by variable.
        nesting: How many local functions are open around the current point.
        local_symbols: Symbolic dims that parameters of the innermost of them define, ``None`` outside.
        planned: Features that should still occur in it, the next one last.
    """

    max_parameters: int = 5
    parameters: list[Value] = field(default_factory=list)
    weights: list[Value] = field(default_factory=list)
    weight_work: list[Value] = field(default_factory=list)
    symbols: dict[Any, Range] = field(default_factory=dict)
    symbol_list: list[Any] = field(default_factory=list)
    awaited: list[Any] = field(default_factory=list)
    shape_symbols: list[Any] = field(default_factory=list)
    cast_symbols: list[Any] = field(default_factory=list)
    casts: dict[Any, tuple[Dim, ...]] = field(default_factory=dict)
    device: Any = None
    depth: int = 1
    deepest: int = 3
    is_weighted: bool = False
    bound: dict[int, Any] = field(default_factory=dict)
    planted: list[Value] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    split_blocks: bool = False
    allowed: dict[tuple[bool, bool], list[Any]] = field(default_factory=dict)
    used: set[Any] = field(default_factory=set)
    called: bool = True
    impure: bool = False
    pure_only: bool = False
    closures: dict[Any, CalleeSignature] = field(default_factory=dict)
    nesting: int = 0
    local_symbols: frozenset[Any] | None = None
    planned: list[Feature] = field(default_factory=list)

    def require_host(self) -> None:
        """Raise ``Infeasible`` on a device, to which the parameters of a typed function would be bound."""
        if self.device is not None:
            raise Infeasible("the parameters of a typed function are bound to a device")

    def new_symbol(self, limits: Range) -> Any:
        """Return a fresh symbolic dim with its range."""
        count = len(self.symbols)
        name = _SYMBOL_NAMES[count] if count < len(_SYMBOL_NAMES) else f"n{count}"
        var = tirx.Var(name, "int64")
        self.symbols[var] = limits
        return var

    def await_symbol(self, limits: Range) -> Any:
        """Return a fresh symbolic dim that a parameter must define before anything else has it."""
        self.awaited.append(self.new_symbol(limits))
        return self.awaited[-1]

    def forget_symbols(self, mark: int) -> None:
        """Take back the awaited symbols behind the first ``mark``: the shape that they were made for is not used."""
        for var in self.awaited[mark:]:
            del self.symbols[var]
        del self.awaited[mark:]

    def _define_symbols(self, ty: Any) -> None:
        """Note the symbols that a parameter of a type defines: those that stand alone."""
        for symbol in relax.analysis.definable_tir_vars_in_type(ty):
            if symbol in self.awaited:
                self.awaited.remove(symbol)
                self.symbol_list.append(symbol)
            elif symbol not in self.symbol_list + self.shape_symbols:
                (self.shape_symbols if isinstance(ty, relax.ShapeType) else self.symbol_list).append(symbol)

    def tensor_type(self, dims: Sequence[Dim], dtype: str) -> Any:
        """Return the type of a tensor, with the function's vdevice where it has one."""
        return relax.TensorType(list(dims), dtype, self.device)

    def add_parameter(
        self, ty: Any, bounds: Bounds | None, *, actual: tuple[Dim, ...] | None = None, name: str | None = None
    ) -> Value:
        """Make a parameter; symbolic dims that stand alone in its type are defined from now on."""
        self._define_symbols(ty)
        var = relax.Var(name or f"p{len(self.parameters)}", ty)
        value = Value(var, ty, bounds, actual=actual, is_parameter=True)
        self.parameters.append(value)
        return value

    def add_tuple_parameter(self, parts: Sequence[Value]) -> Value:
        """Make a parameter that is a tuple of static tensors."""
        ty = relax.TupleType([part.ty for part in parts])
        var = relax.Var(f"t{len(self.parameters)}", ty)
        value = Value(var, ty, parts=tuple(parts), is_parameter=True)
        self.parameters.append(value)
        return value
