"""Candidates of one reduction on one module; runs inside an isolated worker, for type inference may die, too."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm_ffi.serialization import from_json_graph_str

from fuzzer.minimizer.emit import emit
from fuzzer.minimizer.reduction import Key
from fuzzer.minimizer.reductions import REDUCTIONS
from fuzzer.minimizer.retype import Invalid
from fuzzer.minimizer.safety import hazards
from fuzzer.minimizer.sketch import bindings_of, take

_MAX_ATTEMPTS = 64  # edits tried in one call, so that a call stays far below its time limit


@dataclass(frozen=True, slots=True)
class Request:
    """A question to :func:`propose`.

    Attributes:
        module_json: The module to make smaller.
        reduction: Index in ``REDUCTIONS``.
        start: Key of the first edit to try; ``None`` for the very first one.
        skip_start: Whether ``start`` itself was tried already.
        count: How many candidates to give at most.
        hazards: When the finding is numeric: the guarded operands of the original (see ``safety``), else ``None``.
    """

    module_json: str
    reduction: int
    start: Key | None = None
    skip_start: bool = False
    count: int = 8
    hazards: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A smaller, well-formed module."""

    key: Key
    module_json: str
    digest: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """Candidates in the order of their keys; ``last`` is the last key looked at, ``None`` when there are no more."""

    candidates: tuple[Candidate, ...]
    last: Key | None


def propose(request: Request) -> Proposal:
    """The next candidates of a reduction."""
    module = from_json_graph_str(request.module_json)
    found: list[Candidate] = []
    seen = {digest(module)}
    attempts = 0
    for key, edit in REDUCTIONS[request.reduction].edits(take(module)):
        if request.start is not None and (key < request.start or (request.skip_start and key == request.start)):
            continue
        if attempts >= _MAX_ATTEMPTS or len(found) >= request.count:
            return Proposal(tuple(found), last)
        attempts += 1
        last = key
        sketch = edit()
        if sketch is None:
            continue
        try:
            smaller = emit(sketch)
        except Invalid:
            continue
        if request.hazards is not None and not hazards(smaller) <= request.hazards:
            continue
        name = digest(smaller) if not sketch.rename else f"renamed {digest(smaller)}"
        if name not in seen:
            seen.add(name)
            found.append(Candidate(key, str(tvm.ir.save_json(smaller)), name))
    return Proposal(tuple(found), None)


def digest(module: object) -> str:
    """Structural hash of a module, as text."""
    return f"{tvm_ffi.structural_hash(module, map_free_vars=True):x}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the search needs to know of the module that it starts from."""

    digest: str
    bindings: int
    functions: int
    hazards: frozenset[str]
    empty_json: str


def facts(module_json: str) -> Facts:
    """Size and hazards of a module, and an empty module in the same format."""
    module = from_json_graph_str(module_json)
    sketch = take(module)
    empty = str(tvm.ir.save_json(tvm.IRModule({})))
    return Facts(digest(module), bindings_of(module), len(sketch.relax_functions()), hazards(module), empty)
