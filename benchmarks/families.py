"""How well do reports stand for causes?  Reports per cause, and merged causes, on the labelled failures.

    python benchmarks/families.py
    python benchmarks/families.py --corpus

The set is ``tests/fuzzer/labelled``; ``tests/fuzzer/test_labelled_families.py`` holds the figures, docs/triage.md tells
what they mean.  Takes a second.  ``--corpus`` judges the live cases of the corpus, which no rule was chosen on and each
of which is a cause of its own, as far as people know: which of them share a signature, or a family?  Takes two minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import msgspec

from corpus.case import load as load_cases
from corpus.check import check_cases
from fuzzer.findings.family import family
from fuzzer.findings.file import load_decisions
from fuzzer.findings.signature import signature
from oracles.core.verdict import Outcome

ROOT = Path(__file__).resolve().parents[1]


def corpus() -> None:
    """Print which live cases share a signature, or a family."""
    cases = [msgspec.structs.replace(case, replica=None) for case in load_cases()]
    failing = [each for each in check_cases(cases) if each.verdict.outcome is Outcome.FAIL]
    for level, name_of in (
        ("signatures of before", lambda verdict: signature(verdict).former),
        ("signatures", lambda verdict: signature(verdict).text),
        ("families", lambda verdict: family(verdict).text),
    ):
        groups = defaultdict(list)
        for each in failing:
            groups[name_of(each.verdict)].append(each.case.slug)
        shared = {name: slugs for name, slugs in groups.items() if len(slugs) > 1}
        held = sum(map(len, shared.values()))
        print(f"{len(failing)} cases, {len(groups)} {level}, {len(shared)} of several cases, which hold {held}")
        for name, slugs in sorted(shared.items()) if level != "signatures of before" else ():
            print(f"    {name[:90]}: {', '.join(slugs)}")


def main() -> None:
    """Print both figures for both levels, over all campaigns and for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", action="store_true", help="judge the live cases of the corpus instead")
    if parser.parse_args().corpus:
        corpus()
        return
    sys.path.append(str(ROOT / "tests" / "fuzzer"))
    from labelled_failures import AUDITED, by_family, by_signature, halves, load

    failures, decisions = load(), load_decisions(ROOT / "findings.toml")
    print(f"signatures                {by_signature(failures)}")
    print(f"families, the rule alone  {by_family(failures)}")
    print(f"with findings.toml          {by_family(failures, decisions)}")
    for name, half in zip(("chosen on", "held out"), halves(failures), strict=True):
        print(f"{name:<25} {by_family(half)}")
    for seed in sorted({seed for each in failures for seed in each.seeds}):
        met = [each for each in failures if seed in each.seeds]
        fresh = sum(not each.seeds & AUDITED for each in met)
        print(
            f"seed {seed:>6} ({fresh:>2} signatures not in the audit): {len(met):>3} failures, "
            f"{by_family(met).causes:>3} causes; reports per cause: signatures {by_signature(met).per_cause:.3f}, "
            f"rule {by_family(met).per_cause:.3f}, with findings.toml {by_family(met, decisions).per_cause:.3f}"
        )


if __name__ == "__main__":
    main()
