"""``relaxfuzz gate``: judge a campaign by a policy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection
from pathlib import Path

from fuzzer.verb import UsageError, Verb


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the campaign's directory")
    parser.add_argument("--policy", type=Path, required=True, metavar="FILE", help="the policy, see docs/policy.toml")
    parser.add_argument("--json", action="store_true", help="one object instead of lines")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.gate import as_json, judge_campaign, render
    from fuzzer.policy import load_policy
    from fuzzer.store import Store, StoreError
    from fuzzer.tomlfile import TomlError

    try:
        with Store.open(options.directory) as store:
            info, tallies, findings = store.info(), store.tallies(), store.findings()
        policy = load_policy(options.policy, info.passes, _all_passes)
    except (StoreError, TomlError) as error:
        raise UsageError(str(error)) from error
    result = judge_campaign(policy, tallies, findings)
    if options.json:
        print(json.dumps(as_json(result, info), indent=2))
    else:
        print("\n".join(render(result, info)))
    return int(result.exit)


def _all_passes() -> Collection[str]:
    from oracles.contracts import CONTRACTS

    return tuple(CONTRACTS)


VERB = Verb(
    name="gate",
    help="judge a campaign by a policy: 0 passed, 1 failed, 2 bad input, 3 not enough evidence",
    example="relaxfuzz gate campaign --policy docs/policy.toml",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
)
