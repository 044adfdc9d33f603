"""Modules one edit away from a failing one: another operator, attribute, dtype, dim or hint, or one reduction further.

Runs inside an isolated worker.  Edits are made in the text that a script shows, so that the difference is small for
people by construction; TVM's parser and checker say which of them are modules.
"""

from __future__ import annotations

import difflib
import itertools
import re
import time
from collections.abc import Callable, Iterable, Iterator

import tvm
import tvm_ffi
from tvm import relax
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.findings.script_parts import Nearest
from fuzzer.minimizer.propose import propose
from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.search.messages import ProposalRequest
from fuzzer.repro.module.source import module_source
from fuzzer.repro.module.tvmscript import readable
from fuzzer.repro.pieces.frame import load

_REDUCING_SECONDS = 2.0
"""Reductions infer types, which takes its time; what they give is rarely nearer than an edit of the text."""

MOST_LINES = 6
MOST_EDITS = 5

_PROPERTY, _DEVICE = "another property of a function", "a tensor on no particular device"
_ATTRIBUTE, _DIM, _STATIC = "another attribute", "another dim", "a static dim for a symbolic one"
_DTYPE, _OPERATOR, _RESULT = "another dtype", "another operator", "another result"
_KNOWN, _TENSOR, _RANK = "a known type", "a tensor for a scalar", "another rank"
_SHAPES = r"(?<=Tensor\(\()[^()]*(?=\))|(?<=R\.shape\(\[)[^\[\]]*(?=\])|(?<=T\.Buffer\(\()[^()]*(?=\))"
_SIZES = rf"{_SHAPES}|(?<=T\.int64\()\d+(?=\))"
_UNKNOWN = r'R\.Tensor(?:\((\([^()]*\))\)|\b(?!\(\()(?:\((?:dtype="\w+")?(?:, )?(?:ndim=\d)?\))?)'
"""Types of tensors without a shape or a dtype."""
_TELLING = dict.fromkeys((_PROPERTY, _DEVICE, _ATTRIBUTE, _DIM, _STATIC, _DTYPE, _KNOWN, _TENSOR, _RANK), 0)
_TELLING |= {_OPERATOR: 1, _RESULT: 3}
"""What tells more of the cause comes first.  With another result most of a module is dead code, which tells least;
between them are reductions, most of which take something out."""

Edited = Iterator[tuple[str, str]]
"""Texts, each behind a few words on what is different."""


def neighbours(module_json: str) -> list[tuple[Nearest, str]]:
    """Return texts near that of a module, and what is different, the nearest first; whether of modules is to be seen.

    Before them comes the text itself where another module is read back: it may not fail.
    """
    module = from_json_graph_str(module_json)
    text = readable(module)
    found: dict[str, tuple[tuple[int, int, int], Nearest]] = {}
    for what, other in itertools.chain(_mutated(text), _reduced(module_json)):
        if other in found or other == text or _ones(other) > _ones(text):
            continue
        edits = edits_between(text, other)
        if edits is not None:
            lines = sum(old.count("\n") + 1 for old, _ in edits)
            found[other] = (_TELLING.get(what, 2), lines, _distance(edits)), Nearest(what, edits)
    itself = [] if module_source(module).is_script else [(Nearest("", ()), text)]
    return itself + [(nearest, other) for other, (_, nearest) in sorted(found.items(), key=lambda item: item[1][0])]


def _ones(text: str) -> int:
    """Count the dims and the constants that are one: more of them hide what is wrong, and tell nothing of its cause."""
    dims = sum(len(re.findall(r"\b1\b", shape)) for shape in re.findall(_SHAPES, text))
    return dims + len(re.findall(r"R\.const\(\[*1(?:\.0)?\b", text))


def module_of(text: str, failing_json: str) -> str | None:
    """Return the module of a neighbour's text as JSON; ``None`` when it has none, an ill-formed or the failing one."""
    try:
        module = load(text)
    except Exception:
        return None
    if not isinstance(module, tvm.IRModule) or not relax.analysis.check_well_formed(module):
        return None
    same = tvm_ffi.structural_equal(module, from_json_graph_str(failing_json))
    return None if same else str(tvm.ir.save_json(module))


def edits_between(before: str, after: str) -> tuple[tuple[str, str], ...] | None:
    """Find the few edits of whole lines that make one text of the other; ``None`` when more than a few are needed."""
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


def _distance(edits: tuple[tuple[str, str], ...]) -> int:
    """Characters of a line that are not the same in both, without those around them that are."""
    total = 0
    for old, new in edits:
        start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        rest = list(zip(reversed(old[start:]), reversed(new[start:]), strict=False))
        end = next((i for i, (a, b) in enumerate(rest) if a != b), len(rest))
        total += max(len(old), len(new)) - start - end
    return total


def _reduced(module_json: str) -> Edited:
    until = time.monotonic() + _REDUCING_SECONDS
    for index, reduction in enumerate(REDUCTIONS):
        if reduction.final or time.monotonic() >= until:
            continue
        for candidate in propose(ProposalRequest(module_json, index, count=8)).candidates:
            try:
                yield reduction.name, readable(from_json_graph_str(candidate.module_json))
            except Exception:  # what cannot be printed cannot be shown
                continue


def _decorators(found: re.Match[str]) -> Iterator[str]:
    given = found.group(1) or ""
    yield "@R.function" if "private=True" in given else "@R.function(private=True)"
    if "pure=False" in given:
        yield "@R.function"


def _values(found: re.Match[str]) -> Iterator[str]:
    name, value = found.groups()
    if name in (", dtype=", ", ndim="):
        return
    if value in ("True", "False"):
        yield f"{name}{value == 'False'}"
    elif re.fullmatch(r"-?\d+", value):
        for other in dict.fromkeys((int(value) + 1, int(value) - 1, 0, 1, 2)):
            if other != int(value):
                yield f"{name}{other}"
    elif value == "None":
        yield from (f"{name}1", f"{name}[1]")
    elif value.startswith("["):
        numbers = [int(item) for item in re.findall(r"-?\d+", value)]
        for step in (1, -1):
            yield f"{name}{[item + step for item in numbers]}"
        yield f"{name}{list(reversed(numbers))}"
        yield from [f"{name}{numbers[:-1]}"] * bool(numbers[1:])
    yield ""


def _calls(found: re.Match[str]) -> Iterator[str]:
    name, first, second = found.groups()
    if second:
        for other in ("add", "multiply", "matmul"):
            if other != name:
                yield f"R.{other}({first}, {second})"
    for other in ("nn.relu", "negative", "abs"):
        if other != name:
            yield f"R.{other}({first})"
    yield first


def _known(found: re.Match[str]) -> Iterator[str]:
    dtype, ndim = (re.search(rf"{key}=([^,()]+)", found.group()) for key in ("dtype", "ndim"))
    dims = found[1] or (2,) * int(ndim[1] if ndim else 1)
    yield f"R.Tensor({dims}, dtype={repr('float32') if dtype is None else dtype[1]})"


def _names(found: re.Match[str]) -> Iterator[str]:
    """Yield another variable, or a parameter, for a result."""
    names = dict.fromkeys(re.findall(r"\b(\w+): (?:R|T)\.", found.string))
    return (name for name in names if name != found.group())


_OPERATOR_NAME = r"(?<== )R\.(?!shape\b|const\b|call_\w+\b|output\b|match_cast\b)([\w.]+)"
_SWAPS: tuple[tuple[str, str, Callable[[re.Match[str]], Iterable[str]]], ...] = (
    (_PROPERTY, r"@R\.function(\([^()\n]*\))?", _decorators),
    (_DEVICE, r', vdevice="[^"]*"', lambda _: [""]),
    (_KNOWN, _UNKNOWN, _known),
    (_TENSOR, r"(?<=[(, ])T\.(\w+)\((-?[\d.]+)\)(?=[,)])", lambda found: [f'R.const({found[2]}, "{found[1]}")']),
    (_ATTRIBUTE, r'(, \w+=)(True|False|-?\d+|"[^"\n]*"|None|\[[-\d, ]*\])(?=[,)])', _values),
    (_OPERATOR, rf"{_OPERATOR_NAME}\((\w+)(?=[,)])(?:, (\w+)(?=[,)]))?[^\n]*\)(?=\n)", _calls),
    (_RESULT, r"(?<=return )\w+(?=\n|$)", _names),
)
"""What one match of a pattern is replaced by: attributes by other values, or the default; calls by another operator."""


def _mutated(text: str) -> Edited:
    for what, pattern, others in _SWAPS:
        for found in re.finditer(pattern, text):
            for other in others(found):
                new = text[: found.start()] + other + text[found.end() :]
                yield from ((what, each) for each in (new, _undeclared(new)))
    yield _KNOWN, re.sub(_UNKNOWN, lambda found: next(_known(found)), _undeclared(text, _UNKNOWN))
    yield _RANK, _undeclared(re.sub(r'(?<=R\.Tensor\(\()[\w"]+,(?=\))', "2, 2", text))
    yield from _dims(text)
    yield from _dtypes(text)


def _undeclared(text: str, which: str = r"\(") -> str:
    """Leave the types of results that a pattern is found in to TVM: an edit may have changed what they spell out."""
    declared = r"(?<=\)) -> R\.[^\n]*(?=:\n)|(?<=\w): R\.Tensor\b(?:\((?:[^()]|\([^()]*\))*\))?(?= = )"
    return re.sub(declared, lambda found: "" if re.search(which, found[0]) else found[0], text)


def _dims(text: str) -> Edited:
    """One dim everywhere: another number, or a number for a symbolic one."""
    dims = {dim for shape in re.findall(_SIZES, text) for dim in re.findall(r"\w+", shape)}
    for dim in sorted(dims):
        for other in dict.fromkeys([str(int(dim) + 1), "2", "4"] if dim.isdigit() else ["4"]):
            parts = re.split(f"({_SIZES})", text)
            parts[1::2] = (re.sub(rf'"{dim}"|\b{dim}\b', other, part) for part in parts[1::2])
            yield _DIM if dim.isdigit() else _STATIC, "".join(parts)
    # One place alone, for dims that need not agree.
    for shape in re.finditer(_SHAPES, text):
        for dim in re.finditer(r"\b\d+\b", shape.group()):
            start = shape.start() + dim.start()
            for other in ("2", str(int(dim.group()) + 1)):
                yield _DIM, text[:start] + other + text[start + len(dim.group()) :]


def _dtypes(text: str) -> Edited:
    for dtype in sorted(set(re.findall(r'"((?:u?int|float|bool)\d*)"', text))):
        for other in ("float32", "float16", "int32", "int64"):
            if other != dtype:
                yield _DTYPE, text.replace(f'"{dtype}"', f'"{other}"')
