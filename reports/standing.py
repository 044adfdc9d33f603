"""What a finding means for those who read a report of CI: does it fail, and if not, why not?"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from fuzzer.gate import GateResult
from fuzzer.plaintext import first_line
from fuzzer.records import FindingRecord, FindingState


class Standing(str, enum.Enum):
    """How a finding stands."""

    FAILS = "fails"
    NOTED = "noted"  # new, but the policy only notes it, or takes it over from the baseline
    KNOWN = "known"
    SUSPECT = "suspect"  # seen, but not proven

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Standings:
    """The findings of a campaign by what they mean, under a policy or without one.

    Attributes:
        policy: By id, what the policy makes of each; ``None`` without a policy, where the campaign's own list decides.
        excuses: By id, the reference and the reason of known ones.
        families: By id, the family as people decided, where a policy was asked.
    """

    policy: Mapping[str, Standing] | None = None
    excuses: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)

    def of(self, finding: FindingRecord) -> Standing:
        """How one stands."""
        if self.policy is not None:
            return self.policy.get(finding.id, Standing.FAILS)
        if finding.state is FindingState.KNOWN:
            return Standing.KNOWN
        return Standing.SUSPECT if finding.suspect else Standing.FAILS

    def family(self, finding: FindingRecord) -> str:
        """Id of its family."""
        return self.families.get(finding.id) or finding.family.id

    def why(self, finding: FindingRecord) -> str:
        """Why it does not fail; empty when it does or nothing is known of it."""
        return self.excuses.get(finding.id) or first_line(finding.note)


def standings(result: GateResult | None) -> Standings:
    """What a gate's result makes of the findings; without one, what the campaign itself says."""
    if result is None:
        return Standings()
    found = result.findings
    policy = {record.id: Standing.FAILS for record in found.new}
    policy |= {record.id: Standing.NOTED for record in (*found.noted, *found.accepted)}
    policy |= {record.id: Standing.SUSPECT for record in found.suspects}
    policy |= {record.id: Standing.KNOWN for record, _ in found.known}
    excuses = {record.id: f"{entry.reference}: {entry.reason}" for record, entry in found.known}
    excuses |= {record.id: "in the baseline" for record in found.accepted}
    return Standings(policy, excuses, {seen.id: seen.family for seen in result.measured.seen})
