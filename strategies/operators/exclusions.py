"""Relax operators without a row in the table, each with the reason."""

from __future__ import annotations

exclusions: dict[str, str] = {}
"""Name in TVM's registry to the reason why no module is drawn with it."""
