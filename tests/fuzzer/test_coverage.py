"""Rewrites as text, and coverage in the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_records import META, shard

from fuzzer.core.coverage import MOST_NAMED, REWRITTEN_IN_PLACE, rewrite
from fuzzer.store.writer import Store


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"relax.add": 1}, {"relax.add": 1}, REWRITTEN_IN_PLACE),
        ({}, {}, REWRITTEN_IN_PLACE),
        ({"relax.matmul": 3, "function": 1}, {"relax.matmul": 1, "relax.linear": 1, "function": 1},
         "-relax.matmul x2 +relax.linear"),
        ({"b": 1, "a": 7}, {"c": 1, "d": 3}, "-a x3+ -b +c +d x3+"),
        (dict.fromkeys("abcd", 1), {"e": 1}, "-many +e"),
        ({}, dict.fromkeys("abc"[:MOST_NAMED], 1), "+a +b +c"),
    ],
)  # fmt: skip
def test_a_rewrite_names_what_vanished_and_what_appeared(
    before: dict[str, int], after: dict[str, int], expected: str
) -> None:
    assert rewrite(before, after) == expected


def test_the_counts_of_pieces_add_up_in_the_store(tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0, stop=20), 1.0)
        store.record_shard(shard(0, first=20), 2.0)
        store.record_shard(shard(1), 3.0)
        coverage = store.coverage()
    assert coverage.operators == {"relax.add": 6, "relax.call_tir": 3}
    assert coverage.operands == {("relax.add", "float32", 2): 6, ("relax.add", "float32", -1): 3}
    assert coverage.pairs[("relax.add", "relax.add")] == 6
    assert coverage.idioms == {"matmul_chain": 6, "matmul_chain!mixed_dtype": 3}
    assert (coverage.judged["FuseOps"], coverage.changed["FuseOps"]) == (128, 5 + 11 + 16)
    assert coverage.rewrites == {("FuseOps", "+call +function"): 32}
    assert coverage.bindings == 10 + 22 + 32
