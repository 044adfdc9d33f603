"""When a search stops, and what it gives; without TVM, like the search."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fuzzer.core.text import counted
from relaxkit.text_enum import TextEnum

if TYPE_CHECKING:
    from fuzzer.core.case import Case
    from fuzzer.minimizer.search.messages import Failing


@dataclasses.dataclass(frozen=True, slots=True)
class SearchLimits:
    """When the search stops.

    Attributes:
        queries: How many candidates may be judged.
        seconds: Wall time.
    """

    queries: int = 400
    seconds: float = 45.0


class Stopped(TextEnum):
    """The reasons for which a search ends before it is through."""

    TIME = "time"
    QUERIES = "queries"
    INTERRUPT = "interrupt"


@dataclasses.dataclass(frozen=True, slots=True)
class Other:
    """Another failure that the search met: a finding of its own.

    Attributes:
        failing: The failure.
        case: The first case that showed it.
    """

    failing: Failing
    case: Case


@dataclasses.dataclass(frozen=True, slots=True)
class Minimized:
    """Outcome of a search.

    Attributes:
        case: The smallest case found; the given one when nothing could be removed.
        reproduced: Whether the given case showed its signature at all; when not, nothing was tried.
        queries: Candidates judged.
        seconds: Wall time.
        stopped: What ended it before a fixed point was reached, if anything did.
        others: Other failures met on the way, one for each signature; never accepted.
        steps: Names of the reductions that were accepted, in order.
        trail: The cases that were accepted, in order; the last one is ``case``.
        invalid: Why edits gave no module, and how often.
    """

    case: Case
    reproduced: bool
    queries: int = 0
    seconds: float = 0.0
    stopped: Stopped | None = None
    others: tuple[Other, ...] = ()
    steps: tuple[str, ...] = ()
    trail: tuple[Case, ...] = ()
    invalid: Counter[str] = dataclasses.field(default_factory=Counter)

    @property
    def complete(self) -> bool:
        """Say whether a fixed point was reached: running the search again changes nothing."""
        return self.stopped is None

    @property
    def unreduced(self) -> str:
        """Why a search removed nothing."""
        (often, count), *_ = self.invalid.most_common(1) or [("", 0)]
        total, tried = self.invalid.total(), self.queries - 1
        mostly = "" if count == total else f"{count} times "
        invalid = f"; {counted(total, 'edit')} gave an invalid module ({mostly}{often})"
        were = f"{counted(tried, 'smaller module')} {'was' if tried == 1 else 'were'} tried; none shows the failure"
        return f"{were}{invalid if often else ''}"

    def steps_back(self) -> Iterator[Case]:
        """Yield the smallest case, and some larger ones that were accepted on the way, ever fewer of them."""
        places = len(self.trail)
        yield self.case
        back = 2
        while back <= places:
            yield self.trail[-back]
            back *= 2
