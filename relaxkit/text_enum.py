"""An enumeration of words."""

from __future__ import annotations

import enum


class TextEnum(str, enum.Enum):
    """An enumeration whose members are text, and are printed as what they are."""

    def __str__(self) -> str:
        return str(self.value)
