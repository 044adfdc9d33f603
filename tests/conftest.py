"""What all tests share: the planted passes as ``planted``, whatever import mode pytest uses, and what Hypothesis draws.

Hypothesis draws the same modules on every machine and at every run, so that a red run is the change's and not the
day's.  Exploring is what campaigns are for; ``HYPOTHESIS_PROFILE=explore`` lets the tests explore as well.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import settings

# At the end of the path: a directory of tests named after a room must not hide the room.
sys.path.append(str(Path(__file__).resolve().parent))

settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
