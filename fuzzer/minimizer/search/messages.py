"""The messages between the search and the worker; without TVM, so that the search needs none in its process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from oracles.core.verdict import Verdict
    from relaxkit.passes.pass_ref import PassRef

Key = tuple[int, ...]
STAGE = "minimizer"
"""The breadcrumb of the making of candidates; behind a colon stands the key of the edit."""


@dataclass(frozen=True, slots=True)
class ProposalRequest:
    """A question to :func:`propose`.

    Attributes:
        module_json: The module to make smaller.
        reduction: Index in ``REDUCTIONS``.
        start: Key of the first edit to try; ``None`` for the very first one.
        skip_start: Whether ``start`` itself was tried already.
        count: How many candidates to give at most.
        hazards: When the finding is numeric: the guarded operands of the original (see ``safety``), else ``None``.
        fold: When above 1, the first candidate is so many edits in a row, as if each of them had been accepted.
        passes: The passes of the case: where the module stands as they need it, candidates must, too.
    """

    module_json: str
    reduction: int
    start: Key | None = None
    skip_start: bool = False
    count: int = 8
    hazards: frozenset[str] | None = None
    fold: int = 1
    passes: tuple[PassRef, ...] = ()


@dataclass(frozen=True, slots=True)
class SmallerModule:
    """A smaller, well-formed module."""

    key: Key
    module_json: str
    digest: str


@dataclass(frozen=True, slots=True)
class ProposedModules:
    """Candidates in the order of their keys.

    Attributes:
        candidates: The candidates.
        last: The last key looked at; ``None`` when there are no more.
        invalid: Why the edits in between gave no module, a line each.
    """

    candidates: tuple[SmallerModule, ...]
    last: Key | None
    invalid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnteredCase:
    """A case that begins at the pass at fault, the digest of its module, and its guarded operands."""

    case: Case
    digest: str
    hazards: frozenset[str]


@dataclass(frozen=True, slots=True)
class StartFacts:
    """The facts of the module that the search starts from.

    Attributes:
        bindings: Bindings in its Relax functions, nested ones included.
        functions: Its Relax functions.
        hazards: Its guarded operands (see ``safety``).
        empty_json: An empty module.
        reductions: Name of each reduction, and whether it only polishes.
        digest: Its structural hash, as candidates carry theirs.
        empty_digest: That of the empty module.
    """

    bindings: int
    functions: int
    hazards: frozenset[str]
    empty_json: str
    reductions: tuple[tuple[str, bool], ...]
    digest: str = ""
    empty_digest: str = "empty"


@dataclass(frozen=True, slots=True)
class Failing:
    """A failure that a query saw.

    Attributes:
        id: Id of its signature.
        text: Its signature in one line.
        verdict: The verdict; ``None`` where no oracle judged, but the user's own criterion.
    """

    id: str
    text: str
    verdict: Verdict | None = None
