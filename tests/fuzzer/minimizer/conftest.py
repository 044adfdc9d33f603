"""Helpers shared by the tests of the minimizer."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))  # for the samples, whatever import mode pytest uses
