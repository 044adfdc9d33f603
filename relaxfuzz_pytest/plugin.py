"""What pytest calls: options, and the tests that judge passes run in processes of their own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

from relaxfuzz_pytest.touching import MARKER, touches_passes

ISOLATE = "relaxfuzz_isolate"
PROPERTY = "relaxfuzz"
_TEXT = "relaxfuzz_text"
_COUNTS = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that begin with ``--relaxfuzz``."""
    group = parser.getgroup("relaxfuzz", "passes of TVM's Relax (relaxfuzz)")
    group.addoption(
        "--relaxfuzz-time",
        metavar="TIME",
        help="draw modules for so long (90s, 10m) in each test that judges passes, however many examples that makes",
    )
    group.addoption("--relaxfuzz-seed", metavar="N", help="decides what these tests draw (default: as Hypothesis does)")
    group.addoption(
        "--relaxfuzz-minimize",
        metavar="TIME",
        default="30s",
        help="spend at most so long on making a failing module small (default: 30s)",
    )
    group.addoption(
        "--relaxfuzz-case-timeout",
        metavar="TIME",
        default="20s",
        help="one module may take so long in a test, more is a hang (default: 20s)",
    )
    group.addoption("--relaxfuzz-out", metavar="DIR", help="write repro scripts there (default: in pytest's cache)")
    parser.addini(ISOLATE, "run tests that judge passes in processes of their own", type="bool", default=True)


def pytest_configure(config: pytest.Config) -> None:
    """Check the options."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(isolate=True): run the test in a process of its own, which may crash; isolate=False: do not",
    )
    times = [config.getoption(f"relaxfuzz_{name}") for name in ("time", "minimize", "case_timeout")]
    seed = config.getoption("relaxfuzz_seed")
    if times != [None, "30s", "20s"] or seed is not None:
        from relaxfuzz_pytest.options import OptionError, options_of

        try:
            options_of(config)
        except OptionError as error:
            raise pytest.UsageError(str(error)) from error


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep TVM from starting threads in this process, which a forked one would lack."""
    if _isolates(session.config) and any(touches_passes(item) for item in session.items):
        os.environ.setdefault("TVM_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that judges passes in a process of its own."""
    if not _isolates(pyfuncitem.config) or not touches_passes(pyfuncitem):
        return None
    from relaxfuzz_pytest.isolated import run_isolated

    run_isolated(pyfuncitem)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what :mod:`relaxfuzz_pytest.telling` wrote, and no traceback into this plugin."""
    report = yield
    text = getattr(call.excinfo.value, _TEXT, None) if call.excinfo is not None else None
    if text is not None and report.failed:
        report.longrepr = text
    return report


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: Any) -> Generator[None, None, None]:
    """Say how much was judged: a green test that judged nothing says nothing."""
    total: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY and getattr(report, "when", "") == "call":
                    total.update({"tests": 1, **value})
    if total:
        terminalreporter.write_line(
            f"relaxfuzz: {total['tests']} test{'' if total['tests'] == 1 else 's'}, {total['examples']} examples, "
            f"{total['checks']} modules judged, {total['changed']} of them changed by the pass; verdicts: "
            f"{total['pass']} pass, {total['skip']} skipped, {total['fail']} fail"
        )
    return (yield)


def _isolates(config: pytest.Config) -> bool:
    """Whether tests may be run in other processes: not while someone looks into them with a debugger."""
    debugging = config.getoption("usepdb", False) or config.getoption("trace", False)
    return bool(config.getini(ISOLATE)) and hasattr(os, "fork") and not debugging
