"""Running one test in a process of its own, and making of what comes back what pytest expects."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fuzzer.core.text import counted, cut, printable
from fuzzer.findings.signature import death_verdict
from fuzzer.triage.reduce import failures
from fuzzer.worker.death import Died
from fuzzer.worker.worker import ChildError, IsolatedWorker
from oracles.check import OracleFailure, summary
from relaxfuzz.pytest_plugin.child import (
    ENOUGH,
    STDERR,
    BodyResult,
    JudgedModule,
    TestBody,
    advice,
    last_judged,
    prepare,
    run_body,
    uses_hypothesis,
)
from relaxfuzz.pytest_plugin.failure_text import failure_text, unreduced_text
from relaxfuzz.pytest_plugin.options import MARKER, PROPERTY, Options, options_of
from relaxkit.passes.pass_ref import USER_PREFIX, PassReferenceError

_LAST_WORDS = 5
_WIDTH = 96
_MOST_DEATHS = 4


class BodyDied(Exception):
    """A test whose process ended while no pass was judged."""


class NothingShown(AssertionError):
    """A test whose pass changed too few modules."""


class BodyFailed(AssertionError):
    """A test that failed with an exception which cannot be sent from process to process."""


def run_isolated(item: pytest.Function) -> None:
    """Run a test in a copy of this process; raises what it raises, with ``relaxfuzz_text`` as what to show of it."""
    options = options_of(item.config)
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-pytest-") as folder:
        body = TestBody(item, Path(folder), options.seconds, options.seed, options.known, _least(item, options))
        for tries in range(1, _MOST_DEATHS + 1):
            answer = _answer(body, options)
            if not isinstance(answer, Died):
                break
            judged = last_judged(body.folder)
            if tries == _MOST_DEATHS or judged is None or not _excused(judged, answer, options):
                _count(item, BodyResult("failed"), options)
                _raise_death(item, answer, judged, body.folder, options)
            else:
                body = replace(body, passed_over=body.passed_over | {judged.key})
        assert isinstance(answer, BodyResult)
        _count(item, answer, options)
        if answer.outcome == "skipped":
            pytest.skip(answer.text)
        if answer.outcome == "xfailed":
            pytest.xfail(answer.text)
        if answer.outcome == "failed":
            _raise_failure(body, answer, options)
        _require_changes(item, answer.tallies["counts"], options)


def _excused(judged: JudgedModule, died: Died, options: Options) -> bool:
    """Say whether a death is accepted, or TVM's alone: the same happens under an identity in place of the pass."""
    verdict = death_verdict(died, judged.case.name)
    if options.known.holds(verdict):
        return True
    identity = f"{USER_PREFIX}oracles.users_pass:Identity"
    passes = tuple(replace(ref, expression=identity) if ref.is_user else ref for ref in judged.case.passes)
    if passes == judged.case.passes:
        return False
    control = replace(judged.case, passes=passes)
    return any(
        found.evidence is not None and found.evidence.is_death and found.evidence.kind == verdict.shown.kind
        for found in failures(control, seconds=options.case_timeout)
    )


def _least(item: pytest.Function, options: Options) -> int | None:
    """Return how many modules the pass of a test must change, where that is set."""
    marker = item.get_closest_marker(MARKER)
    return options.min_changed if marker is None else marker.kwargs.get("min_changed", options.min_changed)


def _require_changes(item: pytest.Function, counts: dict[str, int], options: Options) -> None:
    """Fail a test whose pass changed too few of the modules: it is green and says nothing."""
    least, judged, changed = _least(item, options), counts.get("checks", 0), counts.get("changed", 0)
    if least is None:
        least = int(uses_hypothesis(item.obj) and judged >= ENOUGH)
    if judged and changed < least:
        refusing = f"refused {refused} and " if (refused := counts.get("refused")) else ""
        more = f" and none of {sought} more" if (sought := counts.get("sought")) else ""
        raise _shown(
            NothingShown(item.nodeid),
            f"the pass {refusing}changed {changed} of {judged} modules{more}; at least {least} "
            f"{'are' if least > 1 else 'is'} required.\n"
            f"{advice(item.obj)} To require fewer: relaxfuzz_min_changed in pytest's configuration, "
            "@pytest.mark.relaxfuzz(min_changed=0).",
        )


def _answer(body: TestBody, options: Options) -> BodyResult | Died:
    with _quiet_fork(), IsolatedWorker(time_limit=options.case_timeout, inherits=True) as worker:
        prepare(body)
        try:
            found: Any = None
            for item in worker.stream(run_body, None):
                found = found if isinstance(item, Died) and found is not None else item
        except ChildError as error:
            raise BodyFailed(f"the process of the test failed: {error}") from None
        finally:
            prepare(None)
    assert isinstance(found, (BodyResult, Died))
    return found


@contextlib.contextmanager
def _quiet_fork() -> Iterator[None]:
    """Silence Python's warning of forks beside threads: those of pytest's plugins hold nothing that a test needs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*fork.*")
        yield


def _count(item: pytest.Function, ended: BodyResult, options: Options) -> None:
    unshown = uses_hypothesis(item.obj) and _least(item, options) is None
    item.user_properties.append((PROPERTY, {**ended.tallies, "advice": advice(item.obj), "unshown": unshown}))


def _last_words(folder: Path) -> str:
    """Return what the process wrote last to its descriptor for errors, without what TVM says on every occasion."""
    try:
        lines = (folder / STDERR).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    lines = [printable(each) for each in lines if each.strip() and "BlockBuilder destroyed" not in each]
    return "".join(f"\n{each}" for each in ["Its last output:", *lines[-_LAST_WORDS:]]) if lines else ""


def _raise_death(
    item: pytest.Function, died: Died, judged: JudgedModule | None, folder: Path, options: Options
) -> NoReturn:
    if judged is None:
        raise _shown(
            BodyDied(died.detail),
            f"{item.nodeid}: its process ended: {died.detail}, but not while `check` was judging a pass.\n"
            f"Run the pass with `check(module, PASS)` to see the minimized module here.{_last_words(folder)}",
        )
    verdict = death_verdict(died, judged.case.name)
    failure = OracleFailure([verdict])
    if judged.unknown:
        raise _shown(failure, unreduced_text(verdict, judged.case, f"not minimized: {judged.unknown}"))
    raise _shown(failure, failure_text(item, judged, verdict, options))


def _raise_failure(body: TestBody, ended: BodyResult, options: Options) -> NoReturn:
    judged = ended.judged
    if judged and not judged[0].unknown:
        others = _others(judged[1:])
        text = "\n".join([failure_text(body.item, judged[0], judged[0].failure, options, len(others)), *others])
        raise _shown(OracleFailure([verdict for each in judged for verdict in each.verdicts]), text)
    error = _error_of(ended)
    shrinks = uses_hypothesis(body.item.obj) and not isinstance(error, PassReferenceError)
    if shrinks:  # what no other process can build
        again = _answer(replace(body, shrink=True, seconds=None), options)
        if isinstance(again, BodyResult) and again.outcome == "failed":
            ended, judged, error = again, again.judged, _error_of(again)
    if judged:
        why = f"shrunk by Hypothesis, without a script: {judged[0].unknown}"
        text = unreduced_text(judged[0].failure, judged[0].case, why)
        raise _shown(OracleFailure(list(judged[0].verdicts)), text)
    raise _shown(error, ended.text)


def _others(judged: Sequence[JudgedModule]) -> list[str]:
    """Write a line for each other failure of a test, one for those of which the same is told."""
    told = Counter(cut(printable(summary(each.failure)), _WIDTH) for each in judged)
    return [f"{counted(many, 'other failure')}, not minimized: {said}" for said, many in told.items()]


def _error_of(ended: BodyResult) -> BaseException:
    return pickle.loads(ended.error) if ended.error else BodyFailed(ended.text)


def _shown(error: BaseException, text: str) -> BaseException:
    error.relaxfuzz_text = text  # type: ignore[attr-defined]  # what the plugin's report hook looks for
    return error
