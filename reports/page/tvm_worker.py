"""An isolated process for what the reports need TVM for: printers crash and hang as passes do."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fuzzer.core.coverage import Coverage
from fuzzer.core.terminal import bars
from fuzzer.store.writer import FindingRecord
from fuzzer.worker.death import Died
from fuzzer.worker.worker import ChildError, IsolatedWorker
from reports.findings import shown_lines
from reports.page.passes import coverage_object

_MODULE_SECONDS, _LOST_SECONDS = 5.0, 8.0
"""For one module, and for all that could not be printed, or not in full: beyond it no more are tried."""
_MEMORY, _LONGEST = 1 << 30, 1 << 18
"""Bytes, and characters of a module: a type that is shared many times is written out as often."""
_MOST_TEXT = 8 << 20
"""Characters of all modules together: those beyond it are not shown."""
_TABLES_SECONDS = 300.0
"""For the tables of what can be generated, which are ours and do not hang."""


class TvmWorker:
    """An isolated process that prints modules and knows what can be generated; started on first use.

    A module is printed once, whatever number of reports show it; those of ``findings`` at once, with a bar.
    """

    def __init__(self, findings: Sequence[FindingRecord] = ()) -> None:
        self._worker = IsolatedWorker(time_limit=_MODULE_SECONDS, memory_limit=_MEMORY)
        self._lost, self._room = 0.0, _MOST_TEXT
        self._printed: dict[str, str] = {}

        with bars() as bar:
            self.modules(bar.track(findings, description="modules"))

    def __enter__(self) -> TvmWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker.close()

    def module(self, finding: FindingRecord) -> str:
        """Print the minimized module, or else the case's, as TVMScript; empty when it cannot be printed."""
        text: str | Died | None
        if finding.id not in self._printed:
            text, start = None, time.monotonic()
            if self._lost < _LOST_SECONDS and self._room > 0:
                with contextlib.suppress(ChildError):
                    text = self._worker.call(_script, finding.shown_case.module_json)
            self._lost += 0.0 if isinstance(text, str) and len(text) < _LONGEST else time.monotonic() - start
            shown = shown_lines(text) if isinstance(text, str) else ""
            self._room -= len(shown)
            self._printed[finding.id] = shown
        return self._printed[finding.id]

    def modules(self, findings: Iterable[FindingRecord]) -> Mapping[str, str]:
        """Print the modules of all findings, by id."""
        return {finding.id: self.module(finding) for finding in findings}

    def coverage(self, coverage: Coverage, modules: int) -> dict[str, Any]:
        """Return what the page shows of the coverage of so many modules."""
        found = self._worker.call(_coverage, (coverage, modules), _TABLES_SECONDS)
        if not isinstance(found, dict):
            raise RuntimeError(f"the tables of operators and features cannot be read: {found}")
        return found


def _script(module_json: str) -> str:
    import tvm

    module = tvm.ir.load_json(module_json)
    # Another object answers by any name: a dictionary's attribute may be a registered function, which would be called.
    return str(tvm.IRModule.script(module))[:_LONGEST] if isinstance(module, tvm.IRModule) else ""


def _coverage(request: tuple[Coverage, int]) -> dict[str, Any]:
    return coverage_object(*request)
