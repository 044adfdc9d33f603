"""Import seeds: from the Python files of a checkout to a collection, every script parsed in an isolated worker."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from corpus.case import CaseError
from corpus.seed_import.extract import FoundScript, UnreadableFile, candidates_of, python_files
from corpus.seed_import.parse import Parsed, parse_all, run_all
from fuzzer.core.terminal import table
from fuzzer.worker.death import Died
from fuzzer.worker.worker import IsolatedWorker
from strategies.seeds.file import Seed, write

TIME_LIMIT = 20.0
"""Seconds for one candidate, the run of its functions included."""
BATCH = 64
"""Candidates handed to the worker at once."""
MOST_REASONS = 12
"""Reasons, and unreadable files, that the tables show."""


@dataclass(slots=True)
class ImportReport:
    """The results of an import.

    Attributes:
        files: Files that were read.
        unreadable: Files that could not be, with why.
        candidates: Scripts found.
        parsed: Those that the parser took.
        renamed: Those of them whose names had to be brought up to date.
        well_formed: Those without an objection of TVM's checker.
        duplicates: Those that were there already.
        seeds: The seeds kept.
        reasons: Why others were not, with how often.
    """

    files: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    candidates: int = 0
    parsed: int = 0
    renamed: int = 0
    well_formed: int = 0
    duplicates: int = 0
    seeds: list[Seed] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def tables(self) -> Iterator[RenderableType]:
        """Yield the counts, the stages of the seeds, and the most frequent reasons why scripts are none."""
        counts = [
            ("files read", self.files),
            ("files unreadable", len(self.unreadable)),
            ("scripts found", self.candidates),
            ("parsed", self.parsed),
            ("of these with names brought up to date", self.renamed),
            ("well formed", self.well_formed),
            ("there already", self.duplicates),
            ("kept", len(self.seeds)),
            ("of these with functions to splice", sum(bool(seed.spliceable) for seed in self.seeds)),
        ]
        stages = Counter(seed.stage for seed in self.seeds)
        for heads, rows in (
            (("import", "count"), counts),
            (("stage", "seeds"), sorted((stage.value, count) for stage, count in stages.items())),
            (("not kept because", "count"), self.reasons.most_common(MOST_REASONS)),
            (("unreadable file", "why"), sorted(self.unreadable.items())[:MOST_REASONS]),
        ):
            if rows:
                yield from (table(heads, rows), "")

    def to_object(self) -> dict[str, Any]:
        """Return all of the tables for JSON; ``reasons`` and ``unreadable`` in full."""
        return {
            "files": self.files, "candidates": self.candidates, "parsed": self.parsed, "renamed": self.renamed,
            "well_formed": self.well_formed, "duplicates": self.duplicates, "kept": len(self.seeds),
            "spliceable": sum(bool(seed.spliceable) for seed in self.seeds),
            "stages": dict(sorted(Counter(seed.stage.value for seed in self.seeds).items())),
            "reasons": dict(self.reasons.most_common()), "unreadable": dict(sorted(self.unreadable.items())),
        }  # fmt: skip


def import_seeds(path: Path, progress: Callable[[str], None] = lambda line: None) -> ImportReport:
    """Read the seeds of a checkout, a directory or a file.

    Args:
        path: What to read; of a checkout of TVM, its ``tests/python/relax``.
        progress: Called with a line of progress.

    Raises:
        CaseError: when ``path`` is not there, or no Python file or no script is in it.
    """
    if not path.exists():
        raise CaseError(f"'{path}' does not exist")
    report = ImportReport()
    candidates: list[FoundScript] = []
    root = path if path.is_dir() else path.parent
    files = python_files(path)
    for file in files:
        name = file.relative_to(root).as_posix()
        try:
            candidates += candidates_of(file, name)
            report.files += 1
        except UnreadableFile as error:
            report.unreadable[name] = str(error)
    if not files:
        raise CaseError(f"'{path}' contains no Python file")
    if not candidates:
        unread = f" ({len(report.unreadable)} unreadable)" if report.unreadable else ""
        raise CaseError(f"'{path}' contains no TVMScript module: {report.files} files read{unread}")
    report.candidates = len(candidates)
    progress(f"{len(candidates)} scripts in {report.files} files")
    _parse(candidates, report, progress)
    _run(report, progress)
    return report


def save(report: ImportReport, directory: Path) -> str:
    """Write the seeds of an import as a collection; returns its content hash.

    Raises:
        CaseError: when there is none.
        OSError: when the directory cannot be written.
    """
    if not report.seeds:
        reason = report.reasons.most_common(1)
        raise CaseError(f"none of {report.candidates} scripts can be a seed" + (f": {reason[0][0]}" if reason else ""))
    return write(directory, report.seeds, importlib.metadata.version("apache-tvm"))


def _parse(candidates: Sequence[FoundScript], report: ImportReport, progress: Callable[[str], None]) -> None:
    known: set[str] = set()
    with IsolatedWorker(time_limit=TIME_LIMIT) as worker:
        for start in range(0, len(candidates), BATCH):
            batch = candidates[start : start + BATCH]
            for result in worker.each(parse_all, batch):
                if isinstance(result, Died):
                    report.reasons[f"the process died: {result.kind}"] += 1
                else:
                    _count(report, result, known)
            progress(f"{start + len(batch)} of {len(candidates)} scripts parsed, {len(report.seeds)} seeds")


def _count(report: ImportReport, result: Parsed, known: set[str]) -> None:
    report.parsed += result.parsed
    report.renamed += result.renamed
    report.well_formed += result.well_formed
    if result.seed is None:
        report.reasons[result.reason] += 1
    elif result.seed.fingerprint in known:
        report.duplicates += 1
    else:
        known.add(result.seed.fingerprint)
        report.seeds.append(result.seed)


def _run(report: ImportReport, progress: Callable[[str], None]) -> None:
    """Leave to the seeds only those functions to splice that run; what kills its process does not."""
    places = [index for index, seed in enumerate(report.seeds) if seed.spliceable]
    progress(f"running the functions of {len(places)} seeds")
    with IsolatedWorker(time_limit=TIME_LIMIT) as worker:
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            answers = list(worker.each(run_all, [report.seeds[index] for index in batch]))
            for index, runs in zip(batch, answers, strict=False):  # it may also die behind the last one
                names: tuple[str, ...] = () if isinstance(runs, Died) else runs
                seed = report.seeds[index]
                others = tuple(sorted({*seed.unargued, *(name for name in seed.spliceable if name not in names)}))
                report.seeds[index] = replace(seed, spliceable=names, unargued=others)
