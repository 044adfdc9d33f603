"""How often each pass changes the modules that a campaign gives it, and which idioms those modules hold.

    python benchmarks/triggers.py [--modules 600] [--seed 1] [--passes NAME,NAME] [--json]

Modules and passes are drawn as a campaign over all passes draws them (``fuzzer.shard.draw.draw_subjects``); each pass
is applied once to its prepared input (``oracles.core.subject.Subject``), and *changed* is ``Subject.changed``: the
output's structural hash is not that of the prepared input.  Every module is tried in a process of its own, forked from
one that has loaded TVM; what kills such a process is counted as a death and stops no others.  A subject whose pass
raises, dies or is not meant for the module (a precondition) counts as a subject that was not changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from shared import arguments
from tabulate import tabulate

SECONDS = 60
"""Time that the subjects of one module may take together."""
LEAST, HALF = 0.05, 0.20
"""Shares that every pass, and half of the passes, should reach."""


@dataclass
class Tally:
    """What became of the subjects of one pass."""

    subjects: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Changed subjects among all."""
        return self.outcomes["changed"] / self.subjects if self.subjects else 0.0


def outcome(facts: Any, passes: Any) -> str:
    """What one subject's passes did: ``changed``, ``same``, ``raised``, ``unprepared`` or ``unmet``."""
    from oracles.core.subject import Subject

    subject = Subject(facts.module, passes, facts=facts)
    if subject.facts is None:
        return "unprepared"
    if any(precondition(subject.module) is not None for precondition in subject.contract.preconditions):
        return "unmet"
    changed = subject.changed
    if subject.facts.modified():
        facts.restore()
    return "raised" if changed is None else "changed" if changed else "same"


def tried(drawn: Any) -> Iterator[str]:
    """Outcomes of the subjects of one module, in order, from a forked process; fewer when it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            signal.alarm(SECONDS)
            os.close(reader)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            from oracles.core.module_facts import ModuleFacts

            facts = ModuleFacts(drawn.module)
            for passes in drawn.pipelines:
                os.write(writer, f"{outcome(facts, passes)}\n".encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        for line in lines:
            yield line.strip()
    os.waitpid(child, 0)


def drawn_modules(count: int, seed: int, names: tuple[str, ...]) -> Iterator[Any]:
    """The modules of a campaign with what each is tried under."""
    from fuzzer.core.config import Config
    from fuzzer.shard.draw import SHARD_EXAMPLES, draw_subjects, subjects_per_module
    from relaxkit.passes.contract import OracleName

    config = Config(seed, names, (), tuple(OracleName), 1, None, 1)
    per_shard = -(-SHARD_EXAMPLES // subjects_per_module(config))
    for index in range(count):
        try:
            drawn = draw_subjects(config, index // per_shard, index % per_shard)
        except Exception as error:  # the generator's own fault; what it draws otherwise can still be measured
            print(f"module {index}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            continue
        if drawn is not None:
            yield drawn


def measure(count: int, seed: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Draw modules, apply the passes, and count."""
    tallies: dict[str, Tally] = {name: Tally() for name in names}
    tallies["pipeline"] = Tally()
    idioms: Counter[str] = Counter()
    modules = 0
    for drawn in drawn_modules(count, seed, names):
        modules += 1
        idioms.update(getattr(drawn, "idioms", ()))
        said = list(tried(drawn))
        for index, passes in enumerate(drawn.pipelines):
            tally = tallies[passes[0].name if len(passes) == 1 else "pipeline"]
            tally.subjects += 1
            tally.outcomes[said[index] if index < len(said) else "died" if index == len(said) else "cut short"] += 1
        if modules % 50 == 0:
            print(f"{modules} modules", file=sys.stderr)
    return {
        "modules": modules,
        "passes": {
            name: {"subjects": t.subjects, "share": t.share, **{kind: t.outcomes[kind] for kind in _KINDS}}
            for name, t in tallies.items()
        },
        "idioms": {name: number / modules for name, number in idioms.most_common()},
    }


_KINDS = ("changed", "same", "raised", "unmet", "unprepared", "died", "cut short")


def main() -> None:
    from fuzzer.campaign.setup import pass_names

    parser = arguments.Parser(__doc__)
    parser.add_argument("--modules", type=arguments.count, default=600)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument(
        "--passes", type=arguments.passes, help="names, separated by commas; default: all under contract"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    names = options.passes or pass_names()
    result = measure(options.modules, options.seed, names)
    if options.json:
        print(json.dumps(result))
        return
    rows = sorted(result["passes"].items(), key=lambda row: row[1]["share"])
    print(
        tabulate([(name, *row.values()) for name, row in rows], ("pass", "subjects", "share", *_KINDS), floatfmt=".3f")
    )
    shares = [row["share"] for name, row in rows if row["subjects"] and name != "pipeline"]
    print(f"{sum(s >= LEAST for s in shares)} of {len(shares)} passes changed at least {LEAST:.0%} of their modules,")
    print(f"{sum(s >= HALF for s in shares)} at least {HALF:.0%}.")
    print(tabulate(result["idioms"].items(), ("idiom", "share of modules"), floatfmt=".3f"))


if __name__ == "__main__":
    main()
