"""Import seeds: from the Python files of a checkout to a collection, every script parsed in an isolated worker."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from corpus.case import CaseError
from corpus.extract import Candidate, UnreadableFile, candidates_of, python_files
from strategies.seedfile import Seed, write

TIME_LIMIT = 20.0
"""Seconds for one candidate, the run of its functions included."""
BATCH = 64
"""Candidates handed to the worker at once."""


@dataclass(slots=True)
class ImportReport:
    """What an import did.

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


def import_seeds(path: Path, tell: Callable[[str], None] = lambda line: None) -> ImportReport:
    """Read the seeds of a checkout, a directory or a file.

    Args:
        path: What to read; of a checkout of TVM, its ``tests/python/relax``.
        tell: Is told about progress, a line at a time.

    Raises:
        CaseError: when ``path`` is not there, or no Python file or no script is in it.
    """
    if not path.exists():
        raise CaseError(f"'{path}' is not there")
    report = ImportReport()
    candidates: list[Candidate] = []
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
        raise CaseError(f"no Python file is in '{path}'")
    if not candidates:
        unread = f" ({len(report.unreadable)} unreadable)" if report.unreadable else ""
        raise CaseError(f"no TVMScript module is in '{path}': {report.files} files read{unread}")
    report.candidates = len(candidates)
    tell(f"{len(candidates)} scripts in {report.files} files")
    _parse(candidates, report, tell)
    _run(report, tell)
    return report


def save(report: ImportReport, directory: Path) -> str:
    """Write the seeds of an import as a collection; returns its content hash.

    Raises:
        CaseError: when there is none.
        OSError: when the directory cannot be written.
    """
    if not report.seeds:
        reason = report.reasons.most_common(1)
        raise CaseError(f"none of {report.candidates} scripts is a seed" + (f": {reason[0][0]}" if reason else ""))
    return write(directory, report.seeds, importlib.metadata.version("apache-tvm"))


def _parse(candidates: Sequence[Candidate], report: ImportReport, tell: Callable[[str], None]) -> None:
    from corpus.parsing import Parsed
    from fuzzer.isolation import Died, IsolatedWorker

    known: set[str] = set()
    done = 0
    with IsolatedWorker(time_limit=TIME_LIMIT) as worker:
        for batch in _batches(candidates):
            left = list(batch)
            while left:
                seen = 0
                for result in _results(worker, left):
                    if isinstance(result, Died):
                        report.reasons[f"the process died: {result.kind}"] += 1
                    elif isinstance(result, Parsed):
                        _count(report, result, known)
                    seen += 1
                left = left[max(1, seen) :]
            done += len(batch)
            tell(f"{done} of {len(candidates)} scripts parsed, {len(report.seeds)} seeds")


def _run(report: ImportReport, tell: Callable[[str], None]) -> None:
    """Leave to the seeds only those functions to splice that run; what kills its process does not."""
    from corpus.parsing import run_all
    from fuzzer.isolation import Died, IsolatedWorker

    places = [index for index, seed in enumerate(report.seeds) if seed.spliceable]
    tell(f"running the functions of {len(places)} seeds")
    with IsolatedWorker(time_limit=TIME_LIMIT) as worker:
        left = places
        while left:
            done = 0
            for runs in worker.stream(run_all, [report.seeds[index] for index in left[:BATCH]]):
                names: tuple[str, ...] = () if isinstance(runs, Died) else runs
                seed = report.seeds[left[done]]
                others = tuple(sorted({*seed.unargued, *(name for name in seed.spliceable if name not in names)}))
                report.seeds[left[done]] = replace(seed, spliceable=names, unargued=others)
                done += 1
            left = left[max(1, done) :]


def _results(worker: object, left: list[Candidate]) -> Iterator[object]:
    from corpus.parsing import parse_all
    from fuzzer.isolation import IsolatedWorker

    assert isinstance(worker, IsolatedWorker)
    yield from worker.stream(parse_all, left)


def _batches(candidates: Sequence[Candidate]) -> Iterator[Sequence[Candidate]]:
    for start in range(0, len(candidates), BATCH):
        yield candidates[start : start + BATCH]


def _count(report: ImportReport, result: object, known: set[str]) -> None:
    from corpus.parsing import Parsed

    assert isinstance(result, Parsed)
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
