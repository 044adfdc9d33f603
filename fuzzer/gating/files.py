"""From paths to a verdict: campaigns and baselines are read, and what cannot be read is one line for the user."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from fuzzer.clock import today
from fuzzer.decisions import Decisions, load_decisions
from fuzzer.gate import GateResult, judge_campaign
from fuzzer.gating.baseline import BaselineError, read_baseline
from fuzzer.gating.measured import Measured, measure
from fuzzer.policy import load_policy
from fuzzer.store import Store, StoreError
from fuzzer.tomlfile import TomlError
from fuzzer.verb import UsageError


def judged(
    directory: Path,
    policy_file: Path,
    baseline_file: Path | None = None,
    triage_file: Path | None = None,
    history: Sequence[Path] = (),
) -> GateResult:
    """A campaign's directory under a policy.

    Args:
        directory: The campaign.
        policy_file: The policy.
        baseline_file: What it is compared with; by default what the policy names.
        triage_file: Decisions on families; by default ``triage.toml``, where there is one.
        history: Earlier campaigns, directories or baselines.

    Raises:
        UsageError: For anything that cannot be read.
    """
    decisions = read_decisions(triage_file)
    measured = read_campaign(directory, decisions)
    try:
        policy = load_policy(policy_file, measured.info.passes, _all_passes)
        day = today()
    except ValueError as error:  # a policy, or a day that is none
        raise UsageError(str(error)) from error
    path = baseline_file or policy.baseline
    baseline = None if path is None else read_kept(path)
    earlier = [read_campaign(each, decisions) if each.is_dir() else read_kept(each) for each in history]
    return judge_campaign(policy, measured, baseline, earlier, day)


def read_campaign(directory: Path, decisions: Decisions) -> Measured:
    """What a campaign measured; raises ``UsageError``."""
    try:
        with Store.open(directory) as store:
            return measure(store, decisions)
    except StoreError as error:
        raise UsageError(str(error)) from error


def read_kept(path: Path) -> Measured:
    """What a baseline holds; raises ``UsageError``."""
    try:
        return read_baseline(path)
    except BaselineError as error:
        raise UsageError(str(error)) from error


def read_decisions(path: Path | None) -> Decisions:
    """Decisions on families; raises ``UsageError``."""
    try:
        return load_decisions(path)
    except TomlError as error:
        raise UsageError(str(error)) from error


def _all_passes() -> Collection[str]:
    from oracles.contracts import CONTRACTS

    return tuple(CONTRACTS)
