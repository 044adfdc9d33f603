"""Seed collections in memory: opened once a process, their modules loaded anew each time one is asked for."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm

from strategies.seeds.file import Seed, SeedFileError, SeedStage, read


@dataclass(frozen=True, slots=True)
class SeedRef:
    """A collection by absolute path and content hash: the same draws from another content give other modules."""

    directory: str
    digest: str


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """An open collection.

    Attributes:
        ref: Its place and content.
        all: All seeds, simplest first.
        mutable: Those that mutations are drawn from: no pass under contract takes distributed ones.
        argued: Functions that may be spliced with true bounds, as seed and name.
        unargued: Functions that may be spliced into modules judged by their structure alone.
    """

    ref: SeedRef
    all: tuple[Seed, ...]
    mutable: tuple[Seed, ...]
    argued: tuple[tuple[Seed, str], ...]
    unargued: tuple[tuple[Seed, str], ...]


def find_seeds(directory: Path) -> SeedRef:
    """Return the collection in a directory.

    Raises:
        SeedFileError: when there is none that can be read, or another TVM saved it.
    """
    seeds, digest, version = read(directory)
    if version != str(tvm.__version__):
        raise SeedFileError(f"'{directory}' holds seeds of TVM {version}, installed is {tvm.__version__}: import again")
    assert seeds
    return SeedRef(str(directory.resolve()), digest)


@functools.lru_cache(maxsize=2)
def open_seeds(ref: SeedRef) -> Seeds:
    """Return the collection that a campaign was begun with.

    Raises:
        SeedFileError: when it cannot be read, or has another content by now.
    """
    seeds, digest, _ = read(Path(ref.directory))
    if digest != ref.digest:
        raise SeedFileError(
            f"the seeds in '{ref.directory}' are not those of the campaign ({digest}, not {ref.digest})"
        )
    return Seeds(
        ref,
        seeds,
        tuple(seed for seed in seeds if seed.stage is not SeedStage.DISTRIBUTED),
        _functions(seeds, "spliceable"),
        _functions(seeds, "unargued"),
    )


def _functions(seeds: Sequence[Seed], which: str) -> tuple[tuple[Seed, str], ...]:
    return tuple((seed, name) for seed in seeds for name in getattr(seed, which))


def load(seed: Seed) -> Any:
    """Return the seed's module: a fresh one, because some passes modify what they are given."""
    return tvm.ir.load_json(seed.module_json)
