"""The records of a policy: what is demanded of whom."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fuzzer.gating.measured import Subject
from fuzzer.known import KnownFindings
from fuzzer.known_age import STALE_AFTER

EVERY = "*"
"""Stands for each oracle, or each pass, of the campaign."""


class Weight(str, enum.Enum):
    """What something that is wrong does to the verdict."""

    FAIL = "fail"
    NOTE = "note"  # it is only said

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Limit:
    """What one subject of the policy demands; ``None`` demands nothing.

    Attributes:
        min_pass_rate: Least share of passes among checks, without failures of known findings, 0 to 1.
        min_checks: Least number of checks (pass + fail) before a rate means anything; at least 1.
        max_skip_share: Greatest share of skips among all verdicts.
        max_reject_share: Greatest share of documented refusals among all verdicts.
        max_undecidable_share: Greatest share of comparisons that could not be decided among those that were made.
        max_invalid_share: Greatest share of verdicts in which the harness was wrong.
        min_trigger_rate: Least share of modules that the pass changed.
        regression: Whether the subject is compared with the baseline.
        new_findings: What a finding does that is not known; ``None`` leaves it to the wider rule, at last to ``FAIL``.
    """

    min_pass_rate: float | None = None
    min_checks: int = 1
    max_skip_share: float | None = None
    max_reject_share: float | None = None
    max_undecidable_share: float | None = None
    max_invalid_share: float | None = None
    min_trigger_rate: float | None = None
    regression: bool = True
    new_findings: Weight | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit and what it applies to.

    Attributes:
        oracle: Name of the oracle, or ``None`` for all together.
        culprit: Name of the pass, or ``None`` for all together.
        limit: The demand.
        own: Whether it has a table of its own in the policy, and not only that of ``*``.
    """

    oracle: str | None
    culprit: str | None
    limit: Limit
    own: bool = True

    @property
    def subject(self) -> Subject:
        """What it applies to."""
        return Subject(self.oracle, self.culprit)

    @property
    def name(self) -> str:
        """What the rule is called in output."""
        return self.subject.name


@dataclass(frozen=True, slots=True)
class Comparing:
    """How a campaign is compared with a baseline.

    Attributes:
        false_alarms: Greatest chance that a campaign like its baseline fails, over all comparisons together.
        least_drop: Pass rates that fell by less, significantly or not, are no regression.
        trigger_collapse: A pass that acts less often than this share of what it did has collapsed.
        accept_findings: Whether the findings of the baseline are no new ones.
    """

    false_alarms: float = 0.01
    least_drop: float = 0.0
    trigger_collapse: float = 0.5
    accept_findings: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy.

    Attributes:
        rules: In the order of the file.
        known: The known findings.
        every: Rules whose oracle or pass is ``*``.
        confidence: Of Wilson's interval.
        baseline: The baseline's file.
        comparing: How it is compared.
        entries: What expired, stale and out-of-range entries of the known findings do, by these names.
        stale_after: Campaigns that could have met an entry and did not, after which it is stale.
    """

    rules: tuple[Rule, ...]
    known: KnownFindings
    every: tuple[Rule, ...] = ()
    confidence: float = 0.95
    baseline: Path | None = None
    comparing: Comparing = Comparing()
    entries: Mapping[str, Weight] = field(default_factory=dict)
    stale_after: int = STALE_AFTER

    def expanded(self, oracles: Iterable[str], passes: Iterable[str]) -> tuple[Rule, ...]:
        """The rules for a campaign of these oracles and passes: those with a table of their own come first."""
        own = {rule.subject for rule in self.rules}
        found = list(self.rules)
        for rule in self.every:
            names = oracles if rule.oracle == EVERY and rule.culprit is None else passes
            for name in names:
                oracle, culprit = (name, None) if rule.culprit is None else (rule.oracle, name)
                if Subject(oracle, culprit) not in own:
                    found.append(Rule(oracle, culprit, rule.limit, own=False))
        return tuple(found)
