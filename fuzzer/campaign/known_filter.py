"""Recognizing known findings while a campaign runs, so that they take none of its time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fuzzer.findings.family import Traits
from fuzzer.findings.file import Decisions, KnownFindings
from fuzzer.store.records import EarlierState, FindingRecord, FindingState

if TYPE_CHECKING:
    from fuzzer.store.writer import Store


class KnownFilter:
    """Tells findings that are listed from others.

    Args:
        store: Of the campaign, opened for writing.
        known: What is listed; entries that do not speak of the campaign's TVM count for nothing.
        decisions: Which families findings are in, where people know better than the rule.

    Attributes:
        ids: Ids of findings whose cases are judged no further.
        likely: Ids of findings that are known if minimization confirms their family.
    """

    def __init__(self, store: Store, known: KnownFindings | None, decisions: Decisions | None) -> None:
        self._store = store
        self._known = (known or KnownFindings()).of(store.info().tvm_version)
        self._decisions = decisions or Decisions()
        self.ids = self._known.ids()
        self.likely: set[str] = set()
        # What was fixed and fails again is news; what nobody has looked into yet, is looked into.
        again = [each for each in store.regressions() if each.state is EarlierState.FAILS and len(each.cases) > 1]
        self._earlier = {each.id: each for each in again}

    def shelve(self, finding_id: str) -> bool:
        """Record a new finding as known if it is listed, and say whether it was: it is not looked into then.

        What is listed as a family is recognized here only where minimization could not put it into another one; where
        it could, the finding is :attr:`likely` known.

        What an earlier campaign has found and minimized, and what failed again when this one began, is known as well.
        """
        if not self._known.entries and not self._earlier:
            return False
        finding = self._store.finding(finding_id)
        earlier = self._earlier.get(finding.id) or self._earlier.get(finding.former)
        listed = self.listed(finding, finding.traits)
        if earlier is not None:
            note = listed or f"found before, by '{earlier.source}', and failed again when this campaign began"
            self._store.save_triage(
                finding_id, FindingState.KNOWN, earlier.cases[0], earlier.bindings, None, note,
                earlier.traits, parts=earlier.parts, assessed=earlier.assessed,
            )  # fmt: skip
        elif listed:
            self._store.save_triage(finding_id, FindingState.KNOWN, None, None, None, listed)
        elif self.listed(finding, Traits(finding.culprit)):
            self.likely.add(finding_id)
        return bool(earlier or listed)

    def listed(self, finding: FindingRecord, traits: Traits) -> str:
        """The note on a finding that is listed, as far as ``traits`` tell its family; empty when it is not."""
        family = replace(finding, traits=traits).family
        placed = self._decisions.place(finding.id, family, finding.former).id if family.final else ""
        entry = self._known.find(finding.id, finding.signature, placed, finding.former)
        return "" if entry is None else f"{self._known.words}: {entry.reference or entry.reason}"
