"""The file of a seed collection: one JSON object a line, read and written here alone.

The first line names the format and the TVM that the modules were saved by; a seed's line holds what a reader wants to
know of it and, last, the module as ``tvm.ir.save_json`` gives it. Seeds are sorted by size, smallest first, so that
choices shrink to small ones; equal collections are equal files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from relaxkit.files import make_directory, read_regular, write_atomically
from relaxkit.text_enum import TextEnum

FILE_NAME = "seeds.jsonl"
FORMAT = "relaxfuzz-seeds-2"
_MOST_BYTES = 1 << 30


class SeedStage(TextEnum):
    """Form of a seed's IR; the value is the name in reports."""

    HIGH_LEVEL = "high-level"
    LEGALIZED = "legalized"
    LOWERED = "lowered"
    DISTRIBUTED = "distributed"


class SeedFileError(ValueError):
    """A collection that cannot be read; the message is one line that names the file."""


@dataclass(frozen=True, slots=True)
class SeedFunction:
    """A Relax function of a seed: its name, the types of its parameters and of its result as TVMScript."""

    name: str
    parameters: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class Seed:
    """A module of a collection.

    Attributes:
        fingerprint: Its structural hash, 16 hexadecimal digits.
        file: The file that it was read from, relative to what was imported.
        line: The line there.
        name: The dotted name there.
        stage: Form of its IR.
        bindings: How many bindings its Relax functions hold.
        functions: Its Relax functions.
        operators: Names of the operators that it calls, sorted.
        spliceable: Names of functions that a drawn module may take over with true bounds (``strategies.seeds.splice``).
        unargued: Names of functions that only a drawn module that is not run may take over.
        module_json: The module.
    """

    fingerprint: str
    file: str
    line: int
    name: str
    stage: SeedStage
    bindings: int
    functions: tuple[SeedFunction, ...]
    operators: tuple[str, ...]
    spliceable: tuple[str, ...]
    unargued: tuple[str, ...]
    module_json: str = field(repr=False)

    @property
    def order(self) -> tuple[int, int, str]:
        """Sorting key: simplest first."""
        return self.bindings, len(self.module_json), self.fingerprint


def write(directory: Path, seeds: Iterable[Seed], tvm_version: str) -> str:
    """Write a collection; returns its content hash. Raises ``OSError``."""
    lines = [json.dumps({"format": FORMAT, "tvm": tvm_version})]
    lines += [msgspec.json.encode(seed, enc_hook=str).decode() for seed in sorted(seeds, key=lambda seed: seed.order)]
    data = ("\n".join(lines) + "\n").encode()
    make_directory(directory)
    write_atomically(directory / FILE_NAME, data)
    return _digest(data)


def read(directory: Path) -> tuple[tuple[Seed, ...], str, str]:
    """Return seeds, content hash and TVM version of a collection; raises ``SeedFileError``."""
    data = _bytes(directory)
    lines = data.decode("utf-8", errors="replace").rstrip("\n").split("\n")
    try:
        head = json.loads(lines[0]) if lines else {}
    except ValueError:
        head = {}
    path = directory / FILE_NAME
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise SeedFileError(f"'{path}' is not a seed collection of this version")
    seeds = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            seeds.append(msgspec.json.decode(line, type=Seed))
        except msgspec.MsgspecError as error:
            raise SeedFileError(f"'{path}', line {number}: no seed ({type(error).__name__})") from error
    if not seeds:
        raise SeedFileError(f"'{path}' holds no seed")
    return tuple(seeds), _digest(data), str(head.get("tvm", ""))


def _bytes(directory: Path) -> bytes:
    path = directory / FILE_NAME
    try:
        return read_regular(path, most=_MOST_BYTES)
    except OSError as error:
        raise SeedFileError(
            f"'{directory}' contains no seed collection ({FILE_NAME}: {error.strerror}); `corpus import` makes one"
        ) from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
