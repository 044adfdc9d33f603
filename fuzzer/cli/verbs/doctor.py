"""``relaxfuzz doctor``: what works on this machine, each thing tried, and each check one line."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from fuzzer.cli.options import put_json
from fuzzer.core.text import printable
from fuzzer.core.verb import OK, UsageError, Verb

if TYPE_CHECKING:
    from fuzzer.doctor.machine import Health, HealthCheck

CAMPAIGN_NEEDS_IT = 1
"""Exit code when something that a campaign needs does not work."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", metavar="DIR", default=".", help="where campaigns will be written (default: the current directory)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object, with version numbers")


def _run(options: argparse.Namespace) -> int:
    from fuzzer.core.installed import versions
    from fuzzer.doctor.machine import Health

    if not options.out or "\0" in options.out:
        raise UsageError(f"--out {options.out!r} is not a valid directory name")
    checks = examine(Path(options.out))
    verdict = worst(checks)
    if options.json:
        rows = [{**asdict(check), "health": check.health.value} for check in checks]
        put_json({"verdict": verdict.value, "versions": versions(), "checks": rows})
    else:
        print("\n".join([*_lines(checks), _closing(checks)]))
    return CAMPAIGN_NEEDS_IT if verdict is Health.FAIL else OK


def examine(out: Path) -> list[HealthCheck]:
    """Run all checks, in the order of the layers that they stand on; takes some ten seconds of one core.

    TVM is imported in child processes only, since it may be the thing that is broken.

    Args:
        out: Directory that campaigns are to be written to; need not be there, and is not made.
    """
    from fuzzer.doctor import machine
    from fuzzer.doctor import tvm as doctor_tvm

    return [
        machine.platform(), *doctor_tvm.checks(), machine.cxx(), machine.processors(), machine.memory(),
        machine.out_directory(out), machine.temporary_directory(), *machine.extras(),
    ]  # fmt: skip


def worst(checks: list[HealthCheck]) -> Health:
    """Return the verdict over all of them."""
    from fuzzer.doctor.machine import Health

    return max((check.health for check in checks), key=list(Health).index, default=Health.OK)


def _lines(checks: list[HealthCheck]) -> list[str]:
    width = max(len(check.name) for check in checks)
    return [f"{check.health.value:<4}  {check.name:<{width}}  {printable(' '.join(str(check).split()))}"
            for check in checks]  # fmt: skip


def _closing(checks: list[HealthCheck]) -> str:
    from fuzzer.doctor.machine import Health

    broken = [check.name for check in checks if check.health is Health.FAIL]
    if broken:
        return f"A campaign cannot run here: {', '.join(broken)}."
    poorer = sum(check.health is Health.WARN for check in checks)
    return f"Campaigns can run here{f', with {poorer} restriction' + 's' * (poorer > 1) if poorer else ''}."


VERB = Verb(
    name="doctor",
    help="check what works on this machine; exit code 1 if something that a campaign needs does not work",
    example="relaxfuzz doctor --out campaign",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
)
