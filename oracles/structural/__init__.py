"""Oracles that look at one run of a pass: crash, mutation, well-formedness, round trip, postcondition."""
