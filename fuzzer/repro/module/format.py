"""Long lines of a repro script over several lines, cut at the commas inside their brackets.

Scripts are read by people and need no formatter where they are made: both Python and TVMScript are cut as text, which
means the same to the parser as long as only what stands inside brackets moves.
"""

from __future__ import annotations

from collections.abc import Iterator

WIDTH = 110
_INDENT = 4
_OPENING, _CLOSING = "([{", ")]}"


def wrapped(text: str, width: int = WIDTH) -> str:
    """``text`` with lines of at most ``width`` characters, where brackets allow it and do not nest too deeply."""
    try:
        return "\n".join(part for line in text.splitlines() for part in _wrapped_line(line, width))
    except RecursionError:
        return text


def _wrapped_line(line: str, width: int) -> Iterator[str]:
    group = None if len(line) <= width or line.lstrip().startswith("#") else _widest(line)
    if group is None:
        yield line
        return
    start, stop = group
    margin = " " * (len(line) - len(line.lstrip()) + _INDENT)
    inside = line[start + 1 : stop].strip()
    found = parts(inside)
    yield line[: start + 1]
    if len(margin) + len(inside) <= width:
        found = [inside]
    elif not line.lstrip().startswith(("def ", "@")):  # parameters of functions stand one below the other
        found = _filled(found, width - len(margin) - 1)
    for number, part in enumerate(found):
        comma = "," if number < len(found) - 1 or (inside.endswith(",") and found != [inside]) else ""
        yield from _wrapped_line(f"{margin}{part}{comma}", width)
    # What follows may have brackets of its own that are too long.
    yield from _wrapped_line(f"{margin[_INDENT:]}{line[stop:]}", width)


def _filled(parts: list[str], width: int) -> list[str]:
    """Parts that are short put together, as many as a line holds."""
    filled: list[str] = []
    for part in parts:
        if filled and len(filled[-1]) + 2 + len(part) <= width:
            filled[-1] += f", {part}"
        else:
            filled.append(part)
    return filled


def _widest(line: str) -> tuple[int, int] | None:
    """Return the outermost pair of brackets with the longest content; ``None`` when there is nothing inside any."""
    found: list[tuple[int, int]] = []
    depth, start = 0, 0
    for index, character in _outside_strings(line):
        if character in _OPENING:
            if depth == 0:
                start = index
            depth += 1
        elif character in _CLOSING:
            depth -= 1
            if depth < 0:  # the end of a group that began on an earlier line
                depth = 0
            elif depth == 0 and index > start + 1:
                found.append((start, index))
    return max(found, key=lambda pair: pair[1] - pair[0]) if found and depth == 0 else None


def parts(text: str) -> list[str]:
    """Split the content of a pair of brackets at its commas."""
    found, depth, begin = [], 0, 0
    for index, character in _outside_strings(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            found.append(text[begin:index].strip())
            begin = index + 1
    return [part for part in (*found, text[begin:].strip()) if part]


def _outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """Characters with their places, without those inside string literals."""
    quote, skip = "", False
    for index, character in enumerate(text):
        if skip:
            skip = False
        elif quote:
            if character == "\\":
                skip = True
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        else:
            yield index, character
