"""The releases that work, and the packages that fit each.  TVM is not imported here."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """A release of TVM, and what works with it.

    Attributes:
        tvm: Release of ``apache-tvm``.
        least: First release of ``apache-tvm-ffi`` that fits.
        below: First release of it that does not fit any more.
        pin: The same as a requirement for pip.
    """

    tvm: str
    least: tuple[int, ...]
    below: tuple[int, ...]
    pin: str

    def fits(self, ffi: str) -> bool:
        """Whether a release of ``apache-tvm-ffi`` works with this one of TVM."""
        return self.least <= numbers(ffi) < self.below


# Measured: with another ffi than these, pip accepts the pair and `tvm.ir.save_json` ends in a segmentation fault.
RELEASES = (
    Release("0.27.0.post1", (0, 1, 14), (0, 1, 15), ">=0.1.14.post0,<0.1.15"),
    Release("0.26.0", (0, 1, 13), (0, 1, 14), ">=0.1.13.post2,<0.1.14"),
    Release("0.25.0", (0, 1, 12), (0, 1, 13), ">=0.1.12,<0.1.13"),
)
"""The releases that are tested, the newest first."""


def known(version: str) -> Release | None:
    """The release of that version, ``None`` when it is not one of the tested ones."""
    return next((release for release in RELEASES if release.tvm == version), None)


def is_newer(version: str) -> bool:
    """Whether a version, of a nightly build perhaps, comes behind the newest tested release."""
    return numbers(version) > numbers(RELEASES[0].tvm)


def numbers(version: str) -> tuple[int, ...]:
    """The first three numbers of a version: (0, 27, 0) of ``0.27.0.post1`` and of ``0.27.0.dev5+g1``."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"\.post|\.dev|\+|rc", version)[0]))[:3]
