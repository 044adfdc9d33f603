"""What the linter or the type checker would complain of is let pass for a reason that stands beside it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("relaxkit", "strategies", "oracles", "fuzzer", "reports", "corpus", "relaxfuzz", "tests", "benchmarks", "docs")
BARE = re.compile(
    r"#\s*type:\s*ignore(?!\[[\w-]+\]  # \S)|#\s*(?:ruff: )?noqa(?!(?:: [A-Z0-9, ]*[A-Z0-9])? +[-#(]+ ?\S)"
)


def bare(text: str) -> list[str]:
    """The lines with an ignored complaint and no reason."""
    return [text[: match.start()].rpartition("\n")[2] + match.group() for match in BARE.finditer(text)]


def test_no_complaint_is_ignored_without_a_reason() -> None:
    ignored, named = "# type: " + "ignore", "# no" + "qa"
    for line in (ignored, f"{ignored}[misc]", named, f"{named}: F401", f"x = 1  {named}: F401,E501 "):
        assert bare(line), line
    for line in (
        f"{ignored}[misc]  # TVM ships no types",
        f"{named}: F401, E501  (loads it)",
        f"{named}: F401 - loads",
    ):
        assert not bare(line), line
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py") if "corpus/cases" not in str(file)]
    found = {str(file): bare(file.read_text(encoding="utf-8")) for file in files}
    assert not {file: lines for file, lines in found.items() if lines}
