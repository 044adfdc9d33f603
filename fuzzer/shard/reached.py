"""Blocks of TVM's compiler that cases reach, noted in the process that judges them (docs/coverage.md).

Each process notes a block once.  What a shard tells first must not depend on which process judged it: a process judges
shards in their order, so a block that it has met already was reached by an earlier shard, and the lowest shard that
tells of a block is the first one that reaches it.  Where a shard comes late, all breakpoints are set anew.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from fuzzer.shard.guidance import known_functions

if TYPE_CHECKING:
    from relaxkit.coverage.breakpoints import Breakpoints

_watched: Breakpoints | None = None
_shard = -1
_pending: list[Any] = []  # blocks that were reached and not told yet
_functions: FirstRuns | None = None


class FirstRuns:
    """The functions that the passes of a shard's cases enter when they run for the first time, each told once.

    Other steps enter functions, too: their breakpoints are set anew before the next first run.
    """

    def __init__(self, breakpoints: Breakpoints, functions: Collection[int]) -> None:
        self._breakpoints = breakpoints
        self._left, self._spent = set(functions), set(functions)  # not entered yet, and of those without a breakpoint
        self._entered: list[int] = []
        self._running = False

    def step(self, running: bool) -> None:
        """Begin a step, in which passes run for the first time or do not."""
        import numpy as np  # not for verbs that only read

        if len(blocks := self._breakpoints.take()):
            _pending.append(blocks)
            met = self._left.intersection(blocks.tolist())
            if self._running:
                self._left -= met
                self._entered += sorted(met)
            else:
                self._spent |= met
        if running and self._spent:
            self._breakpoints.arm(np.array(sorted(self._spent)))
            self._spent.clear()
        self._running = running

    def new(self) -> list[int]:
        """Return those that are not told yet."""
        self.step(running=False)
        fresh, self._entered = self._entered, []
        return fresh


def watch_blocks(build: str, shard: int, *, functions: bool = False) -> None:
    """Note from now on which blocks of the library with this build id a shard reaches, and which ``functions``.

    Raises:
        CoverageError: when they cannot be noted here.
    """
    from relaxkit.coverage.breakpoints import watch_compiler

    global _watched, _shard, _functions
    if _watched is None:
        _watched = watch_compiler(build)
    elif shard < _shard:
        _watched.arm()
    _shard = shard
    _functions = FirstRuns(_watched, _counting()) if functions else None


@functools.cache
def _counting() -> frozenset[int]:
    from relaxkit.coverage.breakpoints import loaded, table_of

    return known_functions(table_of(loaded()[0]))


def first_run(begins: bool) -> None:
    """Note that another step begins, in which the passes of a case run for the first time or do not."""
    if _functions is not None:
        _functions.step(begins)


def new_functions() -> bytes:
    """Return the addresses of functions that passes have entered; see :class:`FirstRuns`."""
    import numpy as np  # not for verbs that only read

    return b"" if _functions is None else np.array(_functions.new(), "u4").tobytes()


def new_blocks() -> bytes:
    """Return the addresses, of four bytes each, of blocks that were reached since it was last asked."""
    import numpy as np  # not for verbs that only read

    if _watched is None:
        return b""
    blocks = np.concatenate([*_pending, _watched.take()])
    _pending.clear()
    return bytes(blocks.astype("u4").tobytes())


def probe(_: None) -> tuple[str, str]:
    """Reach some blocks, in a process of its own; the build id of the library, or else why none can be noted here."""
    import tvm

    from relaxkit.coverage.breakpoints import prepare, watch_compiler
    from relaxkit.coverage.elf import CoverageError

    try:
        build = prepare()
        watched = watch_compiler(build)
    except (CoverageError, OSError) as error:
        return "", str(error)
    tvm.relax.transform.CanonicalizeBindings()(tvm.IRModule())
    return (build, "") if len(watched.take()) else ("", "no breakpoint is hit")
