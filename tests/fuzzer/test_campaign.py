"""Campaigns on real TVM: what the number of workers, a kill and Ctrl-C may not change, and what deadly passes do."""

from __future__ import annotations

import contextlib
import io
import json
import random
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from fuzzer.campaign.regression import gather
from fuzzer.cli.main import main
from fuzzer.cli.verbs.run import _on_signals
from fuzzer.findings.signature import death_verdict, signature
from fuzzer.store.writer import FILE_NAME, FindingState, Store
from fuzzer.worker.death import Death, Died

HERE = Path(__file__).parent
PROGRAM = Path(sys.executable).parent / "relaxfuzz"
USER = HERE / "user_passes.py"
STRUCTURAL = "crash,mutation,determinism,sequential,idempotence,well-formed"
# Cheap passes, and one that fails now and then, always in the same way.
PASSES = (
    "--passes", "CanonicalizeBindings,DeadCodeElimination,EliminateCommonSubexpr,ToNonDataflow,Normalize",
    "--pass", f"{USER}:refuses_second_function", "--oracles", STRUCTURAL, "--regress", "off",
)  # fmt: skip
EXAMPLES_OF_WHOLE = 150
WHOLE = (*PASSES, "--max-examples", EXAMPLES_OF_WHOLE)


def slow(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def command(out: Path, *arguments: object) -> list[str]:
    return [str(PROGRAM), "run", "--out", str(out), "--seed", "5", *map(str, arguments)]


@dataclass(frozen=True)
class Done:
    """What a command printed."""

    stdout: str
    stderr: str


def verb(*arguments: object) -> Done:
    """Run a verb in this process, whose fork server has TVM loaded already."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        code = main([str(argument) for argument in arguments])
    assert code == 0, errors.getvalue()
    assert "Traceback" not in errors.getvalue() + out.getvalue()
    return Done(out.getvalue(), errors.getvalue())


def run(out: Path, *arguments: object) -> Done:
    return verb("run", "--out", out, "--seed", 5, *arguments)


def substance(out: Path) -> dict[str, Any]:
    """All of a campaign that its seed and budget decide."""
    gather([out])  # refuses rows and scripts that are not sealed
    with Store.open(out) as store:
        info = store.info()
        return {
            "examples": info.examples,
            "modules": info.modules,
            "tallies": store.tallies(),
            "coverage": store.coverage(),
            "findings": [(each.id, each.signature, each.count, each.case) for each in store.findings()],
        }


def findings(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(verb("findings", out, "--json").stdout)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A campaign of one worker that nothing disturbs, and what it printed."""
    out = tmp_path_factory.mktemp("whole") / "out"
    return out, run(out, *WHOLE, "--workers", 1)


def test_workers_do_not_change_the_results(whole: tuple[Path, Done], tmp_path: Path) -> None:
    out, done = whole
    run(tmp_path / "two", *WHOLE, "--workers", 2)
    expected = substance(out)
    assert expected["examples"] == EXAMPLES_OF_WHOLE
    assert expected["findings"], "or else this test says little"
    assert substance(tmp_path / "two") == expected
    assert 0 < expected["coverage"].operators["relax.add"] <= expected["modules"]
    assert expected["findings"][0][0] in done.stdout, "the summary lists them"
    triaged = [(each["id"], each["state"], each["bindings"]) for each in findings(out)]
    assert triaged == [(each["id"], each["state"], each["bindings"]) for each in findings(tmp_path / "two")]
    assert "new" not in {state for _, state, _ in triaged}


@pytest.mark.slow
def test_another_session_adds_nothing_to_a_finished_campaign_and_a_larger_budget_does(tmp_path: Path) -> None:
    arguments = ("--passes", "Normalize", "--oracles", "crash,mutation", "--workers", 1, "--regress", "off")
    run(tmp_path / "one", *arguments, "--max-examples", 70)
    before = substance(tmp_path / "one")
    again = run(tmp_path / "one", *arguments, "--max-examples", 70)
    assert "nothing to do: finished after 70 cases; use a new --out" in again.stderr
    assert substance(tmp_path / "one") == before
    run(tmp_path / "one", *arguments, "--max-examples", 150)
    run(tmp_path / "two", *arguments, "--max-examples", 150)
    assert substance(tmp_path / "one") == substance(tmp_path / "two")


@pytest.mark.slow
def test_a_campaign_is_not_resumed_with_another_pass_under_the_same_name(tmp_path: Path) -> None:
    """What a pass imports from beside it is a part of it."""
    (tmp_path / "shared.py").write_text("from tvm import relax\n\nSTEP = relax.transform.Normalize\n")
    (tmp_path / "mine.py").write_text("from shared import STEP\n\n\ndef make():\n    return STEP()\n")
    arguments = ("--pass", "mine.py:make", "--oracles", "crash", "--workers", "1", "--max-examples", "4")

    def again() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(Path("out"), *arguments), cwd=tmp_path, capture_output=True, text=True, timeout=300
        )

    assert again().returncode == 0
    assert "nothing to do: finished after 4 cases; use a new --out" in again().stderr
    (tmp_path / "shared.py").write_text("from tvm import relax\n\nSTEP = relax.transform.FoldConstant\n")
    refused = again()
    assert refused.returncode == 2
    assert (
        refused.stderr.strip()
        .splitlines()[-1]
        .endswith("shared.py has changed since the campaign in 'out' started; use another --out")
    )


def judged(out: Path) -> int:
    """Cases that are in the store; each is counted once, by each oracle."""
    with Store.open(out) as store:
        before = store.info().examples
        count = sum(tally.count for tally in store.tallies() if tally.oracle == "mutation")
        assert before <= count <= store.info().examples, "the campaign may record something between two looks"
    return count


def until_more(out: Path, than: int, session: subprocess.Popen[Any]) -> None:
    """Wait until a session has recorded more cases, or is over."""
    while session.poll() is None and not ((out / FILE_NAME).exists() and judged(out) > than):
        with contextlib.suppress(subprocess.TimeoutExpired):
            session.wait(0.05)


def test_kill_and_resume_lose_and_double_nothing(whole: tuple[Path, Done], tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    with subprocess.Popen(
        command(killed, *WHOLE, "--workers", 2), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as session:
        until_more(killed, 0, session)
        session.kill()
    assert 0 < judged(killed) < EXAMPLES_OF_WHOLE, "or else nothing is resumed"
    run(killed, *WHOLE, "--workers", 2)
    assert substance(killed) == substance(whole[0])


def kill_and_resume(out: Path, kills: int, chance: random.Random, arguments: tuple[object, ...]) -> None:
    """Kill the campaign at random moments, then let it finish."""
    for _ in range(kills):
        with subprocess.Popen(
            command(out, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as session:
            try:
                session.wait(1.0 + 5.0 * chance.random())
            except subprocess.TimeoutExpired:
                session.send_signal(signal.SIGKILL)
        if (out / FILE_NAME).exists():
            judged(out)
    run(out, *arguments)


@pytest.mark.slow
def test_ten_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    arguments = (*PASSES, "--max-examples", 3000, "--workers", 2)
    run(tmp_path / "whole", *arguments)
    kill_and_resume(tmp_path / "killed", 10, random.Random(2), arguments)
    assert substance(tmp_path / "killed") == substance(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, *(slow(each) for each in (signal.SIGTERM, signal.SIGHUP))])
def test_an_interrupt_ends_with_the_summary_and_is_resumed(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "out"
    arguments = ("--passes", "Normalize,DeadCodeElimination", "--oracles", "crash,mutation", "--workers", 2)
    arguments = (*arguments, "--regress", "off")
    with subprocess.Popen(
        command(out, *arguments, "--time", "5m"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as session:
        until_more(out, 0, session)
        children = psutil.Process(session.pid).children(recursive=True)
        session.send_signal(number)
        said, errors = session.communicate(timeout=60)
    assert session.returncode == 130, errors
    assert "interrupted; run the same command again to resume" in errors
    assert "Traceback" not in errors
    assert said.startswith("Campaign with seed 5")
    assert (out / "report.md").is_file()
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not alive
    before = substance(out)["examples"]
    with Store.open(out) as store:
        assert store.info().state == "interrupted"
        assert store.info().examples == sum(tally.count for tally in store.tallies() if tally.oracle == "mutation")
    run(out, *arguments, "--max-examples", before + 10)
    assert substance(out)["examples"] >= before + 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_first_case_interrupts_the_campaign(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(number, signal.default_int_handler)  # the tests themselves may run under nohup
    monkeypatch.setattr("fuzzer.cli.verbs.run._announce", lambda *_: signal.raise_signal(number))
    out = tmp_path / "out"
    try:
        assert main(["run", "--passes", "Normalize", "--seed", "5", "--time", "1m", "--out", str(out)]) == 130
        assert "interrupted; run the same command again to resume" in capsys.readouterr().err
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    with Store.open(out) as store:
        assert (store.info().state, store.info().examples) == ("interrupted", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_that_ends_programs_ends_the_campaign_and_no_other_part(number: signal.Signals) -> None:
    stopped: list[int] = []
    before = signal.signal(number, signal.default_int_handler)
    try:
        restore = _on_signals(lambda: stopped.append(number))
        signal.raise_signal(number)
        restore()
        assert stopped == [number]
        assert signal.getsignal(number) is signal.default_int_handler
        signal.signal(number, signal.SIG_IGN)  # as nohup has it
        restore = _on_signals(lambda: stopped.append(number))
        signal.raise_signal(number)
        restore()
        assert stopped == [number]
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("factory", "kind"),
    [
        ("segfaults_on_if", "signal 11"),
        slow("refuses_second_function", "RuntimeError"),
        slow("exits_on_second_function", "exit 3"),
        slow("eats_memory_on_second_function", "memory"),
        slow("hangs_on_second_function", "hang"),
    ],
)
def test_a_deadly_pass_becomes_a_finding(tmp_path: Path, factory: str, kind: str) -> None:
    limits = ("--case-timeout", "4s", "--memory-limit", "1GiB", "--workers", 2, "--oracles", "crash,mutation")
    run(tmp_path / "out", "--pass", f"{USER}:{factory}", *limits, "--max-examples", EXAMPLES.get(kind, 40))
    mine = [each for each in findings(tmp_path / "out") if each["kind"] == kind]
    assert len(mine) == 1, findings(tmp_path / "out")
    assert (mine[0]["oracle"], mine[0]["pass"]) == ("crash", factory)
    assert len(findings(tmp_path / "out")) == 1
    with Store.open(tmp_path / "out") as store:
        assert store.info().examples == EXAMPLES.get(kind, 40), "the campaign goes on behind each death"
        (finding,) = store.findings()
        assert finding.count > 1
        assert finding.state is FindingState.CONFIRMED, finding.note
        repro = tmp_path / "out" / str(finding.repro)
    checked = subprocess.run([sys.executable, str(repro)], capture_output=True, text=True, timeout=120)
    assert checked.returncode != 0, checked.stdout + checked.stderr
    assert finding.parts is not None
    assert finding.parts.ending is not None, finding.note


# A hang costs the time limit each time.
SHARD_OF_HANGS = 40.0
EXAMPLES = {"hang": 12, "memory": 24}


def test_an_honest_pass_is_accused_of_nothing(tmp_path: Path) -> None:
    run(tmp_path / "out", "--pass", f"{USER}:identity", "--max-examples", 60, "--workers", 2)
    assert findings(tmp_path / "out") == []


def test_time_is_kept_although_cases_hang(tmp_path: Path) -> None:
    name = "hangs_on_second_function"
    hang = signature(death_verdict(Died(Death.HANG, "no answer", f"crash: {name}"), name))
    known = tmp_path / "known.toml"
    known.write_text(f'[[known]]\nid = "{hang.id}"\nreference = "test"\nreason = "left out of triage"\n')
    arguments = ("--pass", f"{USER}:{name}", "--oracles", "crash", "--case-timeout", "2s", "--workers", 1)
    run(tmp_path / "out", *arguments, "--known", known, "--time", "5s")
    (finding,) = findings(tmp_path / "out")
    assert (finding["id"], finding["state"], finding["kind"]) == (hang.id, "known", "hang")
    with Store.open(tmp_path / "out") as store:
        spent = store.info().elapsed_seconds
    # A shard of hangs would last for a minute.
    assert finding["first_seen_seconds"] < spent < SHARD_OF_HANGS, "told when it happened, not when its shard is over"


def test_two_campaigns_on_one_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ("--passes", "Normalize", "--oracles", "crash", "--workers", 1, "--time", "5m")
    with subprocess.Popen(command(out, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        try:
            until_more(out, -1, first)
            code = main(list(map(str, ("run", "--out", out, "--seed", 5, *arguments))))
        finally:
            first.kill()
    assert code == 2
    assert capsys.readouterr().err == f"relaxfuzz: error: another campaign is running in '{out}'\n"
