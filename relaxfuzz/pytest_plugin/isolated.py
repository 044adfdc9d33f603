"""Running one test in a process of its own, and making of what comes back what pytest expects."""

from __future__ import annotations

import contextlib
import pickle
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fuzzer.core.text import printable
from fuzzer.findings.signature import death_verdict
from fuzzer.worker.death import Died
from fuzzer.worker.worker import ChildError, IsolatedWorker
from oracles.check import OracleFailure
from oracles.core.verdict import Outcome, Verdict
from relaxfuzz.pytest_plugin.child import (
    STDERR,
    BodyResult,
    JudgedModule,
    TestBody,
    last_judged,
    prepare,
    run_body,
    uses_hypothesis,
)
from relaxfuzz.pytest_plugin.failure_text import failure_text, unreduced_text
from relaxfuzz.pytest_plugin.options import PROPERTY, Options, options_of

_LAST_WORDS = 5


class BodyDied(Exception):
    """A test whose process ended while no pass was judged."""


class BodyFailed(AssertionError):
    """A test that failed with an exception which cannot be sent from process to process."""


def run_isolated(item: pytest.Function) -> None:
    """Run a test in a copy of this process; raises what it raises, with ``relaxfuzz_text`` as what to show of it."""
    options = options_of(item.config)
    with tempfile.TemporaryDirectory(prefix="relaxfuzz-pytest-") as folder:
        body = TestBody(item, Path(folder), options.seconds, options.seed)
        answer = _answer(body, options)
        if isinstance(answer, Died):
            _count(item, {})
            _raise_death(item, answer, body.folder, options)
            return
        _count(item, answer.counts)
        if answer.outcome == "skipped":
            pytest.skip(answer.text)
        if answer.outcome == "xfailed":
            pytest.xfail(answer.text)
        if answer.outcome == "failed":
            _raise_failure(body, answer, options)


def _answer(body: TestBody, options: Options) -> BodyResult | Died:
    with _quiet_fork(), IsolatedWorker(time_limit=options.case_timeout, inherits=True) as worker:
        prepare(body)
        try:
            found: Any = None
            for item in worker.stream(run_body, None):
                found = item
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


def _count(item: pytest.Function, counts: dict[str, int]) -> None:
    item.user_properties.append((PROPERTY, counts))


def _last_words(folder: Path) -> str:
    """Return what the process wrote last to its descriptor for errors, without what TVM says on every occasion."""
    try:
        lines = (folder / STDERR).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    lines = [printable(each) for each in lines if each.strip() and "BlockBuilder destroyed" not in each]
    return "".join(f"\n{each}" for each in ["Its last words:", *lines[-_LAST_WORDS:]]) if lines else ""


def _raise_death(item: pytest.Function, died: Died, folder: Path, options: Options) -> None:
    judged = last_judged(folder)
    if judged is None:
        raise _shown(
            BodyDied(died.detail),
            f"{item.nodeid}: its process ended: {died.detail}, while no pass was judged by `check`.\n"
            f"Call the pass by `check(module, PASS)`, and the module is shown here, made small.{_last_words(folder)}",
        )
    verdict = death_verdict(died, judged.case.name)
    failure = OracleFailure([verdict])
    if judged.unknown:
        raise _shown(failure, unreduced_text(verdict, judged.case, f"not made small: {judged.unknown}"))
    raise _shown(failure, failure_text(item, judged.case, verdict, options))


def _raise_failure(body: TestBody, ended: BodyResult, options: Options) -> None:
    judged = ended.judged
    verdict = None if judged is None else next(_failing(judged))
    if judged is not None and verdict is not None and not judged.unknown:
        raise _shown(OracleFailure(list(judged.verdicts)), failure_text(body.item, judged.case, verdict, options))
    if uses_hypothesis(body.item.obj):  # Hypothesis can shrink what no other process can build
        again = _answer(replace(body, shrink=True, seconds=None), options)
        if isinstance(again, BodyResult) and again.outcome == "failed":
            ended, judged = again, again.judged
    if judged is not None:
        verdict = next(_failing(judged))
        text = unreduced_text(verdict, judged.case, f"shrunk by Hypothesis, without a script: {judged.unknown}")
        raise _shown(OracleFailure(list(judged.verdicts)), text)
    raise _shown(pickle.loads(ended.error) if ended.error else BodyFailed(ended.text), ended.text)


def _failing(judged: JudgedModule) -> Iterator[Verdict]:
    return (verdict for verdict in judged.verdicts if verdict.outcome is Outcome.FAIL)


def _shown(error: BaseException, text: str) -> BaseException:
    error.relaxfuzz_text = text  # type: ignore[attr-defined]  # what the plugin's report hook looks for
    return error
