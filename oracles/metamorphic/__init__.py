"""Oracles that compare two runs of a pass which must agree."""
