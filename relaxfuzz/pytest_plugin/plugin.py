"""The hooks of pytest: options, and the tests that judge passes run in processes of their own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from relaxfuzz.pytest_plugin.options import (
    KNOWN,
    MARKER,
    MIN_CHANGED,
    OPTIONS,
    PROPERTY,
    given_options,
    judges_passes,
    options_of,
)

ISOLATE = "relaxfuzz_isolate"
_TEXT = "relaxfuzz_text"
_WAYS = {"proved": "proved for all inputs", "interpreted": "interpreted", "executed": "executed", "differing": "failed"}
"""How results were compared."""
_SELDOM = (("reject", "rejected"), ("invalid", "invalid"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that begin with ``--relaxfuzz``."""
    group = parser.getgroup("relaxfuzz", "passes of TVM's Relax (relaxfuzz)")
    for name, (metavar, default, text) in OPTIONS.items():
        group.addoption(f"--relaxfuzz-{name}", metavar=metavar, default=default, help=text)
    parser.addini(ISOLATE, "run each test that checks a pass in its own process", type="bool", default=True)
    parser.addini(
        MIN_CHANGED,
        "minimum number of modules that the pass in a test must change (default: 1, if at least 20 were judged)",
        default="",
    )
    parser.addini(KNOWN, "accept findings listed in this file (relative to the configuration file)", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Check the options."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(isolate=True, min_changed=1): run the test in its own process (isolate=False: in pytest's), and "
        "fail it if its pass changed fewer than min_changed modules",
    )
    given = any(value != OPTIONS[name][1] for name, value in given_options(config).items() if name != "out")
    if given or config.getini(MIN_CHANGED) or config.getini(KNOWN):
        options_of(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep TVM from starting threads in this process, which a forked one would lack."""
    if _isolates(session.config) and any(judges_passes(item) for item in session.items):
        os.environ.setdefault("TVM_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that judges passes in a process of its own."""
    if not _isolates(pyfuncitem.config) or not judges_passes(pyfuncitem):
        return None
    from relaxfuzz.pytest_plugin.isolated import run_isolated

    run_isolated(pyfuncitem)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what :mod:`relaxfuzz.pytest_plugin.failure_text` wrote, and no traceback into this plugin."""
    report = yield
    text = getattr(call.excinfo.value, _TEXT, None) if call.excinfo is not None else None
    if text is not None and report.failed:
        report.longrepr = text
    return report


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: Any) -> Generator[None, None, None]:
    """Say of each test how much was judged: a green test that judged nothing says nothing."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                judged = name == PROPERTY and (value["counts"].get("checks") or not report.failed)
                if judged and getattr(report, "when", "") == "call":
                    test = report.nodeid.partition("/")[2] or report.nodeid
                    for line in _evidence(value):
                        terminalreporter.write_line(f"relaxfuzz: {test}: {line}")
    return (yield)


_MOST_OPERATORS, _MOST_REASONS = 5, 3
_REASONS = {"known": "known failures"}
_MANY, _FEW = 20, 0.1  # of so many judged modules, a pass that changes less than this share was hardly tested


def _evidence(value: dict[str, Any]) -> Iterator[str]:
    """Write what a test rests on: its counts, and what is worth a note."""
    from fuzzer.core.text import counted
    from oracles.core.notes import brief, settling

    total = Counter(value["counts"])
    if not total:  # the process died
        return
    ways = [f"{total[key]} {word}" for key, word in _WAYS.items() if total[key]]
    skipped = Counter(value["uncompared"]).most_common()
    rest = [f"{_REASONS.get(reason, reason)} ({many})" for reason, many in skipped[:_MOST_REASONS]]
    if more := sum(many for _, many in skipped[_MOST_REASONS:]):
        rest.append(f"other reasons ({more})")
    uncompared = total["changed"] - total["compared"]
    yield (
        f"{counted(total['examples'], 'example')}, {counted(total['checks'], 'module')} judged, "
        f"{total['changed']} of them changed by the pass, {total['operators']} operators covered; "
        f"results compared for {total['compared']} of {total['changed']}"
        + (f" ({', '.join(ways)})" if ways else "")
        + f"; in {total['dead']} of these modules, the pass changed only dead code" * bool(total["dead"])
        + (f"; {uncompared} not compared: {', '.join(rest)}" if rest else "")
        + f"; verdicts: {total['pass']} passed, {total['skip']} skipped, "
        + "".join(f"{total[key]} {word}, " for key, word in _SELDOM if total[key])
        + f"{total['fail']} failed"
        + (f" on {total['failing']} module{'s' * (total['failing'] > 1)}" if total["failing"] else "")
        + (f"; {counted(total['known'], 'failure')} accepted as known" if total["known"] else "")
    )
    sides = (("removed by the pass, dead code aside", value["removed"]), ("added", value["added"]))
    rows = [(verb, Counter(calls).most_common(_MOST_OPERATORS)) for verb, calls in sides if calls]
    if rows:
        yield "; ".join(f"calls {verb}: {', '.join(f'{name} {many}' for name, many in row)}" for verb, row in rows)
    if total["fail"]:  # which comes first, and has little room beside it
        return
    if value["unshown"] and total["checks"] and not total["changed"]:
        yield f"warning: the pass changed none of the {counted(total['checks'], 'module')}. {value['advice']}"
    if total["checks"] >= _MANY and 0 < total["changed"] < _FEW * total["checks"]:
        yield f"warning: the pass changed only {total['changed']} of {total['checks']} modules. {value['advice']}"
    if skipped and not total["compared"]:
        reason, count = skipped[0]
        yield (
            f"warning: none of the changed modules' results were compared, so wrong results would go unnoticed; "
            f"reason: {reason} ({count} of {total['changed']}). Try ir_modules(executable=True) "
            "(see docs/own-pass.md in the relaxfuzz repository)."
        )
    if total["checks"] >= _MANY and 2 * total["dead"] > total["compared"]:
        yield (
            f"warning: in {total['dead']} of the {total['compared']} modules whose results were compared, the pass "
            "changed only dead code, where wrong results go unnoticed. Add plant=Fragment(...) with code that the pass "
            "changes: its result is used (see docs/drawing-modules.md in the relaxfuzz repository)."
        )
    for note, count in value["notes"].items():
        yield f"note ({count} module{'s' * (count > 1)}): {brief(note)}"
    yield from settling(value["notes"])


def _isolates(config: pytest.Config) -> bool:
    """Say whether tests may be run in other processes: not while someone looks into them with a debugger."""
    debugging = config.getoption("usepdb", False) or config.getoption("trace", False)
    return bool(config.getini(ISOLATE)) and hasattr(os, "fork") and not debugging
