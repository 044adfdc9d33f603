"""The text of a finding's script, where a report carries it."""

from __future__ import annotations

from pathlib import Path

MOST_BYTES = 400_000
"""Scripts beyond this are named, not shown: constants of weights may be in them."""


def script_text(directory: Path, repro: str | None) -> str | None:
    """The script at ``repro`` in a campaign's directory; ``None`` when there is none, or none that may be shown."""
    if repro is None:
        return None
    path = directory / repro
    try:
        # A campaign's record may come from elsewhere: nothing outside of its directory is shown.
        if not path.resolve().is_relative_to(directory.resolve()) or path.stat().st_size > MOST_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # a path may hold what no path can
        return None
