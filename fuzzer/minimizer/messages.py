"""What the search and the worker tell each other; without TVM, so that the search needs none in its process."""

from __future__ import annotations

from dataclasses import dataclass

Key = tuple[int, ...]


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


@dataclass(frozen=True, slots=True)
class Facts:
    """What the search needs to know of the module that it starts from.

    Attributes:
        bindings: Bindings in its Relax functions, nested ones included.
        functions: Its Relax functions.
        hazards: Its guarded operands (see ``safety``).
        empty_json: An empty module.
        reductions: Name of each reduction, and whether it only polishes.
    """

    bindings: int
    functions: int
    hazards: frozenset[str]
    empty_json: str
    reductions: tuple[tuple[str, bool], ...]
