"""Faults by turns: another seed for each turn, and the totals of a turn in a file (``benchmarks/faults.py``)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

TURN = int(os.environ.get("FAULT_TURN", "0"))
"""Added to every seed."""


def record(faults: Mapping[str, int]) -> None:
    """Add what was injected, and met no surprise, to the file that ``FAULT_TOTALS`` names."""
    if name := os.environ.get("FAULT_TOTALS"):
        with Path(name).open("a") as file:
            file.write(json.dumps({"turn": TURN, **{key: count for key, count in faults.items() if count}}) + "\n")
