"""What guidance learns from whole epochs, and what it keeps."""

from __future__ import annotations

import itertools
import random

from fuzzer.behaviours import Seen, changed, key, of_subject
from fuzzer.guidance import (
    MOST_KEPT,
    RARE,
    Guide,
    Report,
    piece_to_json,
    pool_from_json,
    pool_to_json,
    reports_of,
)
from fuzzer.pool import EVEN_EFFORT, Deed, Origin, Place, Pool


def report(place: Place, behaviours: tuple[int, ...], *deeds: tuple[str, str], parent: Place | None = None) -> Report:
    told = tuple(Deed(place[1], judged, rewrite) for judged, rewrite in deeds)
    return Report(place, Origin(f"data {place}".encode(), hash(place), behaviours, parent), told)


def test_only_modules_that_showed_something_new_are_kept() -> None:
    guide = Guide()
    guide.learn([report((0, 0), (1, 2)), report((0, 1), (2, 1)), report((0, 2), (2, 3))])
    assert list(guide.kept) == [(0, 0), (0, 2)]
    assert guide.kept[0, 2].shown == (3,)
    counts = guide.learn([report((1, 0), (1, 2, 3))])
    assert list(guide.kept) == [(0, 0), (0, 2)]
    assert counts == {1: 3, 2: 4, 3: 2}


def test_a_new_rewrite_is_kept_with_its_pass() -> None:
    guide = Guide()
    guide.learn([report((0, 0), (1,), ("FuseOps", "+call"), ("Normalize", ""))])
    assert guide.kept[0, 0].parent.passes == ("FuseOps",)
    assert set(guide.kept[0, 0].done) == {*of_subject("FuseOps", "+call")}
    more = [report((1, number), (1,), ("FuseOps", "+call")) for number in range(2 * RARE)]
    guide.learn(more)
    assert len(guide.kept) == RARE, "a pass that has changed few modules so far: each of them is worth keeping"
    assert guide.counts[changed("FuseOps")] == 2 * RARE + 1


def test_the_order_of_arrival_does_not_matter() -> None:
    chance = random.Random(1)
    reports = [
        report((shard, number), tuple(sorted({chance.randrange(60) for _ in range(5)})), ("A", f"+{number % 3}"))
        for shard, number in itertools.product(range(4), range(7))
    ]
    guides = []
    for _ in range(3):
        chance.shuffle(reports)
        guide = Guide()
        guide.learn(reports)
        guides.append((guide.to_json(), guide.counts, guide.pool()))
    assert guides[0] == guides[1] == guides[2]


def test_what_pays_is_drawn_more_often_and_what_was_tried_in_vain_less() -> None:
    guide = Guide()
    guide.learn([report((0, number), (10 * number, 10 * number + 1)) for number in range(3)])
    children = [report((1, number), (0,), parent=(0, 0)) for number in range(4)]
    children += [report((2, number), (0,), ("A", f"+{number}"), parent=(0, 1)) for number in range(4)]
    guide.learn(children)
    weight = dict(zip([each.place for each in guide.pool().parents], guide.pool().weights, strict=True))
    assert weight[0, 1] == weight[0, 2] > weight[0, 0]
    assert (guide.kept[0, 1].tried, guide.kept[0, 1].paid) == (4, 4)


def test_effort_goes_where_new_behaviour_comes() -> None:
    guide = Guide()
    guide.learn(
        [
            report((0, number), (), ("Rich", f"+{number}"), ("Poor", ""), ("Even", "+a" * (number % 3)))
            for number in range(60)
        ]
    )
    effort = guide.pool().effort
    assert effort["Rich"] > EVEN_EFFORT > effort["Poor"] > 0


def test_the_pool_is_bounded_and_keeps_the_rarest() -> None:
    guide = Guide()
    guide.learn([report((0, number), (number,)) for number in range(MOST_KEPT)])
    half = MOST_KEPT // 2
    common = [report((1, number), (number,)) for number in range(half)]
    guide.learn([*common, *(report((2, number), (-1 - number,)) for number in range(half))])
    assert len(guide.kept) == MOST_KEPT
    assert {number for shard, number in guide.kept if shard == 0} == set(range(half, MOST_KEPT))


def test_what_is_stored_is_read() -> None:
    guide = Guide()
    guide.learn([report((0, n), (n, key("x", str(n))), ("A", f"+{n}"), parent=(0, 0) if n else None) for n in range(9)])
    again = Guide.from_json(guide.to_json(), guide.counts)
    assert again.to_json() == guide.to_json()
    assert again.pool() == guide.pool()
    more = [report((1, n), (n + 5,), ("B", "+b")) for n in range(9)]
    guide.learn(more)
    again.learn(more)
    assert again.to_json() == guide.to_json()
    pool = guide.pool()
    assert pool_from_json(pool_to_json(pool)) == pool


def test_the_pieces_of_a_shard_are_put_together() -> None:
    first = piece_to_json({0: Origin(b"a", 1, (5,), None), 1: Origin(b"b", 2, (6,), (3, 4))}, [Deed(0, "A", "+x")])
    rest = piece_to_json({}, [Deed(1, "B", ""), Deed(1, "pipeline", "-y")])
    assert reports_of(7, [first, rest]) == [
        Report((7, 0), Origin(b"a", 1, (5,), None), (Deed(0, "A", "+x"),)),
        Report((7, 1), Origin(b"b", 2, (6,), (3, 4)), (Deed(1, "B", ""), Deed(1, "pipeline", "-y"))),
    ]


def test_seen_counts_what_is_new() -> None:
    seen = Seen()
    keys = [key("pair", str(number)) for number in range(50)]
    assert seen.novelty(keys) == 50
    seen.add(keys[:20])
    assert Seen(seen.bits).novelty(keys) == 30


def test_parents_are_picked_by_weight() -> None:
    guide = Guide()
    guide.learn([report((0, 0), (1, 2, 3, 4, 5, 6, 7, 8, 9)), report((0, 1), (10,))])
    pool: Pool = guide.pool()
    chance = random.Random(1)
    places = [pool.pick(chance).place for _ in range(1000)]
    assert 850 < places.count((0, 0)) < 950
