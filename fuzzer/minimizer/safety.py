"""Keeping a numeric finding true: a reduction must not feed an operator values from outside its domain.

Modules are generated so that no input of the default domain meets undefined behaviour; the generator guards the
operands of operators with a narrower domain.  An edit could remove such a guard and the two executions would then
disagree for no fault of TVM's.  So each operand of such an operator is named by the whole expression that computes
it, from the parameters' types on (without the shapes of tensors where elements alone decide), and a candidate may only
contain names that the original module contains too (or operands that are constants of ones, as the minimizer itself
puts in).  Where intervals prove that every operator of the candidate is defined for all inputs, nothing need be named.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from relaxkit.ir.operator_facts import BY_ELEMENT, NARROW
from relaxkit.ir.sketch import uses
from relaxkit.ir.sketch.kernels import is_plain
from relaxkit.ir.sketch.sketch import Binding, Branch, Func, Sketch, SketchBody, take
from strategies.operators.intervals import Unproven
from strategies.seeds.bounds import bounds_of


def hazards(module: tvm.IRModule) -> frozenset[str]:
    """Return names of the guarded operands in ``module``; a candidate's must be among the original's."""
    return _Names(take(module)).all()


def is_safe(module: tvm.IRModule, allowed: frozenset[str]) -> bool:
    """Say whether all values of a candidate stay inside the domains, given the original's ``hazards``."""
    return hazards(module) <= allowed or _proven(module)


def _proven(module: tvm.IRModule) -> bool:
    """Say whether intervals show that every function that can be run is defined for all inputs."""
    sketch = take(module)
    called = uses.callers(sketch)
    try:
        for name, func in sketch.relax_functions().items():
            if "global_symbol" in func.attrs or not called[name]:
                bounds_of(module, name)
    except Unproven:
        return False
    return True


class _Names:
    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.values: dict[Any, Any] = {}
        self.arguments: dict[Any, list[Any]] = {}  # parameter -> what the callers give
        self.caches: dict[bool, dict[Any, str]] = {False: {}, True: {}}
        self.calls: list[Any] = []
        for func in sketch.relax_functions().values():
            self._body(func.body)

    def all(self) -> frozenset[str]:
        found = set()
        for call in self.calls:
            if str(call.op.name) in NARROW and not self._is_harmless(call):
                self.shaped = str(call.op.name) not in BY_ELEMENT
                found.add(self.name(call))
        return frozenset(found)

    def _is_harmless(self, call: relax.Call) -> bool:
        """Say whether a call is defined anyway: its operands are ones, or its kernel only copies or stores ones."""
        if all(_ones(item) for item in call.args):
            return True
        kernel = call.args[0] if str(call.op.name) == "relax.call_tir" else None
        function = self.sketch.functions.get(str(getattr(kernel, "name_hint", "")))
        return isinstance(function, tvm.tirx.PrimFunc) and is_plain(function)

    def name(self, expr: relax.Expr) -> str:
        """Return the name of an expression: equal for equal computations from equal parameters."""
        if isinstance(expr, relax.Var):
            cache = self.caches[self.shaped]
            if expr not in cache:
                cache[expr] = "recursive"
                cache[expr] = self._var(expr)
            return cache[expr]
        if isinstance(expr, Branch):
            parts = [self.name(item) for item in (expr.condition, expr.then.result, expr.otherwise.result)]
            return _digest("if", *parts)
        if isinstance(expr, tvm.ir.GenericConst):
            array = isinstance(expr.value, tvm.runtime.Tensor)
            return _digest("const", str(expr.ty), expr.value.numpy().tobytes().hex() if array else str(expr))
        if isinstance(expr, tvm.ir.Call):
            target = str(expr.op.name) if isinstance(expr.op, tvm.ir.Op) else self.name(expr.op)
            return _digest("call", target, repr(expr.attrs), self._type(expr), *(self.name(item) for item in expr.args))
        if isinstance(expr, relax.Tuple):
            return _digest("tuple", *(self.name(item) for item in expr.fields))
        if isinstance(expr, relax.TupleGetItem):
            inner = expr.tuple_value
            while isinstance(inner, relax.Var) and inner in self.values:
                inner = self.values[inner]
            if isinstance(inner, relax.Tuple):
                return self.name(inner.fields[expr.index])
            return _digest("item", str(expr.index), self.name(expr.tuple_value))
        if isinstance(expr, tvm.ir.GlobalVar):
            function = self.sketch.functions.get(str(expr.name_hint))
            if isinstance(function, Func):
                return self.name(function.body.result)
            return _digest("kernel", str(tvm_ffi.structural_hash(function)))
        return str(expr)

    def _var(self, var: relax.Var) -> str:
        if var in self.values:
            return self.name(self.values[var])
        arguments = self.arguments.get(var)
        if arguments:
            names = sorted({self.name(item) for item in arguments})
            return names[0] if len(names) == 1 else _digest("one of", *names)
        return f"parameter {self._type(var)}"

    def _type(self, expr: relax.Expr) -> str:
        return str(expr.ty if self.shaped or not isinstance(expr.ty, relax.TensorType) else expr.ty.dtype)

    def _body(self, body: SketchBody) -> None:
        for binding in body.bindings():
            self._binding(binding)

    def _binding(self, binding: Binding) -> None:
        value = binding.value
        if isinstance(value, Branch):
            self._body(value.then)
            self._body(value.otherwise)
        elif isinstance(value, Func):
            self._body(value.body)
            return
        elif isinstance(value, tvm.ir.Call):
            if isinstance(value.op, tvm.ir.Op):
                self.calls.append(value)
            elif isinstance(value.op, tvm.ir.GlobalVar):
                callee = self.sketch.functions.get(str(value.op.name_hint))
                if isinstance(callee, Func) and "global_symbol" not in callee.attrs:
                    for param, argument in zip(callee.params, value.args, strict=True):
                        self.arguments.setdefault(param, []).append(argument)
        self.values[binding.var] = value


def _ones(expr: relax.Expr) -> bool:
    array = expr.value if isinstance(expr, tvm.ir.GenericConst) else None
    return isinstance(array, tvm.runtime.Tensor) and bool(np.all(array.numpy() == 1))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
