"""Blocks of TVM's compiler that cases reach, noted in the process that judges them (docs/coverage.md).

Each process notes a block once.  What a shard tells first must not depend on which process judged it: a process judges
shards in their order, so a block that it has met already was reached by an earlier shard, and the lowest shard that
tells of a block is the first one that reaches it.  Where a shard comes late, all breakpoints are set anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relaxkit.coverage.breakpoints import Breakpoints

_watched: Breakpoints | None = None
_shard = -1


def watch_blocks(build: str, shard: int) -> None:
    """Note from now on which blocks of the library with this build id a shard reaches.

    Raises:
        CoverageError: when they cannot be noted here.
    """
    from relaxkit.coverage.breakpoints import watch_compiler

    global _watched, _shard
    if _watched is None:
        _watched = watch_compiler(build)
    elif shard < _shard:
        _watched.arm()
    _shard = shard


def new_blocks() -> bytes:
    """Return the addresses, of four bytes each, of blocks that were reached since it was last asked."""
    return b"" if _watched is None else bytes(_watched.take().astype("u4").tobytes())


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
