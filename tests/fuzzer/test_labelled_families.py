"""Reports per cause, and merged causes, on failures of real campaigns: the two figures that docs/triage.md quotes."""

from __future__ import annotations

from pathlib import Path

import pytest
from labelled_failures import AUDITED, Labelled, by_family, by_signature, load

from fuzzer.decisions import Decisions, load_decisions, parse_decisions
from fuzzer.tomlfile import parse_toml

ROOT = Path(__file__).parents[2]
LATER = 161803


@pytest.fixture(scope="module")
def failures() -> list[Labelled]:
    return load()


@pytest.fixture(scope="module")
def decisions() -> Decisions:
    return load_decisions(ROOT / "triage.toml")


@pytest.fixture(scope="module")
def audited() -> Decisions:
    """The decisions that were made from the campaigns of docs/audit.md."""
    path = ROOT / "triage.toml"
    return parse_decisions(parse_toml(path, path.read_text(encoding="utf-8").partition("# Added for")[0]))


def test_the_set_is_large_enough(failures: list[Labelled]) -> None:
    assert len(failures) >= 60
    assert len({each.cause for each in failures}) >= 20
    assert len({each.id for each in failures}) == len(failures)


def test_ids_are_those_that_were_recorded(failures: list[Labelled]) -> None:
    """docs/audit.md names them, and so do files of known findings: normalisation must not change by accident."""
    assert [each.exact for each in failures] == [each.id for each in failures]


def test_no_family_holds_two_causes(failures: list[Labelled], decisions: Decisions) -> None:
    assert by_family(failures).merged == ()
    assert by_family(failures, decisions).merged == ()


def test_reports_per_cause(failures: list[Labelled], decisions: Decisions) -> None:
    exact, rule, decided = by_signature(failures), by_family(failures), by_family(failures, decisions)
    print(f"\nsignatures:               {exact}")
    print(f"families, the rule alone: {rule}")
    print(f"with triage.toml:         {decided}")
    assert rule.per_cause < exact.per_cause
    assert rule.per_cause <= 1.25  # over eleven campaigns, rare symptoms of one cause add up; 1.05 needs the decisions
    assert decided.per_cause <= 1.05


def test_reports_per_cause_of_each_campaign(failures: list[Labelled], decisions: Decisions) -> None:
    """What a maintainer sees in the morning."""
    print()
    for seed in sorted({seed for each in failures for seed in each.seeds}):
        met = [each for each in failures if seed in each.seeds]
        rule, decided = by_family(met), by_family(met, decisions)
        print(f"seed {seed}, the rule alone: {rule}\nseed {seed}, with triage.toml: {decided}")
        assert rule.per_cause <= 1.16
        assert decided.per_cause <= 1.05


def test_a_campaign_that_nothing_was_made_from(failures: list[Labelled], audited: Decisions) -> None:
    """The rule and the decisions of the audit were there before most findings of this campaign were looked at."""
    met = [each for each in failures if LATER in each.seeds]
    fresh = [each for each in met if not each.seeds & AUDITED]
    assert len(fresh) >= 60
    for name, those in (("all", met), ("new to us", fresh)):
        rule, decided = by_family(those), by_family(those, audited)
        print(f"\nseed {LATER}, {name}, the rule alone: {rule}\nseed {LATER}, {name}, earlier decisions: {decided}")
        assert not rule.merged
        assert not decided.merged
    assert by_family(met, audited).per_cause <= 1.08
    assert by_family(fresh).per_cause <= 1.12


def test_the_decisions_name_families_of_the_set(failures: list[Labelled], decisions: Decisions) -> None:
    there = {each.family.id for each in failures}
    assert {name for entry in decisions.entries for name in (entry.into, *entry.ids)} <= there
