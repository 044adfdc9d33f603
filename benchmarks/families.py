"""How well do reports stand for causes?  Reports per cause, and merged causes, on the labelled failures.

    python benchmarks/families.py

The set is ``tests/fuzzer/labelled``; ``tests/fuzzer/test_labelled_families.py`` holds the figures, docs/triage.md tells
what they mean.  Takes a second.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fuzzer.findings.file import load_decisions

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Print both figures for both levels, over all campaigns and for each."""
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
