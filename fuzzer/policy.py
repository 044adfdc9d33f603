"""The gate's policy, a TOML file: what each oracle and each pass must show, and what is known; all keys: docs/gate.md.

known = "known.toml"              # beside the policy, and above the first table; or [[known]] tables, see fuzzer.known
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

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from fuzzer.gating.rules import EVERY, Comparing, Limit, Policy, Rule, Weight
from fuzzer.known import KnownFindings, load_known, parse_known
from fuzzer.known_age import STALE_AFTER, Fault
from fuzzer.tomlfile import TomlFile, near_matches, read_toml
from oracles.verdict import OracleName

__all__ = ["Comparing", "Limit", "Policy", "Rule", "Weight", "load_policy"]

_ORACLES = tuple(str(name) for name in OracleName)
_RATES = (
    "min_pass_rate", "max_skip_share", "max_reject_share", "max_undecidable_share", "max_invalid_share",
    "min_trigger_rate",
)  # fmt: skip
_LIMITS = (*_RATES, "min_checks", "regression", "new_findings")


ENTRIES = {Fault.EXPIRED.value: Weight.FAIL, Fault.OUT_OF_RANGE.value: Weight.NOTE, Fault.STALE.value: Weight.NOTE}
"""What is wrong with an entry of the known findings, and what that does where the policy says nothing."""
_TOP = ("known", "baseline", "confidence", "regression", "known_entries", "campaign", "oracles", "passes")


def load_policy(path: Path, campaign_passes: Collection[str], all_passes: Callable[[], Collection[str]]) -> Policy:
    """Read a policy.

    Args:
        path: The TOML file; relative paths in it start from its directory.
        campaign_passes: Names of the passes that the campaign judged.
        all_passes: Gives the names of all passes under contract; asked only for a name that the campaign did not
            judge, because it costs an import of TVM.

    Raises:
        fuzzer.tomlfile.TomlError: With file, line and key in one line.
    """
    file = read_toml(path)
    for key in file.table:
        if key not in _TOP:
            raise file.error((key,), f"is not a key of a policy{near_matches(key, _TOP)}")
    named = [*_campaign_rule(file), *_oracle_rules(file), *_pass_rules(file, campaign_passes, all_passes)]
    return Policy(
        rules=tuple(rule for rule in named if EVERY not in (rule.oracle, rule.culprit)),
        known=_known(file),
        every=tuple(rule for rule in named if EVERY in (rule.oracle, rule.culprit)),
        confidence=_number(file, ("confidence",), file.table, 0.95, 0.5, 0.9999),
        baseline=_beside(file, "baseline") if "baseline" in file.table else None,
        comparing=_comparing(file),
        entries=_entries(file),
        stale_after=_stale_after(file),
    )


def _campaign_rule(file: TomlFile) -> list[Rule]:
    if "campaign" not in file.table:
        return []
    row = _table(file, ("campaign",), file.table["campaign"], "campaign")
    _only(file, ("campaign",), row, _LIMITS)
    return [Rule(None, None, _limit(file, ("campaign",), row, {}))]


def _oracle_rules(file: TomlFile) -> list[Rule]:
    rules = []
    allowed = tuple(key for key in _LIMITS if key != "min_trigger_rate")
    tables = _tables(file, "oracles")
    for name, row in tables.items():
        if name not in (*_ORACLES, EVERY):
            raise file.error(("oracles", name), f"is not an oracle{near_matches(name, _ORACLES)}")
        _only(file, ("oracles", name), row, allowed)
        rules.append(Rule(name, None, _limit(file, ("oracles", name), row, tables.get(EVERY, {}))))
    return rules


def _pass_rules(file: TomlFile, judged: Collection[str], all_passes: Callable[[], Collection[str]]) -> list[Rule]:
    rules = []
    tables = _tables(file, "passes")
    every = tables.get(EVERY, {})
    for name, row in tables.items():
        if name not in judged and name != EVERY:
            known = {*judged, *all_passes()}
            if name not in known:
                raise file.error(("passes", name), f"is not a pass{near_matches(name, known)}")
        _only(file, ("passes", name), row, (*_LIMITS, *_ORACLES))
        if any(key in row for key in _LIMITS) or not row:
            rules.append(Rule(None, name, _limit(file, ("passes", name), row, every)))
        for oracle in (key for key in row if key in _ORACLES):
            at = ("passes", name, oracle)
            sub = _table(file, at, row[oracle])
            _only(file, at, sub, tuple(key for key in _LIMITS if key != "min_trigger_rate"))
            wider = every.get(oracle, {})
            rules.append(Rule(oracle, name, _limit(file, at, sub, wider if isinstance(wider, dict) else {})))
    return rules


def _tables(file: TomlFile, key: str) -> dict[str, dict[str, Any]]:
    value = _table(file, (key,), file.table.get(key, {}))
    return {name: _table(file, (key, name), row, f"{key}.{name}") for name, row in value.items()}


def _table(file: TomlFile, at: tuple[str, ...], value: Any, header: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise file.error(at, "must be a table" + (f": write [{header}]" if header else ""))
    return value


def _only(file: TomlFile, at: tuple[str, ...], row: dict[str, Any], allowed: Collection[str]) -> None:
    for key in row:
        if key not in allowed:
            raise file.error((*at, key), f"is not a key here{near_matches(key, allowed)}")


def _limit(file: TomlFile, at: tuple[str, ...], row: dict[str, Any], wider: dict[str, Any]) -> Limit:
    """The limit of a table; what it does not say is taken from the table of ``*``, which is checked where it stands."""
    values: dict[str, Any] = {}
    for key in _LIMITS:
        if key in row:
            values[key] = _limit_value(file, (*at, key), row, key)
        elif key in wider:
            values[key] = _limit_value(file, (at[0], EVERY, *at[2:], key), wider, key)
    return Limit(**values)


def _limit_value(file: TomlFile, at: tuple[str, ...], row: dict[str, Any], key: str) -> object:
    if key == "regression":
        return _flag(file, at, row)
    if key == "new_findings":
        return _weight(file, at, row[key])
    if key == "min_checks":
        return _count(file, at, row)
    return _number(file, at, row, None, 0, 1)


def _count(file: TomlFile, at: tuple[str, ...], row: Mapping[str, Any]) -> int:
    value = row[at[-1]]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise file.error(at, "must be a whole number of at least 1")
    return value


def _number(
    file: TomlFile, at: tuple[str, ...], row: Mapping[str, Any], fallback: float | None, low: float, high: float
) -> Any:
    value = row.get(at[-1], fallback)
    # bool is an int in Python, and TOML's nan passes every comparison the wrong way round
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high
    ):
        raise file.error(at, f"must be a number from {low:g} to {high:g}")
    return None if value is None else float(value)


def _flag(file: TomlFile, at: tuple[str, ...], row: Mapping[str, Any]) -> bool:
    value = row.get(at[-1], False)
    if not isinstance(value, bool):
        raise file.error(at, "must be true or false")
    return value


def _weight(file: TomlFile, at: tuple[str, ...], value: Any) -> Weight:
    if value not in [weight.value for weight in Weight]:
        raise file.error(at, 'must be "fail" or "note"')
    return Weight(value)


def _comparing(file: TomlFile) -> Comparing:
    at, usual = ("regression",), Comparing()
    row = _table(file, at, file.table.get("regression", {}), "regression")
    _only(file, at, row, tuple(Comparing.__slots__))
    return Comparing(
        false_alarms=_number(file, (*at, "false_alarms"), row, usual.false_alarms, 1e-9, 0.5),
        least_drop=_number(file, (*at, "least_drop"), row, usual.least_drop, 0, 1),
        trigger_collapse=_number(file, (*at, "trigger_collapse"), row, usual.trigger_collapse, 0, 1),
        accept_findings=_flag(file, (*at, "accept_findings"), row),
    )


def _entries(file: TomlFile) -> dict[str, Weight]:
    at = ("known_entries",)
    row = _table(file, at, file.table.get("known_entries", {}), "known_entries")
    _only(file, at, row, (*ENTRIES, "stale_after"))
    return {name: _weight(file, (*at, name), row[name]) if name in row else usual for name, usual in ENTRIES.items()}


def _stale_after(file: TomlFile) -> int:
    row = file.table.get("known_entries", {})
    return _count(file, ("known_entries", "stale_after"), row) if "stale_after" in row else STALE_AFTER


def _known(file: TomlFile) -> KnownFindings:
    value = file.table.get("known", [])
    return load_known(_beside(file, "known")) if isinstance(value, str) else parse_known(file, value)


def _beside(file: TomlFile, key: str) -> Path:
    """The file that a key names, from the policy's directory."""
    value = file.table[key]
    if not isinstance(value, str):
        raise file.error((key,), "must be the path of a file")
    path = file.path.parent / value
    if not path.is_file():
        raise file.error((key,), f"names '{value}', which is not a file")
    return path
