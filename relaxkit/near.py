"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from itertools import islice


def near_matches(name: str, known: Collection[str], before: str = "") -> str:
    """``; did you mean A or B?`` with up to three near names, ignoring case; empty when nothing is near.

    ``before`` is what all names begin with, and counts for nothing.
    """
    if len(name) > 60:  # two long ones take a while to compare, and a foreign campaign has thousands
        return ""
    folded = {each.casefold(): each for each in islice(known, 1_000) if len(each) <= 60}
    near = [
        before + folded[found] for found in difflib.get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.6)
    ]
    return f"; did you mean {' or '.join(near)}?" if near else ""
