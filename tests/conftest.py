"""Makes the planted passes importable as ``planted``, whatever import mode pytest uses."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end of the path: a directory of tests named after a room must not hide the room.
sys.path.append(str(Path(__file__).resolve().parent))
