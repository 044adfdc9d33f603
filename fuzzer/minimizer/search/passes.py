"""Fewer passes, as delta debugging tries them on a pipeline, and plainer arguments of one.

On the text that constructs a pass only edits are tried after which TVM still gets what the pass documents: keywords,
entries of lists and dicts, and parts of patterns go, and numbers shrink.  A text that constructs nothing is no failure,
but an error of the harness: such a candidate is passed over.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relaxkit.passes.pass_ref import PassRef

Passes = tuple["PassRef", ...]

_WRAPPER = "configured"  # a pass with options of the PassContext; without them it is the pass
_OWN = "relax."  # where passes are that take what they document; others are wrapped in code that fits them
_TOGETHER = ("AlterOpImpl",)  # their arguments speak of each other: an entry is in all or in none
_TARGET = "tvm.target.Target("  # which a pass that is given one cannot do without
_PAIR = 2  # of a pattern: its name, and the pattern


def simpler(ref: PassRef) -> Iterator[PassRef]:
    """Yield the pass constructed with one thing less, what removes most first; none for a pass of the user's."""
    if ref.is_user:
        return
    for found in dict.fromkeys(_Text(ref.expression).edits()):
        if found != ref.expression:
            yield dataclasses.replace(ref, expression=found)


class _Text:
    def __init__(self, expression: str) -> None:
        self.raw = expression.encode()  # the offsets of nodes count bytes

    def edits(self) -> Iterator[str]:
        try:
            root = ast.parse(self.raw.decode(), mode="eval").body
        except SyntaxError:
            return
        if isinstance(root, ast.Call) and isinstance(root.func, ast.Name) and root.func.id == _WRAPPER:
            yield self.of(root.args[0])
            yield from self._entries(root.args[1])
            yield from self._numbers(root.args[1])
            root = root.args[0]
        if isinstance(root, ast.Call) and self.of(root.func).startswith(_OWN):
            yield from self._arguments(root)
        yield from self._parts(root)

    def _parts(self, root: ast.expr) -> Iterator[str]:
        """Yield plainer parts wherever they stand: a pass for code that wraps it, arrays of ones, fewer conditions."""
        for node in ast.walk(root):
            if (
                isinstance(node, ast.Lambda)
                and isinstance(node.body, ast.Call)
                and isinstance(node.body.func, ast.Call)
            ):
                wrapped = node.body.func
                given = itertools.takewhile(lambda item: isinstance(item, ast.Constant), wrapped.args)
                yield f"{self.of(wrapped.func)}({', '.join(map(self.of, given))})"
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
                yield self._with(node, f"np.ones({self.of(node.args[0])})")
            elif isinstance(node, ast.IfExp):
                yield self._with(node, self.of(node.body))
            elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
                for gone in node.values:
                    yield self._with(node, " and ".join(self.of(item) for item in node.values if item is not gone))
            elif isinstance(node, ast.Compare):
                yield from self._entries(node.comparators[0])
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):  # rewriters, or patterns
                yield from (self._with(node, self.of(each)) for each in (node.left, node.right))

    def _arguments(self, call: ast.Call) -> Iterator[str]:
        if _TARGET in self.of(call):
            return
        if len(call.args) + len(call.keywords) > 1:
            yield self._with(call, f"{self.of(call.func)}()")
        for keyword in reversed(call.keywords):
            yield self._without(call, keyword)
        if self.of(call.func).endswith(_TOGETHER):
            return
        if call.args:
            yield self._without(call, call.args[-1])
        for value in [*call.args, *(keyword.value for keyword in call.keywords)]:
            if not isinstance(value, ast.Tuple):
                yield from self._entries(value)
            if isinstance(value, ast.List):
                for item in value.elts:
                    yield from self._pattern(item)
        for keyword in call.keywords:
            yield from self._number(keyword.value)

    def of(self, node: ast.expr | ast.keyword) -> str:
        """Return the text of a node."""
        assert node.end_col_offset is not None
        return self.raw[node.col_offset : node.end_col_offset].decode()

    def _with(self, node: ast.expr, text: str) -> str:
        """Return the whole text with another in the place of a node."""
        assert node.end_col_offset is not None
        return (self.raw[: node.col_offset] + text.encode() + self.raw[node.end_col_offset :]).decode()

    def _without(self, call: ast.Call, gone: ast.expr | ast.keyword) -> str:
        """Return the whole text without an argument of a call."""
        arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
        kept = [self.of(item) for item in arguments if item is not gone]
        return self._with(call, f"{self.of(call.func)}({', '.join(kept)})")

    def _entries(self, node: ast.expr) -> Iterator[str]:
        """Yield fewer entries of a list or a dict: none, half of them, all but one."""
        if isinstance(node, ast.Dict):
            entries = [f"{self.of(key)}: {self.of(node.values[at])}" for at, key in enumerate(node.keys) if key]
            form = "{%s}"
        elif isinstance(node, ast.List | ast.Tuple):
            entries, form = [self.of(item) for item in node.elts], "[%s]"
        else:
            return
        size = len(entries)
        while size:
            for start in range(0, len(entries), size):
                yield self._with(node, form % ", ".join(entries[:start] + entries[start + size :]))
            size //= 2

    def _numbers(self, node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.Dict):
            for value in node.values:
                yield from self._number(value)

    def _number(self, node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
            for smaller in dict.fromkeys((1, node.value // 2)):
                yield self._with(node, str(smaller))

    def _pattern(self, item: ast.expr) -> Iterator[str]:
        """Yield plainer entries of a list of patterns: no annotations and checks, wildcards for operands."""
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Lambda) and isinstance(item.func.body, ast.Tuple):
            yield self._with(item, f"({self.of(item.func.body.elts[0])}, {self.of(item.args[0])})")
            yield from self._operands(item.args[0])
        elif isinstance(item, ast.Tuple) and len(item.elts) >= _PAIR:
            yield from self._operands(item.elts[1])

    def _operands(self, node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.BinOp):
            yield self._with(node, self.of(node.left))
            yield self._with(node, self.of(node.right))
            yield from self._operands(node.left)
            yield from self._operands(node.right)
        if not isinstance(node, ast.Call):
            return
        if isinstance(node.func, ast.Attribute):  # pattern.has_dtype("float32")
            yield self._with(node, self.of(node.func.value))
            yield from self._operands(node.func.value)
            return
        for argument in node.args:
            if isinstance(argument, ast.Call | ast.BinOp) and self.of(argument) != "wildcard()":
                yield self._with(argument, "wildcard()")
                yield from self._operands(argument)


def shorter(passes: Passes, culprit: str = "") -> Iterator[Passes]:
    """Pipelines with fewer passes, at least one, in the order in which they are to be tried.

    First the culprit alone and what stands up to it, then without chunks of decaying size, from the back.

    Args:
        passes: The pipeline.
        culprit: Name of the pass that is to blame, as far as that is known.
    """
    return (found for found in dict.fromkeys(_all(passes, culprit)) if found not in (passes, ()))


def _all(passes: Passes, culprit: str) -> Iterator[Passes]:
    places = [index for index, ref in enumerate(passes) if ref.name == culprit]
    for index in places:
        yield (passes[index],)
    for index in places:
        yield passes[: index + 1]
    size = (len(passes) + 1) // 2
    while size:
        for start in range((len(passes) - 1) // size * size, -1, -size):
            yield passes[:start] + passes[start + size :]
        size //= 2
