"""Reports per cause, and merged causes, on failures of real campaigns: the two figures that docs/triage.md quotes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from labelled_failures import AUDITED, Labelled, by_family, by_signature, halves, load

from fuzzer.core.toml import parse_toml
from fuzzer.findings.file import Decisions, decisions_in, load_decisions

ROOT = Path(__file__).parents[2]
LATER = ((161803, AUDITED, 1.02, 1.02), (577215, AUDITED | {161803}, 1.04, 1.06))
"""Campaigns that came when rule and decisions were there, those that had come before, and the most reports a cause."""


@pytest.fixture(scope="module")
def failures() -> list[Labelled]:
    return load()


@pytest.fixture(scope="module")
def decisions() -> Decisions:
    return load_decisions(ROOT / "findings.toml")


def decided_before(seed: int) -> Decisions:
    """The decisions that were made before those of this campaign."""
    path = ROOT / "findings.toml"
    text, mark, _ = path.read_text(encoding="utf-8").partition(f"# Added for the campaign of seed {seed},")
    assert mark
    return decisions_in(parse_toml(path, text))


def test_the_set_is_large_enough(failures: list[Labelled]) -> None:
    assert len(failures) >= 60
    assert len({each.cause for each in failures}) >= 20
    assert len({each.id for each in failures}) == len(failures)


def test_ids_are_those_that_were_recorded(failures: list[Labelled]) -> None:
    """docs/audit.md names them, and so do files of known findings: normalisation must not change by accident."""
    assert [each.former for each in failures] == [each.id for each in failures]


def test_no_family_holds_two_causes(failures: list[Labelled], decisions: Decisions) -> None:
    assert by_family(failures).merged == ()
    assert by_family(failures, decisions).merged == ()


def test_reports_per_cause(failures: list[Labelled], decisions: Decisions) -> None:
    exact, rule, decided = by_signature(failures), by_family(failures), by_family(failures, decisions)
    print(f"\nsignatures:               {exact}")
    print(f"families, the rule alone: {rule}")
    print(f"with findings.toml:         {decided}")
    assert rule.per_cause < exact.per_cause
    assert rule.per_cause <= 1.08
    assert decided.per_cause <= 1.01


def test_reports_per_cause_of_each_campaign(failures: list[Labelled], decisions: Decisions) -> None:
    """What a maintainer sees in the morning."""
    print()
    for seed in sorted({seed for each in failures for seed in each.seeds}):
        met = [each for each in failures if seed in each.seeds]
        rule, decided = by_family(met), by_family(met, decisions)
        print(f"seed {seed}, the rule alone: {rule}\nseed {seed}, with findings.toml: {decided}")
        assert rule.per_cause <= 1.07
        assert decided.per_cause <= 1.01


@pytest.mark.parametrize(("later", "earlier", "most", "most_fresh"), LATER)
def test_a_campaign_that_nothing_was_made_from(
    failures: list[Labelled], later: int, earlier: frozenset[int], most: float, most_fresh: float
) -> None:
    """The decisions were there before the findings of this campaign that were new then were looked at."""
    before = decided_before(later)
    met = [each for each in failures if later in each.seeds]
    fresh = [each for each in met if not each.seeds & earlier]
    assert len(fresh) >= 60
    for name, those in (("all", met), ("new to us", fresh)):
        rule, decided = by_family(those), by_family(those, before)
        print(f"\nseed {later}, {name}, the rule alone: {rule}\nseed {later}, {name}, earlier decisions: {decided}")
        assert not rule.merged
        assert not decided.merged
    assert by_family(met, before).per_cause <= most
    assert by_family(fresh).per_cause <= most_fresh


def test_the_rules_hold_on_the_half_that_they_were_not_chosen_on(failures: list[Labelled]) -> None:
    chosen, held = map(by_family, halves(failures))
    print(f"\nchosen on: {chosen}\nheld out:  {held}")
    assert held.failures >= 60
    assert (chosen.merged, held.merged) == ((), ())
    assert max(held.per_cause, chosen.per_cause) <= 1.05


def test_edits_tell_what_words_do_not(failures: list[Labelled]) -> None:
    """Without what the edits told, the names that are taken and the dims that are refused are families each."""
    told = [each for each in failures if each.traits.gone]
    words = [replace(each, traits=replace(each.traits, gone=frozenset())) for each in told]
    assert by_family(told).reports + 8 <= by_family(words).reports


def test_the_decisions_name_families_of_the_set(failures: list[Labelled], decisions: Decisions) -> None:
    there = {each.family.id for each in failures}
    assert {name for entry in decisions.entries for name in (entry.into, *entry.ids)} <= there
