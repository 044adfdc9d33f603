"""Hypothesis profiles, which Hypothesis registers by entry point as soon as it is imported itself.

They are chosen by ``--hypothesis-profile relaxfuzz-ci`` or ``settings.load_profile``; nothing is loaded unasked.
"""

from __future__ import annotations

from typing import Any

QUICK, CI, NIGHTLY = "relaxfuzz-quick", "relaxfuzz-ci", "relaxfuzz-nightly"
QUICK_EXAMPLES, CI_EXAMPLES, NIGHTLY_EXAMPLES = 25, 200, 5000


def register() -> None:
    """Register the three profiles.

    ``relaxfuzz-quick``: 25 modules a test, for the desk.  ``relaxfuzz-ci``: 200, the same ones at every run and on
    every machine, so that a red run is the change's.  ``relaxfuzz-nightly``: 5000, others each night.
    """
    from hypothesis import HealthCheck, settings

    common: dict[str, Any] = {
        "deadline": None,  # the first kernel that is compiled takes as long as a hundred later ones
        "suppress_health_check": (HealthCheck.too_slow, HealthCheck.data_too_large),
        "print_blob": False,
    }
    settings.register_profile(QUICK, max_examples=QUICK_EXAMPLES, **common)
    settings.register_profile(CI, max_examples=CI_EXAMPLES, derandomize=True, database=None, **common)
    settings.register_profile(NIGHTLY, max_examples=NIGHTLY_EXAMPLES, **common)
