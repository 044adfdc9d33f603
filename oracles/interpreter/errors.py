"""Why an interpretation ends without a result."""

from __future__ import annotations


class Unsupported(Exception):
    """The interpreter does not know this part of the language; the message is a short phrase without names."""


class Undefined(Exception):
    """What the program does on these arguments is not defined, so that any result is right; the message says why."""


class Raised(Exception):
    """The program itself ends with an error, as it must; the message says why (``match_cast``, ``assert_op``)."""
