"""A module as Python that builds it node by node, for what TVMScript cannot say.

TVM's parser lacks some operators, refuses some shapes that it prints itself, and infers other types than a module has.
The nodes are written out, so that nothing is inferred but the types of calls, of those that have the inferred ones.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Sequence
from typing import Any

import tvm
import tvm_ffi
from tvm import relax

from fuzzer.repro.module.format import wrapped
from fuzzer.repro.module.tvmscript import constant_source, shared_constants, shortest, target_text
from relaxkit.ir.functions import closed, mentioned_functions

_HEAD = '''\
def given_module():
    """The module that shows the defect, node by node."""
'''
_BUILDER = "bb = relax.BlockBuilder()  # infers the types of calls"
_OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%"}
_LARGEST_CONSTANT = 64
_CALLED = tvm.ir.Op | tvm.ir.GlobalVar | relax.Var | relax.ExternFunc


class Unsayable(Exception):
    """There is something in the module that this file has no words for."""


def building(module: Any) -> str:
    """Source of ``given_module``, which gives an equal module; raises ``Unsayable``."""
    try:
        text = _Writer(module).text()
        names: dict[str, Any] = {"tvm": tvm, "relax": relax}
        exec(text, names)
        built = names["given_module"]()
    except Unsayable:
        raise
    except Exception as error:
        raise Unsayable(f"{type(error).__name__}: {error}") from error
    if not tvm_ffi.structural_equal(built, module):
        raise Unsayable("the module cannot be rebuilt exactly from TVMScript")
    return text


def type_source(ty: Any) -> str:
    """Source of a type by itself; raises ``Unsayable`` where it needs definitions, as of dims."""
    writer = _Writer(tvm.IRModule())
    text = writer.type(ty)
    if writer.lines:
        raise Unsayable("a type that needs definitions")
    return text


class _Writer:
    def __init__(self, module: Any) -> None:
        self.module = module
        self.lines: list[str] = []
        self.names: dict[Any, str] = {}
        self.shared = shared_constants(module)
        self.taken = {"tvm", "relax", "bb"}
        self.devices: list[tuple[Any, str]] = []
        self.declared: set[Any] = set()
        self.scope: list[Any] = []  # the parameters of the function: no other symbolic dims stay in inferred types

    def text(self) -> str:
        module = self.module
        infos = {str(key): [*map(self._device, items)] for key, items in module.global_infos.items()}
        functions = list(module.functions.items())
        # Callees first, which reach fewer functions: the variable of a function has its type only once it is built.
        order = sorted(functions, key=lambda item: len(_called(module, item[0]) | {item[0]}))
        for gv, function in order:
            self._name(gv, str(gv.name_hint), "_")
            if isinstance(function, relax.Function) and gv in _called(module, gv):
                self._declare(gv, self.type(gv.ty))
        for gv, function in order:
            self._global(gv, function)
        pairs = ", ".join(f"{self.names[gv]}: {self.names[gv]}body" for gv, _ in functions)
        more = f", attrs={self._plain(dict(module.attrs.items()))}" if module.attrs else ""
        if infos:
            listed = ", ".join(f"{_quoted(key)}: [{', '.join(items)}]" for key, items in infos.items())
            more += f", global_infos={{{listed}}}"
        self._line(f"return tvm.IRModule({{{pairs}}}{more})")
        lines = [_BUILDER, *self.lines] if any("bb." in line for line in self.lines) else self.lines
        return wrapped(_HEAD + "\n".join(f"    {line}" for line in lines)) + "\n"

    def _line(self, text: str) -> None:
        self.lines.append(text)

    def _name(self, key: Any, hint: str, ending: str = "") -> str:
        """Return a Python name for a variable, which it keeps."""
        stem = "".join(c if c.isalnum() else "_" for c in hint) or "v"
        stem = f"v{stem}" if not stem[0].isalpha() or keyword.iskeyword(stem) else stem
        name, number = stem + ending, 1
        while name in self.taken:
            name, number = f"{stem}_{number}{ending}", number + 1
        self.taken.add(name)
        self.names[key] = name
        return name

    def _assigned(self, key: Any, hint: str, source: str) -> str:
        """Return a new name, to which a line gives a value."""
        name = self._name(key, hint)
        self._line(f"{name} = {source}")
        return name

    def _global(self, gv: Any, function: Any) -> None:
        name = self.names[gv]
        if isinstance(function, relax.Function):
            self._line(f"{name}body = {self._function(function)}")
        elif isinstance(function, relax.ExternFunc):
            self._line(f"{name}body = {self.expr(function)}")
        else:
            self._kernel(name, function)
        if gv not in self.declared:
            self._declare(gv, "" if _missing(gv) else f"{name}body.ty")

    def _declare(self, gv: Any, ty: str) -> None:
        self.declared.add(gv)
        self._line(f"{self.names[gv]} = tvm.ir.GlobalVar({_quoted(gv.name_hint)})")
        if ty:
            self._line(f"relax.expr._update_type({self.names[gv]}, {ty})")

    def _kernel(self, name: str, function: Any) -> None:
        script = shortest(str(function.script(show_meta=True)))
        if '"""' in script or not tvm_ffi.structural_equal(tvm.script.from_source(script), function):
            self._line(f"{name}body = {self._node(function)}")
            return
        self._line(f"{name}text = {[line for line in script.splitlines() if line and line[0] != '#']!r}")
        self._line(f'{name}body = tvm.script.from_source("\\n".join({name}text))')

    def _node(self, value: Any) -> str:
        """Source of a part of a kernel, by the constructor of its class, which simplifies nothing."""
        if isinstance(value, tvm_ffi.Array):
            return f"[{', '.join(map(self._node, value))}]"
        if isinstance(value, tvm.ir.DictAttrs):
            return self._attributes(value)
        if isinstance(value, tvm.ir.Op | tvm.ir.GlobalVar):
            return self.expr(value)
        if isinstance(value, tvm.ir.Range):
            return f"tvm.ir.Range.from_min_extent({self._node(value.min)}, {self._node(value.extent)})"
        if isinstance(value, tvm.ir.TensorLoad):
            return f"tvm.tirx.BufferLoad({self._node(value.source)}, {self._node(value.indices)})"
        if isinstance(value, tvm.ir.Var) and tvm.tirx.is_buffer_var(value):
            return self.names.get(value) or self._assigned(value, str(value.name), self._buffer(value))
        if isinstance(value, tvm.ir.Expr) and not isinstance(value, tvm.tirx.PrimFunc):
            return self._scalar(value)
        return self._constructed(value) if hasattr(value, "span") else self._plain(value)

    def _constructed(self, value: Any) -> str:
        """Source of a call of a node's constructor by its fields; a parameter that is no field is the node's type."""
        kind, given = type(value), []
        for field, parameter in inspect.signature(kind).parameters.items():
            text = "" if field == "span" else self._node(getattr(value, field) if hasattr(value, field) else value.ty)
            if parameter.default is parameter.empty or text not in ("", "None", "{}"):
                given.append(f"{field}={text}")
        name = kind.__name__
        source = f"{'tvm.tirx' if hasattr(tvm.tirx, name) else kind.__module__}.{name}({', '.join(given)})"
        return self._assigned(value, name.lower(), source) if isinstance(value, tvm.tirx.Stmt) else source

    def _buffer(self, var: Any) -> str:
        shape, layout = ", ".join(map(self.dim, var.shape)), "" if var.layout else ", layout=None"
        return f"tvm.tirx.decl_buffer([{shape}], {_quoted(var.dtype)}, {_quoted(var.name)}{layout})"

    # -- functions --------------------------------------------------------------------------------------------------

    def _function(self, function: Any) -> str:
        params = [self._var(param) for param in function.params]
        listed = f"[{', '.join(params)}]"
        self._line(f"bb.begin_scope({listed})")
        outer, self.scope = self.scope, [*function.params]
        body, self.scope = self._sequence(function.body), outer
        self._line("bb.end_scope()")
        attrs = dict(function.attrs.items()) if function.attrs is not None else {}
        given = f", attrs={self._dictionary(attrs)}" if attrs else ""
        pure = f", is_pure={bool(function.is_pure)}"
        return f"relax.Function({listed}, {body}, {self.type(function.ret_ty)}{pure}{given})"

    def _sequence(self, sequence: Any) -> str:
        blocks = []
        for block in sequence.blocks:
            bindings = [self._binding(binding) for binding in block.bindings]
            kind = "DataflowBlock" if isinstance(block, relax.DataflowBlock) else "BindingBlock"
            blocks.append(f"relax.{kind}([{', '.join(bindings)}])")
        result = f"relax.SeqExpr([{', '.join(blocks)}], {self.expr(sequence.body)})"
        name = self._assigned(sequence, "body", result)
        if not _missing(sequence) and _missing(relax.SeqExpr(list(sequence.blocks), sequence.body)):
            same = not _missing(sequence.body) and tvm_ffi.structural_equal(sequence.ty, sequence.body.ty)
            self._line(f"relax.expr._update_type({name}, {f'{name}.body.ty' if same else self.type(sequence.ty)})")
        return name

    def _binding(self, binding: Any) -> str:
        if isinstance(binding, relax.MatchCast):
            value, cast = self._value(binding.value), self.type(binding.ty)
            var = self._var(binding.var)
            return f"relax.MatchCast({var}, {value}, {cast})"
        value = self._value(binding.value)
        var = self._var(binding.var)
        return self._assigned(binding, f"{var}_is", f"relax.VarBinding({var}, {value})")

    def _value(self, value: Any) -> str:
        if isinstance(value, relax.Function):
            return self._function(value)
        if isinstance(value, relax.If):
            condition = self.expr(value.cond)
            branches = f"{self._sequence(value.true_branch)}, {self._sequence(value.false_branch)}"
            text = f"relax.If({condition}, {branches})"
        else:
            text = self.expr(value)
        if _is_declared(value, self.scope):
            name = self._assigned(value, "call", text)
            self._line(f"relax.expr._update_type({name}, {self.type(value.ty)})")
            return name
        inferred = tvm.ir.Call | relax.Tuple | relax.TupleGetItem | relax.If
        return f"bb.normalize({text})" if isinstance(value, inferred) else text

    def _var(self, var: Any) -> str:
        if var in self.names:
            return self.names[var]
        kind = "DataflowVar" if isinstance(var, relax.DataflowVar) else "Var"
        return self._assigned(var, str(var.name), f"relax.{kind}({_quoted(var.name)}, {self.type(var.ty)})")

    # -- expressions ------------------------------------------------------------------------------------------------

    def expr(self, expr: Any) -> str:
        """Source of an expression that has no bindings of its own."""
        if isinstance(expr, relax.Var | tvm.ir.GlobalVar):
            if expr not in self.names:
                if isinstance(expr, tvm.ir.GlobalVar):
                    raise Unsayable("a function that calls itself")
                return self._symbol(expr)
            return self.names[expr]
        if isinstance(expr, relax.Tuple):
            return f"relax.Tuple([{self._listed(expr.fields)}])"
        if isinstance(expr, relax.TupleGetItem):
            return f"relax.TupleGetItem({self.expr(expr.tuple_value)}, {int(expr.index)})"
        if isinstance(expr, relax.ShapeExpr):
            return f"relax.ShapeExpr([{', '.join(map(self.dim, expr.values))}])"
        if isinstance(expr, tvm.ir.GenericConst):
            if expr not in self.shared:
                return _constant(expr)
            return self.names.get(expr) or self._assigned(expr, "constant", _constant(expr))
        if isinstance(expr, tvm.ir.Op):
            return f"tvm.ir.Op.get({_quoted(expr.name)})"
        if isinstance(expr, relax.ExternFunc):
            plain = tvm_ffi.structural_equal(expr.ty, relax.ExternFunc("").ty)
            return f"relax.ExternFunc({_quoted(expr.global_symbol)}{'' if plain else f', {self.type(expr.ty)}'})"
        if isinstance(expr, tvm.ir.StringImm):
            return f"tvm.ir.StringImm({_quoted(expr.value)})"
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, _CALLED):
            if isinstance(expr.ty, tvm.ir.PrimType) and str(getattr(expr.op, "name", "")).startswith("tirx."):
                return self._constructed(expr)
            types = [self.type(item) for item in expr.ty_args]
            more = f", {self._attributes(expr.attrs)}" if expr.attrs is not None or types else ""
            more += f", [{', '.join(types)}]" if types else ""
            return f"relax.Call({self.expr(expr.op)}, [{self._listed(expr.args)}]{more})"
        return self._scalar(expr)

    def _listed(self, items: Sequence[Any]) -> str:
        return ", ".join(map(self.expr, items))

    def dim(self, value: Any) -> str:
        """Source of a dim of a shape: an integer of 64 bits is a plain one."""
        if isinstance(value, tvm.tirx.IntImm) and str(value.ty.dtype) == "int64":
            return str(int(value))
        return self._scalar(value)

    def _scalar(self, value: Any) -> str:
        if isinstance(value, tvm.tirx.IntImm):
            return f"tvm.tirx.IntImm({_quoted(value.ty.dtype)}, {int(value)})"
        if isinstance(value, tvm.tirx.FloatImm):
            return f"tvm.tirx.FloatImm({_quoted(value.ty.dtype)}, {float(value.value)!r})"
        kind = type(value).__name__
        if kind in _OPERATORS:
            return f"({self.dim(value.a)} {_OPERATORS[kind]} {self.dim(value.b)})"
        if kind == "Var":
            return self.names.get(value) or self._symbol(value)
        return self._constructed(value)

    def _symbol(self, var: Any) -> str:
        """Return a symbolic dim, which nothing binds but the shapes that mention it."""
        if not isinstance(var.ty, tvm.ir.PrimType):
            raise Unsayable("a variable that is not bound")
        return self._assigned(var, str(var.name), f"tvm.tirx.Var({_quoted(var.name)}, {_quoted(var.ty.dtype)})")

    # -- types ------------------------------------------------------------------------------------------------------

    def type(self, ty: Any) -> str:
        """Source of a type."""
        if isinstance(ty, relax.TensorType):
            return self._tensor(ty)
        if isinstance(ty, relax.ShapeType):
            if ty.values is None:
                return f"relax.ShapeType(ndim={int(ty.ndim)})"
            return f"relax.ShapeType([{', '.join(map(self.dim, ty.values))}])"
        if isinstance(ty, relax.TupleType):
            return f"relax.TupleType([{', '.join(map(self.type, ty.fields))}])"
        if isinstance(ty, relax.distributed.DTensorType):
            parts = self._tensor(ty.tensor_ty), self._device(ty.device_mesh), self._plain(ty.placement)
            return f"relax.distributed.DTensorType({', '.join(parts)})"
        if isinstance(ty, tvm.ir.PrimType):
            return f"tvm.ir.PrimType({_quoted(ty.dtype)})"
        if isinstance(ty, relax.FuncType) and ty.params is None:
            by = ty.derive_func  # of which TVM takes no name: it would take another function
            result = f"ret={self.type(ty.ret)}" if by is None else f"derive_func=tvm.ir.EnvFunc.get({_quoted(by.name)})"
            return f"relax.FuncType.opaque_func({result}, purity={bool(ty.purity)})"
        if isinstance(ty, relax.FuncType):
            params = ", ".join(map(self.type, ty.params))
            return f"relax.FuncType([{params}], {self.type(ty.ret)}, {bool(ty.purity)})"
        if type(ty).__name__ in ("AnyType", "ObjectType"):
            return f"relax.{type(ty).__name__}()"
        raise Unsayable(f"a {type(ty).__name__}")

    def _tensor(self, ty: Any) -> str:
        shape = "None"
        if isinstance(ty.shape, relax.ShapeExpr):
            dims = [self.dim(value) for value in ty.shape.values]
            shape = f"({', '.join(dims)}{',' if len(dims) == 1 else ''})"
        elif ty.shape is not None:
            shape = self.expr(ty.shape)
        dtype = _quoted("" if ty.dtype is None else ty.dtype)
        device = "" if ty.vdevice is None else f", vdevice={self._device(ty.vdevice)}"
        rank = f", ndim={int(ty.ndim)}" if ty.shape is None and ty.ndim >= 0 else ""
        return f"relax.TensorType({shape}, {dtype}{device}{rank})"

    def _device(self, device: Any) -> str:
        for known, name in self.devices:
            if tvm.runtime.Object.same_as(known, device):
                return name
        if isinstance(device, relax.VDevice):
            target = target_text(self._plain(dict(device.target.export())))
            text = f"relax.VDevice({target}, {int(device.vdevice_id)}, {_quoted(device.memory_scope)})"
        elif isinstance(device, relax.distributed.DeviceMesh):
            ids, given = device.device_range, [*map(int, device.device_ids)]
            ids = given if ids is None else f"tvm.ir.Range({int(ids.min)}, {int(ids.min + ids.extent)})"
            text = f"relax.distributed.DeviceMesh({tuple(map(int, device.shape))}, {ids})"
        else:
            raise Unsayable(f"a {type(device).__name__}")
        name = self._assigned(len(self.devices), "device", text)
        self.devices.append((device, name))
        return name

    # -- attributes --------------------------------------------------------------------------------------------------

    def _attributes(self, attrs: Any) -> str:
        if attrs is None:
            return "None"
        info = type(attrs).__tvm_ffi_type_info__
        if info.type_key == "ir.DictAttrs":
            return self._dictionary(dict(attrs.items()))
        fields = "".join(f", {field.name}={self._plain(getattr(attrs, field.name))}" for field in info.fields)
        return f"tvm.ir.make_node({_quoted(info.type_key)}{fields})"

    def _dictionary(self, attrs: dict[str, Any]) -> str:
        return f'tvm.ir.make_node("ir.DictAttrs", **{self._plain(attrs)})'

    def _plain(self, value: Any) -> str:
        """Source of a value of attributes."""
        if value is None or isinstance(value, bool | int | float):
            return repr(value)
        if isinstance(value, str | tvm.DataType):
            return _quoted(value)
        if isinstance(value, dict | tvm_ffi.Map):
            return "{" + ", ".join(f"{_quoted(key)}: {self._plain(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list | tuple | tvm_ffi.Array):
            return f"[{', '.join(map(self._plain, value))}]"
        if isinstance(value, tvm.tirx.IntImm | tvm.tirx.FloatImm | tvm.ir.StringImm):
            return self.expr(value)
        if isinstance(value, relax.VDevice | relax.distributed.DeviceMesh):
            return self._device(value)
        if isinstance(value, tvm.tirx.IndexMap):
            return self._constructed(value)
        if isinstance(value, relax.distributed.Placement):
            return f"relax.distributed.Placement.from_text({value})"  # it prints in quotes
        raise Unsayable(f"an attribute that is a {type(value).__name__}")


def _is_declared(value: Any, params: list[Any]) -> bool:
    """Say whether the call of an operator, or an ``If``, has another type than is inferred in a function."""
    try:
        if isinstance(value, relax.If):
            anew = relax.If(value.cond, value.true_branch, value.false_branch)
        elif isinstance(value, tvm.ir.Call) and isinstance(value.op, tvm.ir.Op):
            anew = relax.Call(value.op, value.args, value.attrs, value.ty_args)
        else:
            return False
        builder = relax.BlockBuilder()
        builder.begin_scope(params)
        made = builder.normalize(anew)
        builder.end_scope()
    except Exception:  # nothing is inferred of it alone
        return False
    return not tvm_ffi.structural_equal(made.ty, value.ty)


def _missing(expr: Any) -> bool:
    return expr.ty is None or (hasattr(expr.ty, "IsMissing") and expr.ty.IsMissing()) or type(expr.ty) is tvm.ir.Type


def _called(module: Any, gv: Any) -> set[Any]:
    """Functions that a function reaches: itself only when it calls itself."""

    def mentioned(var: Any) -> list[Any]:
        function = module.functions.get(var)
        return mentioned_functions(function) if isinstance(function, relax.Function) else []

    return closed(mentioned(gv), mentioned)


def _constant(constant: Any) -> str:
    value = constant.value
    if isinstance(value, tvm.DataType):
        return f"tvm.ir.GenericConst(tvm.DataType({_quoted(value)}), relax.{type(constant.ty).__name__}())"
    if not isinstance(value, tvm.runtime.Tensor) or str(value.dtype) == "bfloat16":
        raise Unsayable("a constant that is not a plain tensor")
    if (source := constant_source(constant)) and isinstance(constant.ty, relax.TensorType):
        return f"relax{source[1:]}"
    array = value.numpy()
    if array.size > _LARGEST_CONSTANT or not isinstance(constant.ty, relax.TensorType):
        raise Unsayable("a large constant")
    numbers = re.sub(r"\b(inf|nan)\b", r'float("\1")', repr(array.tolist()))
    return f"relax.const({numbers}, {_quoted(value.dtype)})"


def _quoted(text: Any) -> str:
    """Return a string literal in double quotes, as in all scripts."""
    plain = repr(str(text))
    return plain if '"' in plain or "\\" in plain else f'"{plain[1:-1]}"'
