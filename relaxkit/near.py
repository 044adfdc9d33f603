"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def near_matches(name: str, known: Collection[str]) -> str:
    """``; did you mean A or B?`` with up to three near names, ignoring case; empty when nothing is near."""
    folded = {candidate.casefold(): candidate for candidate in known}
    near = [folded[found] for found in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(near)}?" if near else ""
