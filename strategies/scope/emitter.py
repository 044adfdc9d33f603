"""The block under construction: what is bound in it, and what became visible by that.

One way leads into a function's body, :meth:`BindingEmitter.emit`; it refuses what the caller of ``ir_modules`` forbade,
and makes an output of what must outlive a dataflow block.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tvm_ffi
from tvm import relax
from tvm.ir import Op

from relaxkit.ir.dims import symbols_of
from relaxkit.ir.types import flat
from strategies.scope.bounds import Bounds, is_float
from strategies.scope.choices import Choices, Draw
from strategies.scope.features import Feature
from strategies.scope.frame import FunctionFrame, Infeasible, ModuleFrame
from strategies.scope.vague import call_operands, is_known, is_tensor, vague, with_operands, with_vague_operands
from strategies.scope.values import Dim, Value, dims_of

LOOSE = 12
"""How often the type of a call says less than is known where that is on, in 64ths."""
LOOSE_AIMED = 48
"""The same for the operands of an operator that is aimed at."""


class BindingEmitter(Choices):
    """Binds expressions in the open block of a function.

    Attributes:
        draw: The Hypothesis draw function; prefer the small draws of :class:`~strategies.scope.choices.Choices`.
        features: The features that this case may use.
        builder: The ``relax.BlockBuilder`` with an open block.
        executable: Whether the module must be executable on a CPU.
        module: What the functions of the module share.
        frame: The function under construction.
        values: The visible values, oldest first.
        in_dataflow: Whether the open block is a dataflow block.
        keep_outputs: While true, every value emitted in a dataflow block becomes one of its outputs.
        outputs: Outputs of the open dataflow block so far.
        loosens: How often a call's type, or its operands' types, say less than is known, in 64ths.
    """

    def __init__(self, draw: Draw, module: ModuleFrame, frame: FunctionFrame) -> None:
        super().__init__(draw)
        self.module = module
        self.frame = frame
        self.features = module.features
        self.builder = module.builder
        self.executable = module.executable
        self.values: list[Value] = []
        self.in_dataflow = False
        self.keep_outputs = False
        self.outputs = 0
        self.loosens = LOOSE if self.has(Feature.VAGUE_TYPES) or self.has(Feature.VAGUE_OPERANDS) else 0

    def has(self, feature: Feature) -> bool:
        """Say whether a feature is on in this case."""
        return feature in self.features

    def forbids(self, feature: Feature) -> bool:
        """Say whether the caller of ``ir_modules`` forbade a feature (more than that it is off in this case)."""
        return feature in self.module.forbidden

    def emit(
        self,
        expr: Any,
        bounds: Bounds | None = None,
        hint: str = "lv",
        *,
        parts: Sequence[Value] = (),
        part_of: Value | None = None,
        device: int | None = None,
    ) -> Value:
        """Bind ``expr`` to a new variable that later requests see; returns it with the type that TVM inferred.

        Args:
            expr: A leaf or a call of leaves.
            bounds: What every element of the result lies in, for all inputs of the default domain.
            hint: Name of the variable in a dataflow or ordinary block.
            parts: For a tuple, what is known of its elements.
            part_of: For a ``TupleGetItem``, the tuple: what is known of the element is taken from it.
            device: Index of the vdevice that the value was moved to.

        Raises:
            Infeasible: when the caller of ``ir_modules`` forbade what the result would be.
        """
        if isinstance(expr, relax.Call) and len(expr.args) == 1 and expr.op in _variables_only():
            (argument,) = expr.args
            if not isinstance(argument, relax.Var):
                expr = relax.Call(expr.op, [self.emit(argument, bounds).expr], expr.attrs)
        if self.module.watched:
            expr = self.builder.normalize(expr)
            self.module.refuse(expr.ty)
            self.module.refuse_constants(expr)
            if (known := self._repeated(expr)) is not None:
                return known
        self._use(expr)
        if (
            self.loosens
            and isinstance(expr, relax.Call)
            and self.chance(LOOSE_AIMED if self._is_aimed(expr) else self.loosens)
        ):
            made = self._loosened(expr, Value(None, None, bounds, tuple(parts), device=device))
            if made is not None:
                return made
        output = False
        if self.in_dataflow:
            expr = self.builder.normalize(expr)
            if isinstance(expr.ty, relax.ShapeType) and self.forbids(Feature.UNUSED_OUTPUTS):
                raise Infeasible("a shape must be an output, which nothing may come to use")
            # A type may speak of a shape variable only when that is seen outside of the block, and not outlive it.
            output = (self.keep_outputs and not _depends(expr.ty)) or isinstance(expr.ty, relax.ShapeType)
        if output:
            var = self.builder.emit_output(expr, "gv")
            self.outputs += 1
        else:
            var = self.builder.emit(expr, hint)
        if self.module.watched:
            self.frame.bound[tvm_ffi.structural_hash(expr)] = var
        if not output and _depends(
            var.ty
        ):  # it speaks of a shape variable, which must not be seen outside of the block
            return Value(var, var.ty, bounds)
        if part_of is not None and part_of.parts:
            part = part_of.parts[expr.index]
            return self.see(Value(var, var.ty, part.bounds, part.parts, part.actual, part.device))
        return self.see(Value(var, var.ty, bounds, tuple(parts), device=device))

    def _is_aimed(self, call: Any) -> bool:
        return isinstance(call.op, Op) and call.op.name in self.module.aimed and self.has(Feature.VAGUE_OPERANDS)

    def _loosened(self, expr: Any, known: Value) -> Value | None:
        """Bind a call whose declared type, or whose operands' types, say less than is known, and a cast that knows
        again; ``None`` where there is nothing to know.

        Args:
            expr: The call.
            known: What is known of the result besides its type.
        """
        expr = self.builder.normalize(expr)
        ty = expr.ty
        if not is_known(ty):
            return None
        mark = tvm_ffi.structural_hash(expr) if self.module.watched else None
        aimed = self._is_aimed(expr)
        both = self.has(Feature.VAGUE_TYPES) and not aimed
        loosens = self.has(Feature.VAGUE_OPERANDS) and not (both and self.index(2))
        if loosens and (chosen := with_vague_operands(self, self.builder, expr, together=aimed)):
            given = call_operands(expr)
            for operand, less in chosen:
                forgotten = self.forgotten(given[operand[0]], less)
                for place in operand:
                    given[place] = forgotten
            expr = self.builder.normalize(with_operands(expr, given))
            declared = expr.ty
        elif self.has(Feature.VAGUE_TYPES):
            declared = vague(self, ty)
        else:
            return None
        outlives = self.in_dataflow and self.keep_outputs
        kind = relax.DataflowVar if self.in_dataflow and not outlives else relax.Var
        var = kind(self.builder.get_unique_name("gv" if outlives else "lv"), declared)
        self.builder.emit_normalized(relax.VarBinding(var, expr))
        self.outputs += outlives
        if is_tensor(ty):
            self.see(Value(var, declared, known.bounds, actual=dims_of(ty.shape), device=known.device))
        made = self.cast_variable(var, ty)
        if mark is not None:
            self.frame.bound[mark] = made
        return self.see(Value(made, ty, known.bounds, known.parts, device=known.device))

    def forgotten(self, variable: Any, less: Any) -> Any:
        """Return a variable of a type that says less."""
        return self.builder.match_cast(variable, less, "vague")

    def emit_rounded(self, expr: Any, bounds: Bounds, dtype: str, steps: int = 4) -> Value:
        """Emit a call whose elements lie in ``bounds``: widened for the rounding of a float, whole for an integer.

        ``steps`` says how often a result of low precision is rounded on the way.
        """
        if is_float(dtype):
            return self.emit(expr, bounds.rounded_as(dtype, steps))
        return self.emit(expr, Bounds(bounds.lo // 1, -(-bounds.hi // 1), True))

    def emit_tuple(self, expr: Any, types: Sequence[Any], bounds: Sequence[Bounds | None]) -> Value:
        """Emit what gives a tuple of values of these types and bounds."""
        return self.emit(expr, parts=[Value(None, ty, known) for ty, known in zip(types, bounds, strict=True)])

    def item(self, whole: Value, index: int) -> Value:
        """Bind an element of a tuple, with what is known of it."""
        return self.emit(relax.TupleGetItem(whole.expr, index), part_of=whole)

    def _use(self, expr: Any) -> None:
        """Remember the variables that a call or tuple takes."""
        items = expr.args if isinstance(expr, relax.Call) else expr.fields if isinstance(expr, relax.Tuple) else ()
        for item in items:
            if isinstance(item, relax.Var):
                self.frame.used.add(item)
            elif isinstance(item, relax.Tuple):
                self._use(item)

    def _repeated(self, expr: Any) -> Value | None:
        """Return the value bound to an equal call, where duplicates are forbidden; ``Infeasible`` when it is gone."""
        if not self.forbids(Feature.DUPLICATE_CODE) or not isinstance(expr, (relax.Call, relax.Tuple)):
            return None
        mark = tvm_ffi.structural_hash(expr)
        var = self.frame.bound.get(mark)
        if var is None:
            return None
        for value in self.values:
            if var.same_as(value.expr):
                return value
        raise Infeasible("bound before, and out of sight")

    def variable(self, value: Value) -> Value:
        """Return the value as a variable, for the few operators that take no constant."""
        if isinstance(value.expr, relax.Var):
            return value
        if self.forbids(Feature.ALIASES) and value.rank >= 0:
            return self.emit(relax.op.permute_dims(value.expr, list(range(value.rank))), value.bounds)
        return self.emit(value.expr, value.bounds)

    def see(self, value: Value) -> Value:
        """Make a value visible."""
        self.values.append(value)
        return value

    def match_cast(self, value: Value, dims: Sequence[Dim], dtype: str | None = None) -> Value:
        """Bind ``match_cast(value, Tensor(dims, dtype))``; the dims must hold at run time.

        Raises:
            Infeasible: when the caller of ``ir_modules`` forbade casts.
        """
        if self.forbids(Feature.MATCH_CAST):
            raise Infeasible("casts are forbidden")
        ty = relax.TensorType(list(dims), dtype or value.dtype, value.ty.vdevice)
        self.module.refuse(ty)
        var = self.cast_variable(value.expr, ty)
        return self.see(Value(var, ty, value.bounds, device=value.device))

    def cast_variable(self, expr: Any, ty: Any) -> Any:
        """Bind ``match_cast(expr, ty)`` to a variable that outlives its block where values of this place do."""
        if not (self.in_dataflow and self.keep_outputs):
            return self.builder.match_cast(expr, ty, "lv")
        var = relax.Var(self.builder.get_unique_name("gv"), ty)
        self.builder.emit_normalized(relax.MatchCast(var, expr, ty))
        self.outputs += 1
        return var

    @contextlib.contextmanager
    def symbols_in_scope(self) -> Iterator[None]:
        """Tell the builder all symbolic dims known so far, or it would forget them in the type of an ``If``."""
        self.builder.begin_scope([relax.Var("symbols", relax.ShapeType(list(self.frame.symbols)))])
        try:
            yield
        finally:
            self.builder.end_scope()

    def shape_expr(self, dims: Sequence[Dim]) -> Any:
        """Return a ``ShapeExpr``; a static one is the same object in every function of the module (as upstream's passes
        see it after a builder shared it).

        Raises:
            Infeasible: when a dim awaits a parameter that defines it.
        """
        if not all(isinstance(dim, int) for dim in dims):
            if any(symbol in self.frame.awaited for dim in dims for symbol in symbols_of(dim)):
                raise Infeasible("no parameter defines a dim yet")
            return relax.ShapeExpr(list(dims))
        return self.module.shared_shape(tuple(dims))


@functools.cache
def _variables_only() -> frozenset[Any]:
    """Return operators whose type inference takes no constant."""
    return frozenset(Op.get(f"relax.grad.{name}") for name in ("start_checkpoint", "end_checkpoint"))


def block_function(
    builder: Any,
    parameters: Sequence[Any],
    body: Callable[[Callable[..., Any]], Any],
    attrs: Mapping[str, Any] | None = None,
    dataflow: bool = True,
) -> Any:
    """Make a ``relax.Function`` of one block, which is not added to the module.

    Args:
        builder: The block builder.
        parameters: Its variables.
        body: Gives the result, or a tuple of results, from what binds an expression (and takes a name for it).
        attrs: Attributes of the function.
        dataflow: Whether the block is a dataflow block.
    """
    builder.begin_scope(list(parameters))
    if dataflow:
        builder._begin_dataflow_block()
    else:
        builder._begin_binding_block()
    result = body(builder.emit)
    if dataflow:
        fields = result.fields if isinstance(result, relax.Tuple) else [result]
        outputs = [builder.emit_output(each) for each in fields]
        result = relax.Tuple(outputs) if isinstance(result, relax.Tuple) else outputs[0]
    sequence = builder.normalize(relax.SeqExpr([builder._end_block()], result))
    builder.end_scope()
    return with_attrs(relax.Function(list(parameters), sequence), attrs or {})


def add_function(
    scope: BindingEmitter,
    stem: str,
    parameters: Sequence[Any],
    body: Callable[[Callable[..., Any]], Any],
    attrs: Mapping[str, Any] | None = None,
    *,
    dataflow: bool = True,
    public: bool = True,
) -> Any:
    """Add what :func:`block_function` makes to the module, under a new name; gives its global variable."""
    # Numbered for private ones as well: the builder would number a second one itself, and the symbol would be another.
    name = scope.module.fresh_name(stem)
    named = {"global_symbol": name, **(attrs or {})} if public else attrs
    return scope.builder.add_func(block_function(scope.builder, parameters, body, named, dataflow), name)


def with_attrs(function: Any, attrs: Mapping[str, Any]) -> Any:
    """Set attributes of a function, one by one: their order shows in its script."""
    for key, value in attrs.items():
        function = function.with_attr(key, value)
    return function


def _depends(ty: Any) -> bool:
    """Say whether a type's shape is a variable bound in the block (``R.Tensor(lv, "float32")``)."""
    return any(isinstance(leaf, relax.TensorType) and isinstance(leaf.shape, relax.Var) for leaf in flat(ty))
