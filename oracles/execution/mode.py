"""The two ways in which Relax code is executed."""

from __future__ import annotations

import enum


class ExecMode(enum.Enum):
    """``exec_mode`` of ``relax.build``."""

    BYTECODE = "bytecode"
    COMPILED = "compiled"
