"""The gate's policy, a TOML file: how often an oracle must pass, on how much evidence, and what is known.

known = "known.toml"              # beside the policy, and above the first table; or [[known]] tables, see fuzzer.known

[oracles.crash]
min_pass_rate = 0.995             # 0 to 1
min_checks = 1000                 # checks = pass + fail

[passes.LegalizeOps]              # all oracles together
min_pass_rate = 1.0

[passes.LegalizeOps.numeric]      # or one of them
min_checks = 50
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.known import KnownFindings, load_known, parse_known
from fuzzer.tomlfile import TomlFile, near_matches, read_toml
from oracles.verdict import OracleName

_TOP = ("oracles", "passes", "known")
_LIMITS = ("min_pass_rate", "min_checks")
_ORACLES = tuple(str(name) for name in OracleName)


@dataclass(frozen=True, slots=True)
class Limit:
    """What one subject of the policy demands.

    Attributes:
        min_pass_rate: Least share of passes, 0 to 1; ``None`` demands nothing.
        min_checks: Least number of checks (pass + fail) before the rate means anything; at least 1.
    """

    min_pass_rate: float | None = None
    min_checks: int = 1


@dataclass(frozen=True, slots=True)
class Rule:
    """A limit and what it applies to.

    Attributes:
        oracle: Name of the oracle, or ``None`` for all together.
        culprit: Name of the pass, or ``None`` for all together.
        limit: The demand.
    """

    oracle: str | None
    culprit: str | None
    limit: Limit

    @property
    def name(self) -> str:
        """What the rule is called in output."""
        return " ".join(part for part in (self.culprit, self.oracle) if part)


@dataclass(frozen=True, slots=True)
class Policy:
    """A parsed policy: rules in the order of the file, and the known findings."""

    rules: tuple[Rule, ...]
    known: KnownFindings


def load_policy(path: Path, campaign_passes: Collection[str], all_passes: Callable[[], Collection[str]]) -> Policy:
    """Read a policy.

    Args:
        path: The TOML file; a relative ``known`` path starts from its directory.
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
    rules = [*_oracle_rules(file), *_pass_rules(file, campaign_passes, all_passes)]
    return Policy(tuple(rules), _known(file))


def _oracle_rules(file: TomlFile) -> list[Rule]:
    rules = []
    for name, row in _tables(file, "oracles").items():
        if name not in _ORACLES:
            raise file.error(("oracles", name), f"is not an oracle{near_matches(name, _ORACLES)}")
        _only(file, ("oracles", name), row, _LIMITS)
        rules.append(Rule(name, None, _limit(file, ("oracles", name), row)))
    return rules


def _pass_rules(file: TomlFile, judged: Collection[str], all_passes: Callable[[], Collection[str]]) -> list[Rule]:
    rules = []
    for name, row in _tables(file, "passes").items():
        if name not in judged:
            known = {*judged, *all_passes()}
            if name not in known:
                raise file.error(("passes", name), f"is not a pass{near_matches(name, known)}")
        _only(file, ("passes", name), row, (*_LIMITS, *_ORACLES))
        if any(key in row for key in _LIMITS) or not row:
            rules.append(Rule(None, name, _limit(file, ("passes", name), row)))
        for oracle in (key for key in row if key in _ORACLES):
            at = ("passes", name, oracle)
            if not isinstance(row[oracle], dict):
                raise file.error(at, "must be a table")
            _only(file, at, row[oracle], _LIMITS)
            rules.append(Rule(oracle, name, _limit(file, at, row[oracle])))
    return rules


def _tables(file: TomlFile, key: str) -> dict[str, dict[str, Any]]:
    value = file.table.get(key, {})
    if not isinstance(value, dict):
        raise file.error((key,), "must be a table")
    for name, row in value.items():
        if not isinstance(row, dict):
            raise file.error((key, name), f"must be a table: write [{key}.{name}]")
    return value


def _only(file: TomlFile, at: tuple[str, ...], row: dict[str, Any], allowed: tuple[str, ...]) -> None:
    for key in row:
        if key not in allowed:
            raise file.error((*at, key), f"is not a key here{near_matches(key, allowed)}")


def _limit(file: TomlFile, at: tuple[str, ...], row: dict[str, Any]) -> Limit:
    rate, checks = row.get("min_pass_rate"), row.get("min_checks", 1)
    # bool is an int in Python, and TOML's nan passes every comparison the wrong way round
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1):
        raise file.error((*at, "min_pass_rate"), "must be a number from 0 to 1")
    if isinstance(checks, bool) or not isinstance(checks, int) or checks < 1:
        raise file.error((*at, "min_checks"), "must be a whole number of at least 1")
    return Limit(None if rate is None else float(rate), checks)


def _known(file: TomlFile) -> KnownFindings:
    value = file.table.get("known", [])
    if not isinstance(value, str):
        return parse_known(file, value)
    path = Path(value)
    if not path.is_absolute():
        path = file.path.parent / path
    if not path.is_file():
        raise file.error(("known",), f"names '{value}', which is not a file")
    return load_known(path)
