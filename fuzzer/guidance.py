"""Guidance: from the results of whole epochs to the pool of a later one.

Runs in the campaign's process, between shards.  It keeps how often each behaviour was seen, the modules that were first
to show one, and what judging under each pass brought of late.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fuzzer.behaviours import Seen, changed, of_subject
from fuzzer.pool import EVEN_EFFORT, LEAST_EFFORT, MOST_EFFORT, Deed, Origin, Parent, Place, Pool

MOST_KEPT = 256
RARE = 8
"""A pass that changed fewer modules than this has done something worth keeping whenever it changes one."""
DEED_WORTH = 8.0
"""What a new rewrite is worth in new pairs of operators: there are far fewer, and they are what is looked for."""
FADING = 0.8
"""Of what a pass brought in the epochs before, so much still counts after one more."""
PRIOR = 0.05
"""New rewrites a subject that a pass is believed to bring before it was tried; it weighs as ``PRIOR_SUBJECTS``."""
PRIOR_SUBJECTS = 20


@dataclass(frozen=True, slots=True)
class Kept:
    """A module that was first to show something.

    Attributes:
        parent: What its neighbours are drawn from.
        shown: Behaviours of the module that it was first to show.
        done: Behaviours of passes on it that were new, or rare.
        tried: Neighbours of it that were judged.
        paid: Of these, those that were kept themselves.
    """

    parent: Parent
    shown: tuple[int, ...]
    done: tuple[int, ...]
    tried: int = 0
    paid: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """A judged module, as guidance learns from it."""

    place: Place
    origin: Origin
    deeds: tuple[Deed, ...]


@dataclass(slots=True)
class Guide:
    """What guidance knows after some whole epochs.

    Attributes:
        epochs: How many epochs it has learnt from.
        counts: Modules, or subjects, by behaviour.
        kept: By place.
        brought: New rewrites by pass, those of earlier epochs faded.
        spent: Subjects by pass, likewise.
    """

    epochs: int = 0
    counts: dict[int, int] = field(default_factory=dict)
    kept: dict[Place, Kept] = field(default_factory=dict)
    brought: dict[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    _seen: Seen = field(default_factory=Seen)

    def learn(self, reports: Iterable[Report]) -> dict[int, int]:
        """Learn from all modules of the next epoch, in the order of their places; gives the counts that changed."""
        fresh: Counter[int] = Counter()
        for stats in (self.brought, self.spent):
            for name in stats:
                stats[name] *= FADING
        for report in sorted(reports, key=lambda each: each.place):
            self._learn_one(report, fresh)
        self._seen.add(fresh)
        self._forget()
        self.epochs += 1
        return {each: self.counts[each] for each in fresh}

    def _learn_one(self, report: Report, fresh: Counter[int]) -> None:
        counts = self.counts
        shown = tuple(each for each in report.origin.behaviours if each not in counts)
        done: list[int] = []
        passes: list[str] = []
        told: list[int] = []
        for deed in report.deeds:
            self.spent[deed.judged] = self.spent.get(deed.judged, 0.0) + 1
            if not deed.rewrite:
                continue
            keys = of_subject(deed.judged, deed.rewrite)
            told += keys
            new = [each for each in keys if each not in counts]
            if counts.get(changed(deed.judged), 0) < RARE:
                new.append(changed(deed.judged))
            if new:
                self.brought[deed.judged] = self.brought.get(deed.judged, 0.0) + 1
                passes.append(deed.judged)
                done += new
        for each in (*report.origin.behaviours, *told):
            counts[each] = counts.get(each, 0) + 1
            fresh[each] += 1
        worthy = bool(shown or done)
        if report.origin.parent is not None and (source := self.kept.get(report.origin.parent)) is not None:
            self.kept[report.origin.parent] = replace(source, tried=source.tried + 1, paid=source.paid + bool(done))
        if worthy:
            names = tuple(sorted(set(passes)))
            parent = Parent(report.place, report.origin.data, report.origin.fingerprint, names)
            self.kept[report.place] = Kept(parent, shown, tuple(sorted(set(done))))

    def _forget(self) -> None:
        """Keep the modules that are worth most."""
        if len(self.kept) > MOST_KEPT:
            best = sorted(self.kept, key=lambda place: (-self.worth(self.kept[place]), place))[:MOST_KEPT]
            self.kept = {place: self.kept[place] for place in sorted(best)}

    def worth(self, kept: Kept) -> float:
        """How much is to be expected of a neighbour: what is rare about the module, less where it was tried in vain."""
        counts = self.counts
        rarity = sum(1 / counts[each] for each in kept.shown) + DEED_WORTH * sum(1 / counts[each] for each in kept.done)
        return rarity * (1 + kept.paid) / (1 + kept.tried)

    def pool(self) -> Pool:
        """The pool that follows from what is known now."""
        kept = [self.kept[place] for place in sorted(self.kept)]
        worth = [self.worth(each) for each in kept]
        mean = sum(worth) / len(worth) if worth else 1.0
        weights = tuple(max(1, min(1000, round(100 * each / mean))) for each in worth)
        return Pool(tuple(each.parent for each in kept), weights, self._efforts(), self._seen.bits)

    def _efforts(self) -> dict[str, int]:
        """Weights of passes, by what a subject under each brought of late in comparison with all."""
        rates = {
            name: (self.brought.get(name, 0.0) + PRIOR * PRIOR_SUBJECTS) / (spent + PRIOR_SUBJECTS)
            for name, spent in sorted(self.spent.items())
        }
        mean = sum(rates.values()) / len(rates) if rates else 1.0
        return {
            name: max(LEAST_EFFORT, min(MOST_EFFORT, round(EVEN_EFFORT * rate / mean))) for name, rate in rates.items()
        }

    # -- for the store ------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything but :attr:`counts`, which the store keeps row by row."""
        rows = [
            [*each.parent.place, _text(each.parent.data), each.parent.fingerprint, each.parent.passes, each.shown,
             each.done, each.tried, each.paid]
            for _, each in sorted(self.kept.items())
        ]  # fmt: skip
        return json.dumps({"epochs": self.epochs, "kept": rows, "brought": self.brought, "spent": self.spent})

    @classmethod
    def from_json(cls, text: str, counts: Mapping[int, int]) -> Guide:
        """What :meth:`to_json` wrote."""
        raw = json.loads(text)
        guide = cls(raw["epochs"], dict(counts), {}, raw["brought"], raw["spent"])
        for shard, number, data, fingerprint, passes, shown, done, tried, paid in raw["kept"]:
            parent = Parent((shard, number), base64.b64decode(data), fingerprint, tuple(passes))
            guide.kept[shard, number] = Kept(parent, tuple(shown), tuple(done), tried, paid)
        guide._seen.add(guide.counts)
        return guide


def pool_to_json(pool: Pool) -> str:
    """A pool as text, for the store."""
    parents = [[*each.place, _text(each.data), each.fingerprint, each.passes] for each in pool.parents]
    return json.dumps(
        {"parents": parents, "weights": pool.weights, "effort": pool.effort, "seen": _text(pool.seen)}
    )  # fmt: skip


def pool_from_json(text: str) -> Pool:
    """What :func:`pool_to_json` wrote."""
    raw = json.loads(text)
    parents = tuple(
        Parent((shard, number), base64.b64decode(data), fingerprint, tuple(passes))
        for shard, number, data, fingerprint, passes in raw["parents"]
    )
    return Pool(parents, tuple(raw["weights"]), raw["effort"], base64.b64decode(raw["seen"]))


def piece_to_json(origins: Mapping[int, Origin], deeds: Iterable[Deed]) -> str:
    """What a piece of a shard tells guidance, as text."""
    return json.dumps(
        {
            "origins": [
                [number, _text(each.data), each.fingerprint, each.behaviours, each.parent]
                for number, each in origins.items()
            ],
            "deeds": [[each.number, each.judged, each.rewrite] for each in deeds],
        }
    )


def reports_of(shard: int, pieces: Iterable[str]) -> list[Report]:
    """The modules of a shard, of all its pieces in order."""
    origins: dict[int, Origin] = {}
    deeds: dict[int, list[Deed]] = {}
    for text in pieces:
        raw: dict[str, Any] = json.loads(text)
        for number, data, fingerprint, behaviours, parent in raw["origins"]:
            place = None if parent is None else (parent[0], parent[1])
            origins[number] = Origin(base64.b64decode(data), fingerprint, tuple(behaviours), place)
        for number, judged, rewrite in raw["deeds"]:
            deeds.setdefault(number, []).append(Deed(number, judged, rewrite))
    return [Report((shard, number), each, tuple(deeds.get(number, ()))) for number, each in sorted(origins.items())]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
