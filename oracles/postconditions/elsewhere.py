"""What passes for machines that are not there claim: that they leave everything else alone."""

from __future__ import annotations

from oracles.contract import Ran
from oracles.postconditions.common import operator_of, places
from oracles.preconditions import relax_functions


def calls_differ(ran: Ran) -> str:
    """Which function calls other operators than before; types, which type inference may write otherwise, do not count.

    Empty blocks, blocks of one kind side by side and functions' order do not count either.
    """
    before, after = (
        {name: [operator_of(place.binding.value) for place in places(function)] for name, function in functions}
        for functions in (relax_functions(ran.before), relax_functions(ran.after))
    )
    if before.keys() != after.keys():
        return f"other functions than before\n{sorted(before.keys() ^ after.keys())}"
    for name, operators in before.items():
        if operators != after[name]:
            return f"other calls than before\n{name}: {operators}\n{after[name]}"
    return ""
