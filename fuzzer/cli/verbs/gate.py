"""``relaxfuzz gate``: judge a campaign by a policy."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import replace
from pathlib import Path

from fuzzer.cli.options import add_triage, file_errors, inform, put_json, show
from fuzzer.core.config import absolute_target, project_config, project_file, read_config
from fuzzer.core.text import printable
from fuzzer.core.verb import OK, READS_ONLY, UsageError, Verb
from relaxkit.near import near_matches
from relaxkit.passes.pass_ref import split_target

LEAST_SECONDS = 600  # of the campaign whose baseline is to be committed: a shorter one misses defects
_COLOURS = {
    "(?m)^(FAIL|gate (FAILED|USAGE))": "bold red",
    "(?m)^(SHORT|gate (NOT ENOUGH EVIDENCE|passed, with .*))": "bold yellow",
    "(?m)^gate passed(?=:)": "bold green",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("directory", type=Path, nargs="?", metavar="DIR", help="the campaign's directory")
    what.add_argument(
        "--check", action="store_true",
        help="do not judge a campaign; only check that the policy, its known findings and its baseline (if there is "
        "one yet) can be read and that the passes exist (exit code 0 if so, 2 if not)",
    )  # fmt: skip
    parser.add_argument("--policy", type=Path, required=True, metavar="FILE", help="the policy (docs/gate.md)")
    parser.add_argument("--baseline", type=Path, metavar="FILE", help="compare with this baseline, not the policy's")
    parser.add_argument(
        "--history", type=Path, nargs="+", default=(), metavar="PATH",
        help="earlier campaigns (directories or baselines), used to detect entries for known findings that no "
        "longer occur (stale entries)",
    )  # fmt: skip
    add_triage(parser)
    parser.add_argument(
        "--explain", action="store_true", help="print every requirement with the numbers that decide whether it is met"
    )
    parser.add_argument("--json", action="store_true", help="print what --explain prints, as one JSON object")


def _configured(policy: Path) -> set[str] | None:
    """Return the names of the passes that the configurations beside a policy test; ``None`` where none tells."""
    found = {each: project_config(each.parent) for each in [project_file(Path.cwd())]}
    found |= {path: read_config(path) for path in sorted(policy.parent.glob("campaign*.toml"))}
    targets = [(path, target) for path, each in found.items() for target in each.get("pass", ())]
    for path, target in targets:
        where, name, _ = split_target(absolute_target(target, f"{path}: pass"))
        text = Path(where).read_text(errors="replace") if where.endswith(".py") else name  # not run by an import
        if name not in (words := set(re.findall(r"\w+", text))) and "import *" not in text:
            raise UsageError(f"{path}: pass: '{where}' has no '{name}'{near_matches(name, words)}")
    keys = {key for each in found.values() for key in each}
    anything = "plugin" in keys or not {"pass", "passes"} & keys
    return None if anything else {split_target(target)[1] for _, target in targets}


def _run(options: argparse.Namespace) -> int:
    from rich.text import Text

    from fuzzer.gate.baseline import to_text
    from fuzzer.gate.entries import expiry
    from fuzzer.gate.judge import given_day, judged, read_policy
    from fuzzer.gate.regressions import SUMMARY
    from fuzzer.gate.ruling import GateExit
    from fuzzer.gate.text import as_json, explain, render
    from relaxkit.files import refuse_links

    if options.check:
        policy, _, missing = read_policy(options.policy, options.baseline, _configured(options.policy))
        day = given_day()
        for entry in policy.known.entries:
            if told := expiry(entry, day):
                inform(f"warning: the entry for {entry.name} ({entry.where}) {told}")
        show(f"{options.policy} can be used")
        if missing is not None:
            show(f"there is no baseline {missing} yet: the first campaign that passes becomes the baseline")
        return OK
    result = judged(options.directory, options.policy, options.baseline, options.triage, options.history)
    if result.first_baseline is not None and result.exit is GateExit.PASSED:
        path = result.first_baseline  # "x": never over, or through, what lies there
        with file_errors("write", path):
            refuse_links(path.parent)
            with path.open("x", encoding="utf-8") as file:
                file.write(to_text(result.measured))
        advice = "commit it"
        if result.measured.info.elapsed_seconds < LEAST_SECONDS:
            command = shlex.join(["relaxfuzz", "baseline", "CAMPAIGN", "--output", str(path)])
            advice = f"it is short: run one of at least ten minutes, and commit its baseline ({command})"
        inform(f"there was no baseline yet, so this campaign was saved as {path}; {advice}")
        result = replace(result, rulings=tuple(each for each in result.rulings if each.subject != SUMMARY))
    if options.json:
        put_json(as_json(result))
    else:
        # What failed, and by how much, is in one line, however long: for logs that are searched.
        text = Text(printable("\n".join(explain(result) if options.explain else render(result))))
        for words, colour in _COLOURS.items():
            text.highlight_regex(words, colour)
        show(text)
    return int(result.exit)


VERB = Verb(
    name="gate",
    help="check a campaign against a policy; exit codes: 0 passed, 1 failed, 2 bad input, 3 not enough evidence",
    example="relaxfuzz gate campaign --policy docs/policy.toml",
    add_arguments=_add_arguments,
    run=_run,
    needs_tvm=False,
    code=READS_ONLY,
)
