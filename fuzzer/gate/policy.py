"""The gate's policy, a TOML file: what each oracle and each pass must show, and what is known; all keys: docs/gate.md.

known = "findings.toml"   # beside the policy, above the first table; or [[known]] tables (fuzzer.findings.file)
baseline = "baseline.json"        # what `relaxfuzz baseline` wrote

[oracles.crash]
min_pass_rate = 0.995             # 0 to 1
min_checks = 1000                 # checks = pass + fail

[passes."*"]                      # each pass of the campaign; the same keys in a table of its own outrank it
max_skip_share = 0.9

[passes.LegalizeOps]              # all oracles together
min_pass_rate = 1.0

[passes.LegalizeOps.numeric]      # or one of them
min_checks = 50
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from fuzzer.core.toml import Count, Flag, Share, TomlFile, read_fields, read_record, read_toml
from fuzzer.findings.file import KnownFindings, known_in, load_known
from fuzzer.gate.measured import GateSubject
from relaxkit.near import near_matches
from relaxkit.passes.contract import OracleName
from relaxkit.text_enum import TextEnum

_FOLDER = ".relaxfuzz"  # where `relaxfuzz init` puts a policy; the known findings are beside that directory
EVERY = "*"
"""Stands for each oracle, or each pass, of the campaign."""
STALE_AFTER = 5
"""Campaigns that covered a pass without a hit, after which an entry of the known findings is stale."""
_ORACLES = tuple(str(name) for name in OracleName)


class Weight(TextEnum):
    """Effect of something that is wrong on the verdict."""

    FAIL = "fail"
    NOTE = "note"  # it is only said


_Weight = Annotated[Weight, Meta(description='must be "fail" or "note"')]


class OracleLimit(Struct, frozen=True):
    """Limits on what an oracle shows, on one pass or on all; ``None`` demands nothing.

    Attributes:
        min_pass_rate: Least share of passes among checks, without failures of known findings, 0 to 1.
        min_checks: Least number of checks (pass + fail) before a rate means anything; at least 1.
        max_skip_share: Greatest share of skips among all verdicts.
        max_reject_share: Greatest share of documented refusals among all verdicts.
        max_undecidable_share: Greatest share of comparisons that could not be decided among those that were made.
        max_invalid_share: Greatest share of verdicts in which the harness was wrong.
        max_unproved_share: Greatest share of agreements that were tried on some inputs, and not proved for all.
        regression: Whether the subject is compared with the baseline.
        new_findings: What a finding does that is not known; ``None`` leaves it to the wider rule, at last to ``FAIL``.
    """

    min_pass_rate: Share | None = None
    min_checks: Count = 1
    max_skip_share: Share | None = None
    max_reject_share: Share | None = None
    max_undecidable_share: Share | None = None
    max_invalid_share: Share | None = None
    max_unproved_share: Share | None = None
    regression: Flag = True
    new_findings: _Weight | None = None


class Limit(OracleLimit, frozen=True):
    """Limits on one subject of the policy.

    Attributes:
        min_trigger_rate: Least share of modules that the pass changed; of all oracles together.
        min_changed: Least number of modules that the pass changed, before anything it did is evidence.
    """

    min_trigger_rate: Share | None = None
    min_changed: Count | None = None


@dataclass(frozen=True, slots=True)
class Rule(GateSubject):
    """A limit and what it applies to.

    Attributes:
        limit: The demand.
        own: Whether it has a table of its own in the policy, and not only that of ``*``.
    """

    limit: Limit = field(default_factory=Limit)
    own: bool = True

    @property
    def subject(self) -> GateSubject:
        """Oracle and pass that it applies to."""
        return GateSubject(self.oracle, self.culprit)


class Comparing(Struct, frozen=True):
    """Settings of the comparison with a baseline.

    Attributes:
        false_alarms: Greatest chance that a campaign like its baseline fails, over all comparisons together.
        least_drop: Pass rates that fell by less, significantly or not, are no regression.
        trigger_collapse: A pass that acts less often than this share of what it did has collapsed.
        accept_findings: Whether the findings of the baseline are no new ones.
    """

    false_alarms: Annotated[float, Meta(ge=1e-9, le=0.5, description="must be a number from 1e-09 to 0.5")] = 0.01
    least_drop: Share = 0.0
    trigger_collapse: Share = 0.5
    accept_findings: Flag = False


class KnownEntries(Struct, frozen=True):
    """Effects of entries of the known findings that somebody should look at again.

    Attributes:
        expired: What an entry does whose day has come.
        out_of_range: What one does that does not speak of the tested release.
        stale: What one does that nothing has met for long.
        stale_after: Campaigns that could have met an entry and did not, after which it is stale.
    """

    expired: _Weight = Weight.FAIL
    out_of_range: _Weight = Weight.NOTE
    stale: _Weight = Weight.NOTE
    stale_after: Count = STALE_AFTER


class Policy(Struct, frozen=True):
    """A parsed policy.

    Attributes:
        rules: In the order of the file.
        known: The known findings.
        every: Rules whose oracle or pass is ``*``.
        confidence: Of Wilson's interval.
        questions: What a failure does that rests on a claim of ours.
        baseline: The baseline's file.
        comparing: How it is compared.
        entries: What is done about entries of the known findings that no longer fit.
        suspects: Whether failures of suspects count in the rates.
        notes: What it does if a pass of the user's does something that no contract covers.
        known_file: The file of the known findings.
    """

    rules: tuple[Rule, ...]
    known: KnownFindings
    every: tuple[Rule, ...] = ()
    confidence: float = 0.95
    questions: Weight = Weight.NOTE
    baseline: Path | None = None
    comparing: Comparing = Comparing()
    entries: KnownEntries = KnownEntries()
    suspects: Weight = Weight.NOTE
    notes: Weight = Weight.NOTE
    known_file: Path | None = None

    def expanded(self, oracles: Iterable[str], passes: Iterable[str]) -> tuple[Rule, ...]:
        """The rules for a campaign of these oracles and passes: those with a table of their own come first."""
        own = {rule.subject for rule in self.rules}
        found = list(self.rules)
        for rule in self.every:
            names = oracles if rule.oracle == EVERY and rule.culprit is None else passes
            for name in names:
                oracle, culprit = (name, None) if rule.culprit is None else (rule.oracle, name)
                if GateSubject(oracle, culprit) not in own:
                    found.append(Rule(oracle, culprit, rule.limit, own=False))
        return tuple(found)


class _PolicyFile(Struct, frozen=True):
    """The keys of the file at its top."""

    known: Any = ()
    baseline: Annotated[str, Meta(description="must be the path of a file")] | None = None
    confidence: Annotated[float, Meta(ge=0.5, le=0.9999, description="must be a number from 0.5 to 0.9999")] = 0.95
    suspects: _Weight = Weight.NOTE
    notes: _Weight = Weight.NOTE
    questions: _Weight = Weight.NOTE
    regression: Any = {}
    known_entries: Any = {}
    campaign: Any = None
    oracles: Any = {}
    passes: Any = {}


def load_policy(
    path: Path, campaign_passes: Collection[str] | None, all_passes: Callable[[], Collection[str]]
) -> Policy:
    """Read a policy.

    Args:
        path: The TOML file; relative paths in it start from its directory.
        campaign_passes: Names of the passes that the campaign judged; ``None``: a pass may have any name.
        all_passes: Gives the names of all passes under contract; asked only for a name that the campaign did not
            judge, because it costs an import of TVM.

    Raises:
        fuzzer.core.toml.TomlError: With file, line and key in one line.
    """
    file = read_toml(path, quote=True)  # the user names it
    top = read_record(file, (), file.table, _PolicyFile, "of a policy")
    known_file = _beside(file, "known", top.known) if isinstance(top.known, str) else None
    named = [*_oracle_rules(file, top.oracles), *_pass_rules(file, top.passes, campaign_passes, all_passes)]
    if top.campaign is not None:
        named.insert(0, Rule(None, None, read_record(file, ("campaign",), top.campaign, Limit, header="campaign")))
    return Policy(
        rules=tuple(rule for rule in named if EVERY not in (rule.oracle, rule.culprit)),
        known=known_in(file) if known_file is None else load_known(known_file),
        known_file=known_file,
        every=tuple(rule for rule in named if EVERY in (rule.oracle, rule.culprit)),
        confidence=top.confidence,
        questions=top.questions,
        baseline=None if top.baseline is None else _beside(file, "baseline", top.baseline),
        comparing=read_record(file, ("regression",), top.regression, Comparing, header="regression"),
        suspects=top.suspects,
        notes=top.notes,
        entries=read_record(file, ("known_entries",), top.known_entries, KnownEntries, header="known_entries"),
    )


def _oracle_rules(file: TomlFile, tables: Any) -> Iterator[Rule]:
    """Read the oracles' tables; what one does not say is taken from that of ``*``, which is read first."""
    _require_table(file, "oracles", tables)
    for name in tables:
        if name not in (*_ORACLES, EVERY):
            raise file.error(("oracles", name), f"is not an oracle{near_matches(name, _ORACLES)}")
    wide: dict[str, Any] = {}
    found = {}
    for name in sorted(tables, key=lambda each: each != EVERY):
        own = read_fields(file, ("oracles", name), tables[name], OracleLimit, header=f"oracles.{name}")
        wide = own if name == EVERY else wide
        found[name] = Rule(name, None, Limit(**{**wide, **own}))
    yield from (found[name] for name in tables)


def _pass_rules(
    file: TomlFile, tables: Any, judged: Collection[str] | None, all_passes: Callable[[], Collection[str]]
) -> Iterator[Rule]:
    _require_table(file, "passes", tables)
    tested = tables if judged is None else judged
    for name in tables:
        if name not in (*tested, EVERY) and name not in (known := {*tested, *all_passes()}):
            raise file.error(("passes", name), f"is not a pass of TVM or of the campaign{near_matches(name, known)}")
    wide: dict[str | None, dict[str, Any]] = {}
    found = {}
    for name in sorted(tables, key=lambda each: each != EVERY):
        own = _demands(file, name, tables[name])
        wide = own if name == EVERY else wide
        found[name] = [Rule(key, name, Limit(**{**wide.get(key, {}), **row})) for key, row in own.items()]
    for name in tables:
        yield from found[name]


def _demands(file: TomlFile, name: str, row: object) -> dict[str | None, dict[str, Any]]:
    """Read the table of a pass: what it says of all oracles together (``None``), and of single ones."""
    at = ("passes", name)
    own = read_fields(file, at, row, Limit, header=f"passes.{name}", others=_ORACLES)
    assert isinstance(row, dict)
    found: dict[str | None, dict[str, Any]] = {None: own} if own or not row else {}
    return found | {key: read_fields(file, (*at, key), row[key], OracleLimit) for key in row if key in _ORACLES}


def _require_table(file: TomlFile, key: str, value: object) -> None:
    if not isinstance(value, dict):
        raise file.error((key,), "must be a table")


def _beside(file: TomlFile, key: str, value: str) -> Path:
    """The file that a key names, from the policy's directory, which only what `init` wrote may leave, to read."""
    path = file.path.parent / value
    home = file.path.parent.resolve()
    file.require_confined((key,), path, home.parent if home.name == _FOLDER and key != "baseline" else home)
    if key != "baseline" and not path.is_file():
        raise file.error((key,), f"names '{value}', which is not a file")
    return path
