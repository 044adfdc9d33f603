"""Lines of the user's passes that cases run, noted in the process that judges them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Collection
from pathlib import Path

from coverage import Coverage

from oracles.core import module_facts
from relaxkit.passes.pass_ref import PassRef, import_file


class OwnLines:
    """Notes which lines of functions run while a pass is built or runs; other code keeps its speed.  One a process.

    A place is a file or a module as the user named it (``PassRef.place``).
    """

    def __init__(self, refs: Collection[PassRef]) -> None:
        self._places = {_file_of(ref): ref.place for ref in refs}
        self._inside = {file: _lines_of_functions(file) for file in self._places}
        self._coverage = Coverage(data_file=None, config_file=False, include=[*self._places], messages=False)
        self._measured = -1
        self._told: set[tuple[str, int, bool]] = set()
        with self:
            for ref in refs:
                ref.build()
        module_facts.watched = self

    def __enter__(self) -> None:
        self._coverage.start()

    def __exit__(self, *_: object) -> None:
        self._coverage.stop()

    def new(self) -> frozenset[tuple[str, int, bool]]:
        """Return place and line of each statement, and whether it ran, as far as that was not told before."""
        data = self._coverage.get_data()
        if (measured := sum(len(data.lines(file) or ()) for file in self._places)) == self._measured:
            return frozenset()
        self._measured = measured
        found = set()
        for file, place in self._places.items():
            _, statements, _, missing, _ = self._coverage.analysis2(file)
            found |= {(place, line, line not in missing) for line in self._inside[file].intersection(statements)}
        fresh = frozenset(found - self._told)
        self._told |= fresh
        return fresh


def _file_of(ref: PassRef) -> str:
    module = import_file(Path(ref.place)) if ref.in_file else importlib.import_module(ref.place)
    return str(Path(module.__file__ or "").resolve())


def _lines_of_functions(file: str) -> set[int]:
    """Return the lines of the bodies of all functions: what else is in a file ran before anything was noted."""
    every = ast.walk(ast.parse(Path(file).read_bytes()))
    functions = [each for each in every if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {line for each in functions for line in range(each.body[0].lineno, (each.end_lineno or 0) + 1)}
