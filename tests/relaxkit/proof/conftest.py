"""Where the tests of proofs find what they share with benchmarks."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))
