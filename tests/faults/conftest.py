"""The records that the tests of the store are made of are used here, too."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzzer"))
