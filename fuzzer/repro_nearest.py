"""The nearest module that passes, told as an edit of the text of the one that fails."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass

MOST_LINES = 6
MOST_EDITS = 3
_MARK = "NEAREST = MODULE"


@dataclass(frozen=True, slots=True)
class Nearest:
    """A module that passes where its near neighbour fails.

    Attributes:
        what: What is different, for people: ``another operator``.
        edits: Pairs of text of the failing module, each there once, and of what stands in its place.
    """

    what: str
    edits: tuple[tuple[str, str], ...]

    def applied(self, text: str) -> str:
        """The text of the module that passes."""
        for old, new in self.edits:
            text = text.replace(old, new)
        return text

    def of(self, text: str) -> bool:
        """Whether it is an edit of this text."""
        for old, new in self.edits:
            if text.count(old) != 1:
                return False
            text = text.replace(old, new)
        return True

    def diff(self) -> str:
        """The edits as lines that go and lines that come."""
        lines = []
        for old, new in self.edits:
            kept = difflib.ndiff(old.splitlines(), new.splitlines())
            lines += [line for line in kept if line[0] in "+-"]
        return "\n".join(lines)

    def source(self) -> str:
        """Source for a script in which ``MODULE`` is the text of the failing module."""
        calls = "".join(f".replace(\n    {old!r},\n    {new!r},\n)" for old, new in self.edits)
        return f"# The nearest module that passes: {self.what}.\n{_MARK}{calls}\n"


def nearest_of(script: str) -> Nearest | None:
    """The nearest module that passes out of a script's source; ``None`` where it has none."""
    tree = ast.parse(script)
    lines = script.splitlines()
    for node in tree.body:
        if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != "NEAREST":
            continue
        edits: list[tuple[str, str]] = []
        value = node.value
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            old, new = (ast.literal_eval(item) for item in value.args)
            edits.insert(0, (str(old), str(new)))
            value = value.func.value
        said = lines[node.lineno - 2].partition(": ")[2].removesuffix(".")
        return Nearest(said, tuple(edits))
    return None


def edits_between(before: str, after: str) -> tuple[tuple[str, str], ...] | None:
    """The few edits that make one text of the other, each of whole lines; ``None`` when more than a few are needed."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    changes = [item for item in difflib.SequenceMatcher(None, old, new, False).get_opcodes() if item[0] != "equal"]
    lines = sum(max(stop - start, end - begin) for _, start, stop, begin, end in changes)
    if not changes or len(changes) > MOST_EDITS or lines > MOST_LINES:
        return None
    edits: list[tuple[str, str]] = []
    for _, start, stop, begin, end in changes:
        # An insertion takes the line before it along; a text that is there twice, those around it.
        while start > 0 and (start == stop or before.count("".join(old[start:stop])) != 1):
            start, begin = start - 1, begin - 1
        while stop < len(old) and before.count("".join(old[start:stop])) != 1:
            stop, end = stop + 1, end + 1
        left, right = "".join(old[start:stop]), "".join(new[begin:end])
        if left.endswith("\n") and right.endswith("\n"):
            left, right = left[:-1], right[:-1]
        edits.append((left, right))
    found = Nearest("", tuple(edits))
    return found.edits if found.of(before) and found.applied(before) == after else None
