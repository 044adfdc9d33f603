"""``relaxfuzz doctor``: what works on this machine, and what does not."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.doctor import Check


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", metavar="DIR", default=".", help="where campaigns are to be written (default: the current directory)"
    )
    parser.add_argument("--json", action="store_true", help="one object, with the versions, instead of lines")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.doctor import CAMPAIGN_NEEDS_IT, Health, examine, worst
    from fuzzer.versions import versions

    if not options.out or "\0" in options.out:
        raise UsageError(f"--out {options.out!r} is not a directory's name")
    checks = examine(Path(options.out))
    verdict = worst(checks)
    if options.json:
        print(json.dumps({"verdict": verdict.value, "versions": versions(),
                          "checks": [_object(check) for check in checks]}, indent=2))  # fmt: skip
    else:
        print("\n".join([*_lines(checks), _closing(checks)]))
    return CAMPAIGN_NEEDS_IT if verdict is Health.FAIL else OK


def _lines(checks: list[Check]) -> list[str]:
    from fuzzer.plaintext import printable

    width = max(len(check.name) for check in checks)
    return [f"{check.health.value:<4}  {check.name:<{width}}  {printable(' '.join(str(check).split()))}"
            for check in checks]  # fmt: skip


def _closing(checks: list[Check]) -> str:
    from fuzzer.doctor import Health

    broken = [check.name for check in checks if check.health is Health.FAIL]
    if broken:
        return f"A campaign cannot run here: {', '.join(broken)}."
    poorer = sum(check.health is Health.WARN for check in checks)
    return f"Campaigns can run here{f', with {poorer} restriction' + 's' * (poorer > 1) if poorer else ''}."


def _object(check: Check) -> dict[str, str]:
    return {"name": check.name, "health": check.health.value, "found": check.found, "remedy": check.remedy}


VERB = Verb(
    name="doctor",
    help="say what works on this machine; exit code 1 when something that a campaign needs does not",
    example="relaxfuzz doctor --out campaign",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
)
