"""A sketch back to an ``IRModule``: vars are bound anew and types are inferred again wherever something changed."""

from __future__ import annotations

from typing import Any

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.expr import _update_type

from relaxkit.ir.equality import all_same
from relaxkit.ir.operator_facts import is_broken
from relaxkit.ir.retype import Invalid, fields_of, with_fields
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.kernels import retyped
from relaxkit.ir.sketch.sketch import Binding, Branch, Func, Sketch, SketchBlock, SketchBody, is_missing
from relaxkit.ir.types import dims_in, flat


def emit(sketch: Sketch) -> Any:
    """Return the ``IRModule`` of ``sketch``; raises ``Invalid`` when it has none, or one that is ill formed."""
    try:
        module = _SketchEmitter(sketch).module()
        if not relax.analysis.check_well_formed(module):
            raise Invalid("ill formed")
    except Invalid:
        raise
    except Exception as error:  # type inference rejects the edited program in many ways, all of them mean the same
        raise Invalid(f"{type(error).__name__}: {error}") from error
    return module


def same_type(left: Any, right: Any) -> bool:
    """Say whether two types are the same, with the same symbolic vars."""
    return left is right or bool(left.same_as(right)) or bool(tvm_ffi.structural_equal(left, right))


class _SketchEmitter:
    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.retype = sketch.retype
        self.env: dict[Any, Any] = {}  # var of the sketch -> what stands for it now, in the function at hand
        self.global_vars: dict[str, Any] = {}
        self.builder = relax.BlockBuilder()
        self.names: dict[str, int] = {}
        self.scope: list[Any] = []  # new vars whose types bind the symbolic dims that are known at this point

    def module(self) -> Any:
        functions: dict[Any, Any] = {}
        for name in uses.callees_first(self.sketch):
            item = self.sketch.functions[name]
            if not isinstance(item, Func):
                if not self.sketch.functions.keys() >= set(uses.called(item)):  # TVM's check looks into no kernel
                    raise Invalid("a kernel calls a function that is not there")
                if isinstance(item, tvm.tirx.PrimFunc) and not self.retype.empty:
                    item = retyped(item, self.retype)
                self.global_vars[name] = self._kept_var(name, item)
                functions[self.global_vars[name]] = item
                continue
            for other in sorted({*uses.called(item)}):
                callee = self.sketch.functions.get(other)
                if isinstance(callee, Func) and other not in self.global_vars:
                    # recursion, through other functions too: the type has to be known before the body
                    params = [self.retype.type(param.ty) for param in callee.params]
                    self._declare(other, relax.FuncType(params, self.retype.type(callee.ret_ty), callee.pure))
            function = self._function(self._named(name, item), local=False)
            self._declare(name, function.ty)
            functions[self.global_vars[name]] = function
        attrs = tvm.ir.make_node("ir.DictAttrs", **self.sketch.attrs) if self.sketch.attrs else None
        return tvm.IRModule(functions, attrs=attrs, global_infos=self.sketch.global_infos)

    def _kept_var(self, name: str, function: Any) -> Any:
        """Return the module's own global var; a new one where the type of the kernel changed."""
        old = self.sketch.global_vars[name]
        known = not is_missing(getattr(old, "ty", None)) and not is_missing(getattr(function, "ty", None))
        if not known or same_type(old.ty, function.ty):
            return old
        new = tvm.ir.GlobalVar(name)
        _update_type(new, function.ty)
        return new

    def _declare(self, name: str, ty: relax.Type) -> None:
        if name in self.global_vars:
            if not same_type(self.global_vars[name].ty, ty):
                raise Invalid(f"the type of the recursive {name} changed")
            return
        old = self.sketch.global_vars.get(name)
        new_name = self.sketch.renamed.get(name, name)
        if new_name == name and old is not None and not is_missing(old.ty) and same_type(old.ty, ty):
            self.global_vars[name] = old
            return
        self.global_vars[name] = tvm.ir.GlobalVar(new_name)
        _update_type(self.global_vars[name], ty)

    def _named(self, name: str, func: Func) -> Func:
        """Return the function with its symbol after its new name, where it has both."""
        new_name = self.sketch.renamed.get(name)
        if new_name is None or "global_symbol" not in func.attrs:
            return func
        return Func(func.params, func.body, func.ret_ty, func.pure, {**func.attrs, "global_symbol": new_name})

    # -- functions and bodies ----------------------------------------------------------------------------------------

    def _function(self, func: Func, *, local: bool) -> Any:
        if not local:
            self.names, self.env = {}, {}
        params = []
        for param in func.params:
            new = relax.Var(self._name(param, "x"), self.retype.type(param.ty, self._resolve))
            self.env[param] = new
            params.append(new)
        tensors = [leaf for param in params for leaf in flat(param.ty) if isinstance(leaf, relax.TensorType)]
        if any(leaf.shape.same_as(param) for leaf in tensors if leaf.shape is not None for param in params):
            raise Invalid("a parameter's shape is another parameter")  # TVMScript has no way to write it
        outer, self.scope = self.scope, [*self.scope, *params] if local else params
        try:
            body = self._body(func.body)
            ret_ty = self._return_type(func, params, body, local=local)
        finally:
            self.scope = outer
        attrs = tvm.ir.make_node("ir.DictAttrs", **func.attrs) if func.attrs else None
        return relax.Function(params, body, ret_ty, func.pure, attrs)

    def _return_type(self, func: Func, params: list[Any], body: Any, *, local: bool) -> Any:
        if self._kept(func.body.ty, body.ty):
            return self.retype.type(func.ret_ty, self._resolve)
        if local:
            return body.ty
        known = [var for param in params for var in relax.analysis.definable_tir_vars_in_type(param.ty)]
        known += [param for param in params if isinstance(param.ty, tvm.ir.PrimType)]
        return relax.analysis.erase_to_well_defined(
            body.ty, {var: var for var in known}, {item: item for item in params}
        )

    def _body(self, body: SketchBody) -> Any:
        outside = uses.used_outside_blocks(body, self.sketch.aliases)
        outer, self.scope = self.scope, list(self.scope)
        try:
            blocks = [self._block(block, outside) for block in body.blocks if block.bindings]
            result = self.expr(body.result)
        finally:
            self.scope = outer
        seq = relax.SeqExpr(blocks, result)
        if is_missing(seq.ty) and not is_missing(body.ty) and self._kept(body.result_ty, seq.body.ty):
            _update_type(seq, self.retype.type(body.ty, self._resolve))
        elif is_missing(seq.ty):
            result = self._normalized(seq)
            if _bindings(result.blocks) != _bindings(blocks):  # normalizing bound something: keep to one form
                raise Invalid("not in normal form")
            if len(result.blocks) == len(blocks):
                return result
            _update_type(seq, result.ty)  # normalizing has joined blocks that stand apart
        return seq

    def _block(self, block: SketchBlock, outside: set[Any]) -> Any:
        bindings = [self._binding(item, block.dataflow, outside) for item in block.bindings]
        return relax.DataflowBlock(bindings) if block.dataflow else relax.BindingBlock(bindings)

    def _binding(self, binding: Binding, dataflow: bool, outside: set[Any]) -> Any:
        old = binding.var
        inner = dataflow and isinstance(old, relax.DataflowVar) and old not in outside
        make = relax.DataflowVar if inner else relax.Var
        if binding.cast is not None:
            value = self.expr(binding.value)
            var = make(self._name(old, "lv"), self.retype.type(old.ty, self._resolve))
            self.env[old] = var
            self.scope.append(var)
            cast = self.retype.type(binding.cast, self._resolve)
            if _excluded(value, cast) and not _excluded(binding.value, binding.cast):
                raise Invalid("a cast that no value passes")  # only the parser looks
            return relax.MatchCast(var, value, cast)
        if isinstance(binding.value, Func) and old in uses.uses(binding.value):
            return self._recursive(old, binding.value, make)
        value, before = self._value(binding.value)
        keep = self._kept(before, value.ty)
        if not keep and any(isinstance(dim, tvm.tirx.IntImm) and int(dim) < 0 for dim in dims_in(value.ty)):
            raise Invalid("a negative dim")  # as of a window that is wider than what it slides over
        var = make(self._name(old, "lv"), self.retype.type(old.ty, self._resolve) if keep else value.ty)
        self.env[old] = var
        made = relax.VarBinding(var, value)
        self.builder._begin_dataflow_block()
        self.builder.emit_normalized(made)  # inference looks up what a variable is bound to
        self.builder._end_block()
        return made

    def _recursive(self, old: Any, func: Func, make: Any) -> Any:
        """Bind a local function that calls itself: its type has to be known before the body."""
        params = [self.retype.type(param.ty, self._resolve) for param in func.params]
        ty = relax.FuncType(params, self.retype.type(func.ret_ty, self._resolve), func.pure)
        self.env[old] = make(self._name(old, "lv"), ty)
        function = self._function(func, local=True)
        if not same_type(function.ty, ty):
            raise Invalid(f"the type of the recursive {old.name} changed")
        return relax.VarBinding(self.env[old], function)

    def _value(self, value: Any) -> tuple[Any, Any]:
        """Return the new value and the type that the old one had."""
        if isinstance(value, Branch):
            condition = self.expr(value.condition)
            if not isinstance(condition.ty, relax.TensorType | tvm.ir.PrimType) or str(condition.ty.dtype) != "bool":
                raise Invalid("a condition that is not a bool")  # the checker does not look
            then, otherwise = self._body(value.then), self._body(value.otherwise)
            new = relax.If(condition, then, otherwise)
            kept = self._kept(value.then.ty, then.ty) and self._kept(value.otherwise.ty, otherwise.ty)
            if kept and not is_missing(value.ty):
                _update_type(new, self.retype.type(value.ty, self._resolve))  # it may say less than is known
                return new, value.ty
            return self._normalized(new), value.ty
        if isinstance(value, Func):
            return self._function(value, local=True), None
        new = self.expr(value)
        if is_missing(new.ty):
            new = self._normalized(new)
        if isinstance(new, relax.SeqExpr) or is_missing(new.ty):
            raise Invalid("not in normal form")
        return new, value.ty

    def _normalized(self, expr: relax.Expr) -> Any:
        """Return the expression with its type inferred; types keep the symbolic dims that are bound at this point."""
        self.builder.begin_scope(self.scope)
        try:
            return self.builder.normalize(expr)
        finally:
            self.builder.end_scope()

    def _kept(self, old: Any, new: Any) -> bool:
        """Say whether a type is what the edits of types make of the one that was there before."""
        return not is_missing(old) and same_type(self.retype.type(old, self._resolve), new)

    # -- expressions -------------------------------------------------------------------------------------------------

    def expr(self, expr: relax.Expr) -> Any:
        """Return the expression with vars, global vars and types replaced; the same object where nothing changed."""
        if isinstance(expr, relax.Var):
            return self._var(expr)
        if isinstance(expr, tvm.ir.GlobalVar):
            try:
                return self.global_vars[expr.name_hint]
            except KeyError:
                raise Invalid(f"{expr.name_hint} is gone") from None
        if isinstance(expr, relax.Tuple):
            fields = [self.expr(item) for item in expr.fields]
            return expr if all_same(fields, expr.fields) else relax.Tuple(fields)
        if isinstance(expr, relax.TupleGetItem):
            inner = self.expr(expr.tuple_value)
            if isinstance(inner, relax.Tuple) and not isinstance(expr.tuple_value, relax.Tuple):
                return inner.fields[expr.index]  # the fields stand for a var that was split
            return expr if inner.same_as(expr.tuple_value) else relax.TupleGetItem(inner, expr.index)
        if isinstance(expr, relax.ShapeExpr):
            values = self.retype.dims_of(expr.values, self._resolve)
            return expr if all_same(values, expr.values) else relax.ShapeExpr(values)
        if isinstance(expr, tvm.ir.GenericConst):
            return self.retype.constant(expr)
        if isinstance(expr, tvm.ir.Call):
            return self._call(expr)
        if isinstance(expr, relax.Function | relax.If | relax.SeqExpr):
            raise Invalid("not in normal form")
        if hasattr(expr, "ty") and isinstance(expr.ty, tvm.ir.PrimType):
            return self.retype.prim(expr, self._resolve)
        return expr

    def _resolve(self, var: relax.Var) -> Any:
        """Return what stands for a var, inside a shape too: a symbolic dim that nothing stands for stays."""
        if var in self.env:
            return self.env[var]
        if var in self.sketch.aliases:
            return self.expr(self.sketch.aliases[var])
        if isinstance(var.ty, tvm.ir.PrimType):  # a symbolic dim, bound by a shape
            return var
        raise Invalid(f"{var.name} is not bound")  # in a type the checker does not look

    def _var(self, var: relax.Var) -> Any:
        new = self._resolve(var)
        return self.retype.symbols.get(var, var) if new is var else new

    def _call(self, call: relax.Call) -> Any:
        target, args = self.expr(call.op), [self.expr(item) for item in call.args]
        ty_args = [self.retype.type(item, self._resolve) for item in call.ty_args]
        if target.same_as(call.op) and all_same(args, call.args) and all_same(ty_args, call.ty_args):
            return call
        if is_broken(call, args):
            raise Invalid("arguments that are not for the operator")  # the checker does not look everywhere
        new = tvm.ir.Call(target, args, self._attrs(call.attrs), ty_args)
        old_types = [self.retype.type(item.ty, self._resolve) for item in (call.op, *call.args) if _typed(item)]
        new_types = [item.ty for item in (target, *args) if _typed(item)]
        same = len(old_types) == len(new_types) and all(map(same_type, old_types, new_types))
        if same and self.retype.empty and all_same(ty_args, call.ty_args) and not is_missing(call.ty):
            _update_type(new, self.retype.type(call.ty, self._resolve))
        return new

    def _attrs(self, attrs: Any) -> Any:
        """Return operator attributes with their ``dtype`` field edited."""
        wanted = self.retype.dtypes.get(str(fields_of(attrs).get("dtype"))) if self.retype.dtypes else None
        return attrs if wanted is None else with_fields(attrs, dtype=wanted)

    def _name(self, var: relax.Var, stem: str) -> str:
        if not self.sketch.rename:
            return str(var.name)
        count = self.names.get(stem, 0)
        self.names[stem] = count + 1
        return f"{stem}{count}" if count else stem


def _bindings(blocks: Any) -> int:
    return sum(len(block.bindings) for block in blocks)


def _excluded(value: Any, ty: relax.Type) -> bool:
    """Say whether the type of a value has nothing in common with another."""
    return _typed(value) and relax.analysis.type_base_check(value.ty, ty) == relax.analysis.BaseCheckResult.FAIL_L0


def _typed(expr: relax.Expr) -> bool:
    return not isinstance(expr, tvm.ir.Op) and getattr(expr, "ty", None) is not None and not is_missing(expr.ty)
