"""How long the page of a large campaign takes to make, how large it is, and how long a browser takes to show it.

    python benchmarks/report.py [--cases 100000] [--findings 400] [--json]

The campaign is made up, in a temporary directory, through the store's own interface: every pass under contract under
every oracle, with reasons; modules of real operators, printed as a real campaign's; pairs of operators and rewrites in
such numbers as a night gives.  The time is that of the command, from its start to its end;
the processor's is of all its processes, for a machine that is busy with other work.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from shared import arguments
from tabulate import tabulate

from fuzzer.core.case import Case
from fuzzer.core.coverage import Coverage
from fuzzer.findings.signature import Signature
from fuzzer.store.records import FindingState, ShardResult, SignatureHits
from fuzzer.store.writer import Store
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

PIECE = 250
"""Cases of one transaction."""
PAIRS, REWRITES, REASONS = 15_000, 5_000, 60
_SHARED = "\n".join(f"# line {number}, as long as a line of code is, that all scripts share" for number in range(200))


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--cases", type=arguments.count, default=100_000)
    parser.add_argument("--findings", type=arguments.count, default=400)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-report-") as scratch:
        campaign, page, single = Path(scratch, "campaign"), Path(scratch, "page"), Path(scratch, "page.html")
        make_campaign(campaign, options.cases, options.findings)
        seconds, processor = report(campaign, page)
        found = {
            "cases": options.cases,
            "findings": options.findings,
            "seconds": seconds,
            "processor_seconds": processor,
            "bytes": sum(file.stat().st_size for file in page.iterdir()),
            "one_file_seconds": report(campaign, single)[0],
            "one_file_bytes": single.stat().st_size,
            "browser_seconds": shown(page / "index.html"),
        }
    if options.json:
        print(json.dumps(found))
    else:
        print(tabulate(found.items(), ("", ""), tablefmt="simple"))


def report(campaign: Path, target: Path) -> tuple[float, float]:
    """Seconds of the command that makes the page: on the wall, and of the processor in all its processes."""
    command = [str(Path(sys.executable).parent / "relaxfuzz"), "report", str(campaign), "--html", str(target)]
    began = time.perf_counter()
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    spent: dict[int, float] = {}
    while run.poll() is None:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(run.pid)
            for each in (process, *process.children(recursive=True)):
                times = each.cpu_times()
                spent[each.pid] = times.user + times.system
        time.sleep(0.01)
    if run.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {run.returncode}")
    return round(time.perf_counter() - began, 2), round(sum(spent.values()), 2)


def shown(index: Path) -> float | None:
    """Seconds until a browser has drawn the page with all findings listed; ``None`` without a browser."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if browser is None:
        return None
    with sync_playwright() as play:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        opened = play.chromium.launch(executable_path=browser, args=sandbox)
        page = opened.new_page()
        began = time.perf_counter()
        page.goto(f"{index.as_uri()}#/findings")
        page.wait_for_selector("#list li")
        taken = time.perf_counter() - began
        opened.close()
    return round(taken, 2)


def make_campaign(directory: Path, cases: int, findings: int) -> None:
    """Write a campaign of so many cases."""
    from relaxkit.passes.contracts import CONTRACTS
    from strategies.operators import OPERATORS

    chance = random.Random(1)
    passes = tuple(CONTRACTS)
    operators = [row.name for row in OPERATORS]
    meta = {"seed": "1", "passes": json.dumps(passes), "oracles": json.dumps([str(name) for name in OracleName]),
            "workers": "2", "tvm_version": "0.27.0.post1", "ffi_version": "0.1.14.post1",
            "budget": "600 s"}  # fmt: skip
    pieces = max(1, cases // PIECE)
    found = [_hit(number, chance.choice(passes), chance) for number in range(findings)]
    with Store.create(directory, meta) as store:
        for number in range(pieces):
            size = PIECE if number < pieces - 1 else cases - PIECE * (pieces - 1)
            fresh = found[number * findings // pieces : (number + 1) * findings // pieces]
            hits = [*fresh, *chance.choices(found, k=3)]
            store.record_shard(_piece(number, size, hits, passes, operators, chance), 8 * 3600 * (number + 1) / pieces)
        (directory / "repros").mkdir()
        for number, hit in enumerate(found):
            path = f"repros/{hit.signature.id}.py"
            small = _module(3 + number % 5, number)
            (directory / path).write_text(f"{_SHARED}\nMODULE = '''{small.script()}'''\n")
            case = _case(small, hit.signature.culprit)
            store.save_triage(hit.signature.id, FindingState.CONFIRMED, case, 3, path, "")
        store.set_meta(state="finished")


def _piece(
    number: int,
    size: int,
    hits: list[SignatureHits],
    passes: tuple[str, ...],
    operators: list[str],
    chance: random.Random,
) -> ShardResult:
    tallies: Counter[tuple[str, str, str, str]] = Counter()
    tried = chance.sample(passes, 20)
    for name in tried:
        for oracle in OracleName:
            reason = f"reason {chance.randrange(REASONS)} of a comparison that cannot be made"
            tallies[str(oracle), name, Outcome.PASS.value, ""] += size // 25
            tallies[str(oracle), name, Outcome.SKIP.value, reason] += size // 100
    for hit in hits:
        tallies[str(hit.signature.oracle), hit.signature.culprit, Outcome.FAIL.value, ""] += 1
    coverage = Coverage(
        bindings=10 * size,
        features=Counter({"if": size // 20, "tuples": size // 30}),
        operators=Counter(chance.choices(operators, k=80)),
        operands=Counter((chance.choice(operators), "float32", chance.randrange(5)) for _ in range(80)),
        pairs=Counter(_pair(chance.randrange(PAIRS), operators) for _ in range(200)),
        judged=Counter(dict.fromkeys(tried, size // 20)),
        changed=Counter({name: chance.randrange(size // 20 + 1) for name in tried}),
        rewrites=Counter((chance.choice(tried), f"-relax.add +rewrite{chance.randrange(REWRITES)}") for _ in range(60)),
    )
    spent = {(str(oracle), name): chance.random() for oracle in OracleName for name in chance.sample(passes, 5)}
    return ShardResult(number, 0, size, size, size // 9, 3, tallies, {hit.signature.id: hit for hit in hits}, coverage,
                       spent=spent)  # fmt: skip


def _pair(number: int, operators: list[str]) -> tuple[str, str]:
    return operators[number % len(operators)], operators[number // len(operators) % len(operators)]


def _hit(number: int, name: str, chance: random.Random) -> SignatureHits:
    oracle = chance.choice(list(OracleName))
    message = f"Check failed: (value_{number}.defined()) is false: a message of the usual length, of which there is one"
    evidence = Evidence("InternalError", message, ("src/relax/a.cc:F",), "a module", "an error")
    verdict = Verdict(oracle, Outcome.FAIL, name, evidence=evidence)
    named = Signature(oracle, name, "InternalError", f"{message} {number}", evidence.frames)
    return SignatureHits.of(named, verdict, _case(_module(60, number), name), number, 1 + number % 7)


def _case(module: Any, name: str) -> Case:
    import tvm

    return Case(str(tvm.ir.save_json(module)), (PassRef(name, f"relax.transform.{name}()"),), 0)


def _module(bindings: int, number: int) -> Any:
    from tvm import relax

    builder, functions = relax.BlockBuilder(), (relax.op.exp, relax.op.tanh, relax.op.abs, relax.op.nn.relu)
    x = relax.Var("x", relax.TensorType((2, 3 + number), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for step in range(bindings):
                value = builder.emit(functions[(step + number) % len(functions)](value))
            out = builder.emit_output(value)
        builder.emit_func_output(out)
    return builder.finalize()


if __name__ == "__main__":
    main()
