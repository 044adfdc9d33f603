"""The log of what TVM prints, kept small: a pass that prints on every module would fill the disk overnight."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

MOST_BYTES = 16 << 20
KEPT_BYTES = 4 << 20
_lock = threading.Lock()  # the threads of one campaign share a log; another campaign has another


def bound(path: Path) -> None:
    """Where the file is larger than ``MOST_BYTES``, keep its last ``KEPT_BYTES``.

    The file is cut in place, because processes that have it open append to it (``O_APPEND``): a file that was moved
    away would go on growing. What they write meanwhile may be lost; a log that cannot be cut is left as it is.
    """
    with contextlib.suppress(OSError), _lock:
        if path.stat().st_size <= MOST_BYTES:
            return
        with path.open("r+b") as file:
            file.seek(-KEPT_BYTES, os.SEEK_END)
            kept = file.read()
            file.seek(0)
            file.truncate()
            file.write(b"[the log was longer: this is its end]\n" + kept[kept.find(b"\n") + 1 :])
