"""Which shorter pipelines are tried, and in which order."""

from __future__ import annotations

import pytest

from fuzzer.minimizer.search.passes import shorter
from relaxkit.passes.pass_ref import PassRef


def names(passes: str, culprit: str = "") -> list[str]:
    return ["".join(ref.name for ref in found) for found in shorter(tuple(PassRef(n, n) for n in passes), culprit)]


def test_the_culprit_comes_first_alone_and_then_with_all_before_it() -> None:
    assert names("abcd", "c")[:2] == ["c", "abc"]


@pytest.mark.parametrize("passes", ["a", ""])
def test_a_single_pass_stays(passes: str) -> None:
    assert names(passes, "a") == []


def test_each_pass_is_left_out_once_and_chunks_decay() -> None:
    found = names("abcdefgh")
    assert found[:2] == ["abcd", "efgh"]
    assert found[-8:] == ["abcdefg", "abcdefh", "abcdegh", "abcdfgh", "abcefgh", "abdefgh", "acdefgh", "bcdefgh"]
    assert len(found) == len(set(found))
    assert all(found)
