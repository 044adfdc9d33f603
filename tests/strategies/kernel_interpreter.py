"""A slow, checking interpreter of the TIR that drawn kernels are made of: it raises where an index leaves its buffer,
where a buffer is read before it was written, and where a number is divided by zero."""

from __future__ import annotations

import math

import numpy as np
from tvm import tirx
from tvm.ir import TensorLoad
from tvm.s_tir import SBlockRealize

_BINARY = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.Div: lambda a, b: a / b,
    tirx.FloorDiv: lambda a, b: a // b,
    tirx.FloorMod: lambda a, b: a % b,
    tirx.Max: max,
    tirx.Min: min,
    tirx.LT: lambda a, b: a < b,
    tirx.LE: lambda a, b: a <= b,
    tirx.GE: lambda a, b: a >= b,
    tirx.EQ: lambda a, b: a == b,
}
_CALLS = {
    "exp": math.exp,
    "tanh": math.tanh,
    "sqrt": math.sqrt,
    "fabs": abs,
}


class OutOfBounds(Exception):
    """An index left its buffer."""


class Unwritten(Exception):
    """An element was read before anybody wrote it."""


class Interpreter:
    """Runs a PrimFunc on NumPy arrays, one per parameter, outputs included; scalars are plain numbers."""

    def __init__(self, function):
        self.function = function
        self.values = {}
        self.arrays = {}

    def run(self, arguments):
        """Run on arrays of NaN for what is not filled yet; afterwards every element of every buffer is."""
        for parameter, argument in zip(self.function.params, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                self._bind(parameter, argument)
            else:
                self.values[parameter] = argument
        for parameter, argument in zip(self.function.params, arguments, strict=True):
            if isinstance(argument, np.ndarray):
                assert self.shape(parameter) == argument.shape
        root = self.function.body.block
        for buffer in root.alloc_buffers:
            self.arrays[buffer] = np.full([self.value(dim) for dim in buffer.shape], np.nan)
        self.statement(root.body)
        for buffer, array in self.arrays.items():
            assert not np.isnan(array).any(), f"{buffer} is not filled"

    def shape(self, buffer):
        """The shape of a buffer whose symbols are known."""
        return tuple(self.value(dim) for dim in buffer.shape)

    def _bind(self, buffer, array):
        self.arrays[buffer] = array
        for dim, size in zip(buffer.shape, array.shape, strict=True):
            if isinstance(dim, tirx.Var):
                assert self.values.setdefault(dim, size) == size

    def statement(self, node):
        if isinstance(node, tirx.SeqStmt):
            for item in node.seq:
                self.statement(item)
        elif isinstance(node, tirx.For):
            for number in range(self.value(node.extent)):
                self.values[node.loop_var] = number
                self.statement(node.body)
        elif isinstance(node, SBlockRealize):
            self.block(node)
        elif isinstance(node, tirx.BufferStore):
            value = self.value(node.value)
            self.arrays[node.buffer][self.where(node.buffer, node.indices)] = value
        else:
            raise TypeError(type(node))

    def block(self, node):
        block = node.block
        for item, value in zip(block.iter_vars, node.iter_values, strict=True):
            self.values[item.var] = self.value(value)
        if not self.value(node.predicate):
            return
        for item in block.iter_vars:
            assert 0 <= self.values[item.var] < self.value(item.dom.extent)
        reduced = [item.var for item in block.iter_vars if item.iter_type == tirx.IterVar.CommReduce]
        if block.init is not None and all(self.values[var] == 0 for var in reduced):
            self.statement(block.init)
        self.statement(block.body)

    def where(self, buffer, indices):
        found = tuple(int(self.value(index)) for index in indices)
        shape = self.arrays[buffer].shape
        if not all(0 <= index < size for index, size in zip(found, shape, strict=True)):
            raise OutOfBounds(f"{buffer}{found} of {shape}")
        return found

    def value(self, node):
        if isinstance(node, (tirx.IntImm, tirx.FloatImm)):
            return node.value
        if isinstance(node, tirx.Var):
            return self.values[node]
        if isinstance(node, TensorLoad):
            found = self.arrays[node.source][self.where(node.source, node.indices)]
            if np.isnan(found):
                raise Unwritten(str(node))
            return float(found) if "float" in str(node.ty.dtype) else int(found)
        if isinstance(node, tirx.Cast):
            return float(self.value(node.value)) if "float" in str(node.ty.dtype) else int(self.value(node.value))
        if isinstance(node, tirx.Select):
            options = self.value(node.true_value), self.value(node.false_value)  # both are evaluated
            return options[0] if self.value(node.condition) else options[1]
        if isinstance(node, tirx.And):
            return self.value(node.a) and self.value(node.b)
        if type(node) in _BINARY:
            return _BINARY[type(node)](self.value(node.a), self.value(node.b))
        name = str(node.op.name).rpartition(".")[2]
        if name == "if_then_else":
            return self.value(node.args[1]) if self.value(node.args[0]) else self.value(node.args[2])
        return _CALLS[name](*[self.value(argument) for argument in node.args])
