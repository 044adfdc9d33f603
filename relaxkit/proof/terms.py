"""The table of terms: each is interned, so that equal terms have equal numbers and are shared."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import tvm_ffi

from relaxkit.ir.functions import closed

Term = int
"""The number of a term in its table."""

MOST_TERMS = 200_000
"""Terms of one table; a module that needs more is left open."""


class Open(Exception):
    """Something that is not modelled; the message is a short phrase without names or numbers of the module."""


class Node(NamedTuple):
    """A term.

    Attributes:
        head: What it is: ``param``, ``op``, ``if``, ``tuple``, ``dim`` ...
        label: What tells it from other terms of its head: the operator and its attributes, a position, bytes.
        children: Numbers of its operands.
    """

    head: str
    label: Any  # hashable, and of what type is up to the head
    children: tuple[Term, ...]


class Objects:
    """Numbers for objects of TVM that are equal by structure: attributes, types, kernels."""

    def __init__(self) -> None:
        self._buckets: dict[int, list[int]] = {}
        self.of: list[Any] = [None]

    def number(self, value: Any) -> int:
        """Return the number of an object; 0 for ``None``."""
        if value is None:
            return 0
        bucket = self._buckets.setdefault(int(tvm_ffi.structural_hash(value)), [])
        for number in bucket:
            if tvm_ffi.structural_equal(self.of[number], value):
                return number
        bucket.append(len(self.of))
        self.of.append(value)
        return bucket[-1]

    def copy(self) -> Objects:
        """Return as many numbers, to which others may be added."""
        other = Objects()
        other._buckets, other.of = {key: [*bucket] for key, bucket in self._buckets.items()}, [*self.of]
        return other


class Terms:
    """A table of terms, of both modules that are compared.

    Attributes:
        objects: Numbers of equal objects of TVM.
        declared: Dtype and rank that values were first declared with.
        arrays: What constants hold.
        kernels: Hashes of kernels, these and what is known of them, by their addresses.
    """

    def __init__(self) -> None:
        self.objects = Objects()
        self.declared: dict[Term, str] = {}
        self.arrays: dict[Term, Any] = {}
        self.kernels: dict[int, tuple[int, Any, Any]] = {}
        self._nodes: list[Node] = []
        self._numbers: dict[Node, Term] = {}

    def copy(self) -> Terms:
        """Return a table of the same terms, to which others may be added."""
        other = Terms()
        other.objects, other.declared, other.arrays = self.objects.copy(), dict(self.declared), dict(self.arrays)
        other._nodes, other._numbers, other.kernels = [*self._nodes], dict(self._numbers), dict(self.kernels)
        return other

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, term: Term) -> Node:
        return self._nodes[term]

    def make(self, head: str, label: Hashable = None, children: tuple[Term, ...] = ()) -> Term:
        """Return the number of a term.

        Raises:
            Open: The table is full.
        """
        node = Node(head, label, children)
        known = self._numbers.get(node)
        if known is not None:
            return known
        if len(self._nodes) >= MOST_TERMS:
            raise Open("too many terms")
        self._nodes.append(node)
        self._numbers[node] = len(self._nodes) - 1
        return len(self._nodes) - 1

    def choice(self, condition: Term, one: Term, other: Term) -> Term:
        """Return what a branch gives; the same on both ways is no branch."""
        return one if one == other else self.make("if", None, (condition, one, other))

    def below(self, *terms: Term) -> set[Term]:
        """Return terms with all that they are made of."""
        return closed(terms, lambda term: self[term].children)

    def parting(self, left: Term, right: Term) -> tuple[tuple[str, ...], Term, Term]:
        """Find the first place where two different terms part: the way to it, and the two terms there.

        Of terms of one head and label the first child that differs is followed.
        """
        way: list[str] = []
        while True:
            one, other = self[left], self[right]
            if (one.head, one.label, len(one.children)) != (other.head, other.label, len(other.children)):
                return tuple(way), left, right
            pairs = zip(one.children, other.children, strict=True)
            place = next(index for index, (each, its) in enumerate(pairs) if each != its)
            way.append(f"{ordinal(place + 1)} operand of {self.name(left)}")
            left, right = one.children[place], other.children[place]

    def name(self, term: Term) -> str:
        """Name a term in words of the program: the operator, the parameter, the constant."""
        node = self[term]
        label: Any = node.label
        if node.head == "text":
            return repr(label[1]) if label[0] == "str" else f"the {label[0]} {label[1]}"
        if node.head == "const":
            return f"a constant of {label[0]}{list(label[1])}"
        if node.head == "after":
            return f"the result of {self.name(self[node.children[0]].children[-1])}"
        words = _NAMES.get(node.head, f"a {node.head}")
        return words.format(label, of=self.name(node.children[-1]) if "{of}" in words else "")


_NAMES = {
    "op": "{0[0]}", "external": "{0[0]}", "param": "parameter {0[1]}", "item": "element {0[0]} of {of}",
    "size": "dim {0} of {of}", "dim": "the dim {0[1]}", "kernel": "what a kernel writes", "start": "no effect",
    "effect": "the effect of {of}", "number": "{0}", "apply": "a call of a recursive function", "if": "an If",
}  # fmt: skip
"""Names of terms in words, by their head: over the label, and the name of the last operand."""


def ordinal(number: int) -> str:
    """Write a position: ``1st``, ``2nd``, ``11th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
