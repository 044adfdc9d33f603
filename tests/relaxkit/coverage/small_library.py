"""The library of ``sample.c``: compiled, loaded, and its functions with their blocks."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from relaxkit.coverage.blocks import blocks_of, disassembler
from relaxkit.coverage.breakpoints import Breakpoints, loaded
from relaxkit.coverage.elf import Library

NAME = "libsample.so"
FUNCTIONS = ("sign", "checked", "never")


def compiled(folder: Path) -> Path:
    """Compile it; returns the library."""
    source, place = Path(__file__).with_name("sample.c"), folder / NAME
    flags = ("-O1", "-shared", "-fPIC", "-fno-inline", "-fcf-protection=none", "-Wl,--build-id,-Bsymbolic,-z,lazy")
    subprocess.run(["cc", *flags, str(source), "-o", str(place)], check=True)
    return place


def blocks_by_function(library: Library) -> dict[str, list[int]]:
    """Blocks of its functions, by name."""
    found = {}
    for address, name in library.exported().items():
        if name in FUNCTIONS:
            (number,) = library.function_at([address]).tolist()
            found[name] = blocks_of(disassembler(), library.code(number), address, library.endings())
    return found


class Watched:
    """The library, loaded into this process with all of its breakpoints set."""

    def __init__(self, place: str) -> None:
        self.functions = ctypes.CDLL(place)
        self.blocks = blocks_by_function(Library(Path(place)))
        every = np.array(sorted(block for blocks in self.blocks.values() for block in blocks), "i8")
        self.breakpoints = Breakpoints(*loaded((NAME,)), every)

    def call(self, name: str, value: int) -> dict[str, int]:
        """Call a function; how many blocks were reached for the first time, by function."""
        getattr(self.functions, name)(value)
        return self.reached()

    def reached(self) -> dict[str, int]:
        """How many blocks were reached for the first time since it was last asked, by function."""
        new: set[Any] = set(self.breakpoints.take().tolist())
        counts = {name: len(new & set(blocks)) for name, blocks in self.blocks.items()}
        assert sum(counts.values()) == len(new)
        return {name: count for name, count in counts.items() if count}
