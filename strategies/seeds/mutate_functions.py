"""Mutations of functions: a second copy, a part wrapped into a function of its own, another static dim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax, tirx

from relaxkit.ir.copying import Copier
from relaxkit.ir.functions import attributes, mentioned_functions
from relaxkit.ir.walk import expressions, operators_of
from strategies.scope.choices import Choices
from strategies.seeds.replacements import Unchanged, fresh_name, functions_of, pick_function, replaced

_CHUNK = 4
"""Most bindings that are wrapped into a function of their own."""
_INDEXING = ("take", "gather", "scatter", "index", "nll_loss", "dynamic_strided_slice", "reverse_sequence")
"""Parts of names of operators for which an index, perhaps a constant, must lie within a dim."""


def copy(choices: Choices, module: Any) -> Any:
    """Draw a second copy of a function, under a name of its own."""
    var, function = pick_function(choices, module, anything=True)
    name = fresh_name(module, f"{var.name_hint}_copy")
    attrs = attributes(function)
    if "global_symbol" in attrs:
        attrs["global_symbol"] = name
    copied = Copier(relax.BlockBuilder(module)).function(function, attrs)
    # A builder of its own gives the variable its type; that of the module would find the function there already.
    return replaced(module, {relax.BlockBuilder().add_func(copied, name): copied})


def wrap(choices: Choices, module: Any) -> Any:
    """Draw a few bindings as a private function, called where they were."""
    var, function = pick_function(choices, module)
    places = [
        (number, start)
        for number, block in enumerate(function.body.blocks)
        for start, binding in enumerate(block.bindings)
        if _wrappable(binding)
    ]
    if not places:
        raise Unchanged
    number, start = choices.pick(places)
    bindings = list(function.body.blocks[number].bindings)
    stop = start + 1
    while stop < len(bindings) and stop - start < _CHUNK and _wrappable(bindings[stop]) and choices.index(4):
        stop += 1
    chunk = bindings[start:stop]
    outline = _OutlinedChunk(module, function, chunk, number, choices.index(2) == 1)
    builder = relax.BlockBuilder(module)
    callee = builder.add_func(outline.callee(builder), fresh_name(module, "wrapped"))
    caller = _Caller(builder, chunk, callee, outline)
    made = caller.function(function)
    return replaced(builder.get(), {var: made})


def _wrappable(binding: Any) -> bool:
    return isinstance(binding, relax.VarBinding) and isinstance(binding.value, (relax.Call, relax.TupleGetItem))


class _OutlinedChunk:
    """A chunk of bindings: what it takes, and what is used of it later."""

    def __init__(self, module: Any, function: Any, chunk: Sequence[Any], number: int, dataflow: bool) -> None:
        self.function = function
        self.chunk = chunk
        self.dataflow = dataflow
        self.dims: list[Any] = []
        bound = [binding.var for binding in chunk]
        self.takes = list(
            dict.fromkeys(
                var
                for binding in chunk
                for var in relax.analysis.free_vars(binding.value)
                if var not in bound and not isinstance(var.ty, tvm.ir.PrimType)
            )
        )
        used: set[Any] = set(relax.analysis.free_vars(function.body.body))
        inside = {id(binding) for binding in chunk}
        for block in function.body.blocks:
            for binding in block.bindings:
                if not any(binding.same_as(each) for each in chunk) and id(binding) not in inside:
                    used.update(relax.analysis.free_vars(binding.value))
        self.gives = [var for var in bound if var in used]
        if not self.gives:
            raise Unchanged

    def callee(self, builder: Any) -> Any:
        copier = Copier(builder)
        params = [copier.parameter(var) for var in self.takes]
        builder.begin_scope(params)
        if self.dataflow:
            builder._begin_dataflow_block()
        else:
            builder._begin_binding_block()
        for binding in self.chunk:
            copier.vars[binding.var] = builder.emit(copier.expr(binding.value), binding.var.name)
        results = [copier.vars[var] for var in self.gives]
        result = results[0] if len(results) == 1 else relax.Tuple(results)
        if self.dataflow:
            result = builder.emit_output(result, "gv")
        block = builder._end_block()
        body = builder.normalize(relax.SeqExpr([block], result))
        builder.end_scope()
        made = relax.Function(params, body, is_pure=bool(self.function.is_pure))
        if missing := list(relax.analysis.free_symbolic_vars(made)):  # dims that no parameter's type defines
            shape = relax.Var("dims", relax.ShapeType(missing))
            made = relax.Function([*params, shape], body, is_pure=bool(self.function.is_pure))
            old = {new: symbol for symbol, new in copier.symbols.items()}
            self.dims = [old[symbol] for symbol in missing]
        return made


class _Caller(Copier):
    """Copies the function with a call in the place of the chunk."""

    def __init__(self, builder: Any, chunk: Sequence[Any], callee: Any, outline: _OutlinedChunk) -> None:
        super().__init__(builder, fresh=False)
        self._chunk = list(chunk)
        self._callee = callee
        self._outline = outline

    def binding(self, binding: Any) -> None:
        """Copy a binding, or leave it to the call."""
        place = next((i for i, each in enumerate(self._chunk) if binding.same_as(each)), None)
        if place is None:
            super().binding(binding)
        elif place == 0:
            gives = self._outline.gives
            arguments = [self.vars[var] for var in self._outline.takes]
            if self._outline.dims:
                arguments.append(relax.ShapeExpr([self.dim(dim) for dim in self._outline.dims]))
            call = relax.Call(self._callee, arguments)
            if len(gives) == 1:
                self.vars[gives[0]] = self.emit(call, gives[0])
                return
            whole = self.local(call)
            for index, var in enumerate(gives):
                self.vars[var] = self.emit(relax.TupleGetItem(whole, index), var)


def resize(choices: Choices, module: Any) -> Any:
    """Draw another static dim, wherever the module says it.

    Only without kernels, whose loops say it in their own way, and without symbolic dims: of those, type inference lets
    pass what it cannot prove wrong, so that a reshape of ``(n, 4096)`` to ``(n, 32, 128)`` would outlive its 4096.
    """
    if any(not isinstance(function, relax.Function) for function in module.functions.values()):
        raise Unchanged
    if any(part in name for name in operators_of(module) for part in _INDEXING):
        raise Unchanged
    sizes: dict[int, None] = {}
    for _, function in functions_of(module, anything=True):
        for param in function.params:
            if isinstance(param.ty, relax.TensorType) and isinstance(param.ty.shape, relax.ShapeExpr):
                sizes.update((int(dim), None) for dim in param.ty.shape.values if isinstance(dim, tirx.IntImm))
    if not sizes:
        raise Unchanged
    old = choices.pick(sorted(sizes))
    new = choices.pick([size for size in (1, 2, 3, 4, 6, 8, 5, 7, 16) if size != old])
    builder = relax.BlockBuilder()
    copies: dict[Any, Any] = {}
    for var in _callees_first(module):
        function = module[var]
        copies[var] = builder.add_func(Copier(builder, copies, sizes={old: new}).function(function), var.name_hint)
    made = builder.get()
    for expr in (
        each for function in made.functions.values() for each in (*function.params, *expressions(function.body))
    ):
        shape = expr.ty.shape if isinstance(expr.ty, relax.TensorType) else None
        dims = shape.values if isinstance(shape, relax.ShapeExpr) else ()
        if any(not isinstance(dim, tirx.IntImm) or int(dim) < 1 for dim in dims):
            raise Unchanged  # a window larger than its data has no positive dim
    return tvm.IRModule(dict(made.functions.items()), attrs=module.attrs, global_infos=module.global_infos)


def _callees_first(module: Any) -> list[Any]:
    """Return all functions, each behind what it mentions; raises ``Unchanged`` where that is not possible."""
    left = {var: set(mentioned_functions(function)) for var, function in module.functions_items()}
    order: list[Any] = []
    while left:
        ready = [var for var, needs in left.items() if not needs & set(left)]
        if not ready:
            raise Unchanged  # recursion
        order += ready
        for var in ready:
            del left[var]
    return order
