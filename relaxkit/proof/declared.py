"""Declared types: the dims that they define, what they tell of a value, and whether they fit it."""

from __future__ import annotations

import contextlib
from typing import Any

import tvm
from tvm import relax, tirx

from relaxkit.proof.memory import Tensor
from relaxkit.proof.state import Frame, Values
from relaxkit.proof.terms import Open, Term
from relaxkit.proof.values import Placed, TupleValue, Value, memory_of, outline, outlined, placed

_NO_DTYPE = ("", "void")


class Declared(Values):
    """The part of an evaluator that reads declared types."""

    def match(self, ty: Any, value: Value, frame: Frame) -> None:
        """Let dims that a type names, and that have no value yet, take that of the value's dims."""
        if isinstance(ty, relax.TupleType):
            if isinstance(value, TupleValue) and len(value.fields) == len(ty.fields):
                for each, part in zip(ty.fields, value.fields, strict=True):
                    self.match(each, part, frame)
            return
        dims = outlined(ty).dims
        if dims is not None and isinstance(value, int | Tensor):
            for axis, dim in enumerate(dims):
                if isinstance(dim, tirx.Var) and dim not in frame.dims:
                    frame.dims[dim] = self.dims.expression(self.dim(value, axis))

    def cast(self, ty: Any, value: Value, frame: Frame) -> Value:
        """Cast a value to a type, which what is returned has: the program raises where the value has another one."""
        self.match(ty, value, frame)
        value = self._checked(ty, value, frame)
        self.learn(ty, value, frame)
        return value

    def _checked(self, ty: Any, value: Value, frame: Frame) -> Value:
        if isinstance(ty, relax.TupleType) and isinstance(value, TupleValue) and len(ty.fields) == len(value.fields):
            fields = zip(ty.fields, value.fields, strict=True)
            return TupleValue(tuple(self._checked(each, part, frame) for each, part in fields))
        if not isinstance(ty, relax.TupleType | relax.TensorType | relax.ShapeType):
            if isinstance(ty, tvm.ir.PrimType):
                self.check_kind(value, outline(ty))
            return value
        if isinstance(ty, relax.TupleType) or not isinstance(value, int | Tensor):
            raise Open("a cast between tuples and other types")
        before = len(self.checks)
        if isinstance(ty, relax.TensorType):
            self.check_tensor(value, "" if ty.dtype is None else str(ty.dtype), ty.ndim)
        elif isinstance(ty, relax.ShapeType):
            self.check_kind(value, "shape", ty.ndim)
        dims = tuple(self.number(dim, frame) for dim in outlined(ty).dims or ())
        for axis, dim in enumerate(dims):
            self.check_equal(self.dim(value, axis), dim)
        if isinstance(value, int) and self.conditions and len(self.checks) > before:
            # What is checked on a branch is known of what the check lets through, and of the value itself nowhere.
            return Placed.of(self.terms.make("cast", outline(ty), (self.term(value), *dims)), memory_of(value))
        return value

    def check_equal(self, dim: Term, expected: Term) -> None:
        """Note that a program raises unless two dims are equal."""
        if dim != expected:
            self.take_for_granted("equal", dim, expected)

    def check_rank(self, value: Value, rank: int) -> None:
        """Note that a program raises unless a tensor, or a shape, has this rank."""
        if rank >= 0 and not self._outlined(value).rstrip("?").endswith(f" {rank}"):
            known = None if isinstance(value, Tensor) else self.shapes.get(self.term(value))
            if known is None or len(known) != rank:
                self.take_for_granted(f"rank {rank}", self.term(value))

    def check_tensor(self, value: Value, dtype: str, rank: int) -> None:
        """Note that a program raises unless a value is a tensor of this dtype and rank, where these are given."""
        self.check_kind(value, "tensor" if dtype in _NO_DTYPE else f"tensor {dtype}", rank)

    def check_kind(self, value: Value, kind: str, rank: int = -1) -> None:
        """Note that a program raises unless a value is of this kind, as an outline begins, and of this rank."""
        self.check_rank(value, rank)
        if not f"{self._outlined(value)} ".startswith(f"{kind} "):
            self.take_for_granted(kind, self.term(value))

    def _outlined(self, value: Value) -> str:
        if isinstance(value, Tensor):
            return value.outline
        term = self.term(value)
        made = {"shape": f"shape {len(self.terms[term].children)}", "number": "int64", "size": "int64"}
        return made.get(self.terms[term].head, self.terms.declared.get(term, ""))

    def dim(self, value: Value, axis: int) -> Term:
        """Return the term of a dim of a tensor, in memory or not, or of a shape."""
        if isinstance(value, Tensor) and axis < len(value.dims):
            return value.dims[axis]
        return self.size(self.term(value), axis)

    def size(self, value: Term, axis: int) -> Term:
        """Return the term of a value's dim; raises ``Open`` where it has another rank than declared."""
        known = self.shapes.get(value)
        if known is None:
            return self.terms.make("size", axis, (value,))
        if axis >= len(known):
            raise Open("a value of a different rank than declared")
        return known[axis]

    def given(self, label: tuple[Any, ...], ty: Any) -> Value:
        """Return a value that a caller gives, of the type that it is declared with."""
        value = self.leaf(label, ty)
        self.learn(ty, value, Frame({}, {}))
        return value

    def astype(self, value: Value, dtype: str) -> Value:
        """Cast a tensor that a caller gives or takes; one that has this dtype stays, and so does what is no tensor."""
        if not isinstance(value, int):
            return value
        node: Any = self.terms[value]
        kind, known, *rank = f"{node.label[-1] if node.head == 'param' else self._outlined(value)} ? ?".split(" ")
        if kind != "tensor" or known in (dtype, *_NO_DTYPE):
            return value
        attributes = relax.op.astype(relax.Var("x", relax.TensorType(ndim=0, dtype=known)), dtype).attrs
        term = self.terms.make("op", ("relax.astype", self.terms.objects.number(attributes)), (value,))
        if rank[0].isdigit():
            self.terms.declared[term] = f"tensor {dtype} {rank[0]}"
            self.shapes.setdefault(term, tuple(self.size(value, axis) for axis in range(int(rank[0]))))
        return placed(term)

    def learn(self, ty: Any, value: Value, frame: Frame) -> None:
        """Remember the dims of a value whose type tells all of them."""
        if isinstance(value, TupleValue) and isinstance(ty, relax.TupleType):
            for each, part in zip(ty.fields, value.fields, strict=False):
                self.learn(each, part, frame)
        if not isinstance(value, int):
            return
        known = self.terms.declared.setdefault(value, outline(ty))
        untyped = not known.startswith("tensor") or known.split(" ")[1] in ("None", *_NO_DTYPE)
        if isinstance(ty, relax.TensorType) and untyped:
            self.terms.declared[value] = outline(ty)  # an object, or a tensor of any dtype, that a cast has let through
        dims = None if value in self.shapes else outlined(ty).dims
        if dims is None:
            return
        with contextlib.suppress(Open):  # a dim that a callee or a local function has defined
            self.shapes[value] = tuple(self.number(dim, frame) for dim in dims)

    def number(self, dim: Any, frame: Frame) -> Term:
        """Return the term of a dim or a scalar."""
        return self.dims.number(self.dims.substituted(dim, frame.dims))

    def scalar(self, value: Term, ty: Any) -> Any:
        """Return the expression that stands for a scalar."""
        node = self.terms[value]
        return self.dims.expression(value) if node.head in ("number", "dim") else self.dims.variable(value, ty)
