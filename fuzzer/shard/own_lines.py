"""Lines of the user's passes that cases run, noted in the process that judges them."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Collection
from pathlib import Path

from coverage import Coverage
from coverage.parser import PythonParser

from oracles.core import module_facts
from relaxkit.passes.pass_ref import PassRef, load_module
from relaxkit.passes.reached import reached


class OwnLines:
    """Notes which lines of functions run while a pass is built or runs; other code keeps its speed.  One a process.

    A place is a file or a module as the user named it (``PassRef.place``).  Files are read once: an edit during the
    campaign changes nothing of what was loaded.
    """

    def __init__(self, refs: Collection[PassRef]) -> None:
        names: dict[tuple[str, str], set[str]] = {}
        for ref in refs:
            file = str(Path(load_module(ref.target).__file__ or "").resolve())
            names.setdefault((file, ref.place), set()).add(ref.factory[1])
        self._sources = {key[0]: _Source(*key, called) for key, called in names.items() if key[0].endswith(".py")}
        self._coverage = Coverage(data_file=None, config_file=False, include=[*self._sources], messages=False)
        self._told: set[tuple[str, int, bool]] = set()
        if self._sources:  # a library has no lines, and without a file named all would be watched
            module_facts.watched = self

    def __enter__(self) -> None:
        self._coverage.start()

    def __exit__(self, *_: object) -> None:
        self._coverage.stop()

    def new(self) -> frozenset[tuple[str, int, bool]]:
        """Return place and line of each statement, and whether it ran, as far as that was not told before."""
        data, found = self._coverage.get_data(), set[tuple[str, int, bool]]()
        for file, source in self._sources.items():
            ran = source.parser.translate_lines(data.lines(file) or ())
            found |= {(source.place, line, line in ran) for line in source.statements}
        fresh = frozenset(found - self._told)
        self._told |= fresh
        return fresh


class _Source:
    """A file of the user's, and the lines where the statements of functions begin that its passes may call.

    Other statements ran when the file was imported, before anything was noted.
    """

    def __init__(self, file: str, place: str, passes: set[str]) -> None:
        with tokenize.open(file) as text:
            source = text.read()
        self.place, self.parser = place, PythonParser(text=source, filename=file)
        self.parser.parse_source()
        every = [node for each in reached(ast.parse(source), passes) for node in ast.walk(each)]
        functions = [each for each in every if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
        bodies = {line for each in functions for line in range(each.body[0].lineno, (each.end_lineno or 0) + 1)}
        self.statements = bodies & self.parser.statements
