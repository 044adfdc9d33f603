"""The budget of a campaign, divided over passes: evenly, or by what each of them still yields.

A pass *yields* a signature when one of its subjects is the first of the campaign to show it, and it is none that was
known before.  What is spent on it are its subjects: seconds differ from run to run, and what is drawn may not.  Whole
epochs of shards are counted (``fuzzer.pool``), so that the number of workers decides nothing.

Everything here is a pure function of its arguments.
"""

from __future__ import annotations

import enum
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

LEAST_SHARE, EVEN_SHARE, MOST_SHARE = 2, 4, 12
"""Weights of passes by what they yield, beside the even ones of ``strategies.effort``: half as often at the least, so
that an hour judges no pass less than half as often as it should; three times at the most, so that a few passes that
yield for a while do not push all others down to their least."""
FADING = 0.95
"""Of what an epoch counted, so much still counts after one more: twenty epochs, some twenty thousand subjects, are
looked back on.  A pass gets two or three hundred of them, and it takes those to show what it yields."""
PRIOR_FINDS = 1.0
"""New signatures' worth of belief that a pass yields as much as the mean of all: the shape of a gamma distribution.  It
is in finds and not in subjects: when little is found any more, one find then moves a share no further than before, to
twice the even one at most, and when nothing is, the shares become even again."""
_HALVINGS = 60
"""Of the interval in which the scale lies that keeps the mean share even; more than a float can tell apart."""


class Budget(str, enum.Enum):
    """How the budget is divided over passes."""

    EVEN = "even"  # fixed weights, which judge each pass about as often
    YIELD = "yield"  # more for those that still yield, less for the others

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Yield:
    """What a piece of a shard gave.

    Attributes:
        subjects: How many were judged, by pass; pipelines under a name of their own.
        shown: Ids of signatures, with the pass that was judged when the piece first showed it.
    """

    subjects: Mapping[str, int]
    shown: Mapping[str, str]

    def to_json(self) -> str:
        """As text, for the store."""
        return json.dumps({"subjects": dict(self.subjects), "shown": dict(self.shown)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Yield:
        """What :meth:`to_json` wrote."""
        raw = json.loads(text)
        return cls(raw["subjects"], raw["shown"])


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of the passes' yields after some whole epochs.

    Attributes:
        epochs: How many there were.
        subjects: Subjects by pass, those of earlier epochs faded.
        found: New signatures by pass, likewise.
        seen: Ids of all signatures that were shown.
    """

    epochs: int = 0
    subjects: Mapping[str, float] = field(default_factory=dict)
    found: Mapping[str, float] = field(default_factory=dict)
    seen: frozenset[str] = frozenset()

    def after(self, epoch: Sequence[Yield], known: Callable[[str], bool] = lambda _: False) -> Account:
        """The account after one more epoch.

        Args:
            epoch: All its pieces, in the order of their shards and in these.
            known: Whether the signature of an id was known before, and so is no yield.
        """
        spent: Counter[str] = Counter()
        found: Counter[str] = Counter()
        seen = set(self.seen)
        for piece in epoch:
            spent.update(piece.subjects)
            # Of several signatures that show in one piece each counts, whatever their order is.
            found.update(judged for each, judged in piece.shown.items() if each not in seen and not known(each))
            seen.update(piece.shown)
        return Account(self.epochs + 1, _faded(self.subjects, spent), _faded(self.found, found), frozenset(seen))

    def shares(self, names: Iterable[str]) -> dict[str, int]:
        """Weights of passes, in parts of :data:`EVEN_SHARE`; empty as long as none has yielded anything."""
        names = sorted(set(names))
        subjects = {name: self.subjects.get(name, 0.0) for name in names}
        found = {name: self.found.get(name, 0.0) for name in names}
        if not (some := sum(found.values())):
            return {}
        mean = some / sum(subjects.values())
        rates = {name: (found[name] + PRIOR_FINDS) / (mean * subjects[name] + PRIOR_FINDS) for name in names}
        scale = _even_scale(list(rates.values()))
        return {name: round(EVEN_SHARE * _bounded(scale * rate)) for name, rate in rates.items()}

    def to_json(self) -> str:
        """As text, for the store."""
        return json.dumps(
            {
                "epochs": self.epochs,
                "subjects": dict(self.subjects),
                "found": dict(self.found),
                "seen": sorted(self.seen),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Account:
        """What :meth:`to_json` wrote."""
        raw = json.loads(text)
        return cls(raw["epochs"], raw["subjects"], raw["found"], frozenset(raw["seen"]))


def _faded(before: Mapping[str, float], more: Mapping[str, int]) -> dict[str, float]:
    # In a fixed order: sums of floats depend on theirs.
    return {name: FADING * before.get(name, 0.0) + more.get(name, 0) for name in sorted({*before, *more})}


def _bounded(share: float) -> float:
    return max(LEAST_SHARE / EVEN_SHARE, min(MOST_SHARE / EVEN_SHARE, share))


def _even_scale(rates: Sequence[float]) -> float:
    """The scale by which the bounded shares are 1 in the mean: else bounds at work would shift all others."""
    low, high = 0.0, MOST_SHARE / EVEN_SHARE / min(rates)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if sum(map(_bounded, (middle * rate for rate in rates))) < len(rates):
            low = middle
        else:
            high = middle
    return high
