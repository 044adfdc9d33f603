"""An IRModule as plain mutable Python: edits are list operations; :mod:`relaxkit.ir.sketch.emit` makes IR of it again.

Only the containers are mutable; expressions, vars and types are TVM's own immutable objects.  A copy is therefore
cheap, and an edit cannot reach the module that the sketch was taken from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

from relaxkit.ir.retype import Mutable, Retype


@dataclass(slots=True)
class Branch(Mutable):
    """The value of a binding ``if condition: then else: otherwise``."""

    condition: Any
    then: SketchBody
    otherwise: SketchBody
    ty: tvm.ir.Type = None


@dataclass(slots=True)
class Binding(Mutable):
    """``var = value`` or, with a ``cast`` type, ``var = match_cast(value, cast)``."""

    var: relax.Var
    value: Any  # an expression, a Branch or a Func (local function)
    cast: Any = None


@dataclass(slots=True)
class SketchBlock(Mutable):
    """A binding block."""

    dataflow: bool
    bindings: list[Binding]


@dataclass(slots=True)
class SketchBody(Mutable):
    """Blocks and the expression that they end in (``SeqExpr``).

    Attributes:
        ty: Type of the whole as the module had it: it may say less than that of the result.
        result_ty: Type of the result as the module had it.
    """

    blocks: list[SketchBlock]
    result: Any
    ty: tvm.ir.Type = None
    result_ty: Any = None

    def bindings(self) -> list[Binding]:
        """Return the bindings of all blocks, not of nested bodies."""
        return [item for block in self.blocks for item in block.bindings]


@dataclass(slots=True)
class Func(Mutable):
    """A Relax function, global or local."""

    params: list[Any]
    body: SketchBody
    ret_ty: Any
    pure: bool
    attrs: dict[str, Any]

    def drop_param(self, index: int) -> None:
        """Remove a parameter and keep ``num_input`` true."""
        del self.params[index]
        count = self.attrs.get("num_input")
        if count is not None and index < int(count):
            self.attrs["num_input"] = int(count) - 1

    def add_param(self, var: relax.Var) -> None:
        """Append a run-time parameter: in front of the weights where ``num_input`` says that there are some."""
        count = self.attrs.get("num_input")
        if count is None:
            self.params.append(var)
        else:
            self.params.insert(int(count), var)
            self.attrs["num_input"] = int(count) + 1

    def bodies(self) -> Iterator[tuple[SketchBody, int]]:
        """Return this body and those nested in it, with their depth, outermost first."""
        return nested(self.body, 0)


def nested(body: SketchBody, depth: int) -> Iterator[tuple[SketchBody, int]]:
    """Yield ``body`` and the bodies of its branches and local functions, with their depth."""
    yield body, depth
    for binding in body.bindings():
        if isinstance(binding.value, Branch):
            yield from nested(binding.value.then, depth + 1)
            yield from nested(binding.value.otherwise, depth + 1)
        elif isinstance(binding.value, Func):
            yield from nested(binding.value.body, depth + 1)


@dataclass(slots=True)
class Sketch(Mutable):
    """A module under edit.

    Attributes:
        functions: By global name, in the module's order; functions that are not Relax stay TVM objects.
        global_vars: The module's own ``GlobalVar`` of each name (they are recognised by name).
        retype: Type edits that the emission applies everywhere.
        aliases: What stands for a var that is bound nowhere any more; applied by the emission.
        rename: Whether the emission gives vars canonical names.
        renamed: New names of Relax functions, by the old ones, under which calls still mention them.
    """

    functions: dict[str, Any]
    global_vars: dict[str, Any]
    attrs: dict[str, Any]
    global_infos: dict[str, Any]
    retype: Retype = field(default_factory=Retype)
    aliases: dict[Any, Any] = field(default_factory=dict)
    rename: bool = False
    renamed: dict[str, str] = field(default_factory=dict)

    def relax_functions(self) -> dict[str, Func]:
        """Return the Relax functions by name."""
        return {name: item for name, item in self.functions.items() if isinstance(item, Func)}

    def bodies(self) -> list[tuple[str, SketchBody, int]]:
        """Return every body of every function: function name, body, depth of nesting."""
        return [(name, body, depth) for name, func in self.relax_functions().items() for body, depth in func.bodies()]


def take(module: tvm.IRModule) -> Sketch:
    """Return the sketch of an ``IRModule``."""
    functions: dict[str, Any] = {}
    names: dict[str, Any] = {}
    for global_var, function in module.functions.items():
        name = global_var.name_hint
        names[name] = global_var
        functions[name] = _function(function) if isinstance(function, relax.Function) else function
    attrs = dict(module.attrs.items()) if module.attrs is not None else {}
    infos = {str(key): list(value) for key, value in module.global_infos.items()}
    order = sorted(functions)  # the order of the module's map is not stable
    return Sketch({key: functions[key] for key in order}, names, attrs, infos)


def bindings_of(module: tvm.IRModule) -> int:
    """Count the bindings in the Relax functions of ``module``, nested ones included: the size of a finding."""
    return sum(len(body.bindings()) for _, body, _ in take(module).bodies())


def _function(function: relax.Function) -> Func:
    attrs = dict(function.attrs.items()) if function.attrs is not None else {}
    return Func(list(function.params), _body(function.body), function.ret_ty, bool(function.is_pure), attrs)


def _body(seq: Any) -> SketchBody:
    if not isinstance(seq, relax.SeqExpr):
        return SketchBody([], seq, seq.ty, seq.ty)
    blocks = [
        SketchBlock(isinstance(block, relax.DataflowBlock), [_binding(item) for item in block.bindings])
        for block in seq.blocks
    ]
    return SketchBody(blocks, seq.body, seq.ty, seq.body.ty)


def _binding(binding: relax.Binding) -> Binding:
    if isinstance(binding, relax.MatchCast):
        return Binding(binding.var, binding.value, binding.ty)
    value = binding.value
    if isinstance(value, relax.If):
        return Binding(binding.var, Branch(value.cond, _body(value.true_branch), _body(value.false_branch), value.ty))
    if isinstance(value, relax.Function):
        return Binding(binding.var, _function(value))
    return Binding(binding.var, value)


def is_missing(ty: relax.Type) -> bool:
    """Say whether TVM has not inferred this type."""
    return ty is None or (isinstance(ty, tvm.ir.Type) and ty.is_missing())
