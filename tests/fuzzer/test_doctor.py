"""`relaxfuzz doctor`: what is broken on a machine is seen by trying it, and nothing stays behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzzer.cli.main import main
from fuzzer.cli.verbs.doctor import worst
from fuzzer.core import installed as environment
from fuzzer.doctor import machine as doctor_machine
from fuzzer.doctor import probes as probe
from fuzzer.doctor import tvm as doctor_tvm
from fuzzer.doctor.machine import Health, HealthCheck
from fuzzer.worker.death import Died
from fuzzer.worker.worker import ChildError

PROGRAM = Path(sys.executable).parent / "relaxfuzz"
_STANDS_ON_TVM = ("isolated processes", "JIT", "relax.build", "TVMScript")


def doctor(place: Path, path: Path | None = None, **variables: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code and checks by name, of a process with other variables, and packages of ``path`` before others."""
    environment = os.environ | variables | ({} if path is None else {"PYTHONPATH": str(path)})
    done = subprocess.run(
        [str(PROGRAM), "doctor", "--json", "--out", str(place)],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert list(told) == ["verdict", "versions", "checks"]
    assert told["verdict"] in {check["health"] for check in told["checks"]}
    return done.returncode, {check["name"]: check for check in told["checks"]}


def package(place: Path, name: str, text: str) -> Path:
    """A directory with a package that breaks."""
    (place / name).mkdir(parents=True)
    (place / name / "__init__.py").write_text(text)
    return place


def test_a_machine_without_compiler_can_run_campaigns_and_is_told_the_price(tmp_path: Path) -> None:
    code, checks = doctor(tmp_path / "not" / "made", PATH=str(tmp_path))
    assert code == 0
    assert {checks[name]["health"] for name in ("TVM and its ffi", *_STANDS_ON_TVM)} == {"ok"}
    assert checks["C++ compiler"]["health"] == "warn"
    assert "cannot be confirmed on TVM's own build path" in checks["C++ compiler"]["found"]
    assert "survived a child's segmentation fault" in checks["isolated processes"]["found"]
    assert str(tmp_path) in checks["disk of the campaign"]["found"]
    assert not any(tmp_path.iterdir())


def test_a_jit_that_does_not_start_is_a_restriction(tmp_path: Path) -> None:
    packages = package(tmp_path / "packages", "tvm_ffi_orcjit", "raise ImportError('another ABI')")
    code, checks = doctor(tmp_path, packages)
    assert code == 0
    assert checks["JIT"]["health"] == "warn"
    assert "which is slower" in checks["JIT"]["found"]
    assert {checks[name]["health"] for name in ("relax.build", "TVMScript")} == {"ok"}


def test_without_jit_and_relax_build_nothing_runs_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: None) -> str:
        raise probe.WrongAnswer("a module computed 1 instead of 2")

    monkeypatch.setattr(probe, "in_process", broken)
    monkeypatch.setattr(probe, "on_record", broken)
    monkeypatch.setattr(doctor_tvm, "IsolatedWorker", _Here)
    seen = {check.name: check for check in doctor_tvm.checks()}
    assert seen["JIT"].health is Health.FAIL
    assert str(seen["JIT"]).endswith(
        "instead of 2; nothing can execute a module: neither the JIT nor relax.build works"
    )
    assert seen["relax.build"].health is Health.WARN
    assert seen["TVMScript"].health is Health.OK


class _Here:
    """A worker that is no process; it dies of what kills one."""

    def __init__(self, time_limit: float) -> None:
        del time_limit

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def fresh(self) -> None:
        return None

    def call(self, function: Callable[[None], Any], argument: None) -> Any:
        if function is probe.segfault:
            return Died.by_exit_code(-11, "")
        try:
            return function(argument)
        except probe.WrongAnswer as error:
            raise ChildError(f"Traceback:\nfuzzer.doctor.probes.WrongAnswer: {error}\n") from error


def test_a_compiler_that_fails_costs_what_none_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "g++").write_text("#!/bin/sh\necho 'g++: no space left' >&2\nexit 1\n")
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    seen = doctor_machine.cxx()
    assert seen.health is Health.WARN
    assert str(seen).startswith(f"{tmp_path / 'g++'} fails: g++: no space left; numeric findings are tested in process")
    (tmp_path / "g++").write_text("#!/bin/sh\nexit 0\n")
    assert doctor_machine.cxx().health is Health.WARN, "it made nothing"


def test_a_tvm_that_kills_the_process_is_named_and_nothing_else_is_tried_on_it(tmp_path: Path) -> None:
    crash = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    code, checks = doctor(tmp_path, package(tmp_path / "packages", "tvm", crash))
    assert code == 1
    assert checks["TVM and its ffi"]["health"] == "fail"
    assert "signal 11 (SIGSEGV)" in checks["TVM and its ffi"]["found"]
    assert {checks[name]["found"] for name in _STANDS_ON_TVM} == {"not tried: it needs TVM and its ffi"}


def test_a_pair_that_does_not_fit_comes_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = environment.Versions("0.27.0.post1", "0.1.15")
    monkeypatch.setattr(environment, "installed", lambda: found)
    seen = doctor_tvm.pair()
    assert seen.health is Health.FAIL
    assert "fix it with: pip install 'apache-tvm-ffi>=0.1.14.post0,<0.1.15'" in str(seen)


@pytest.mark.parametrize("place", ["/proc/relaxfuzz", __file__])
def test_a_campaign_cannot_be_written_where_nothing_can(place: str) -> None:
    seen = doctor_machine.out_directory(Path(place))
    assert seen.health is Health.FAIL
    assert "cannot be written" in seen.found
    assert doctor_machine.cache_directory(Path(place)).health is Health.WARN


def test_a_full_disk_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for free, health in ((10 << 20, Health.FAIL), (500 << 20, Health.WARN), (5 << 30, Health.OK)):
        usage = type("Usage", (), {"free": free})()
        monkeypatch.setattr(doctor_machine.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert doctor_machine.out_directory(tmp_path).health is health
    assert not any(tmp_path.iterdir())


def test_limits_of_a_container_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor_machine, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(doctor_machine, "cores", lambda: 4)
    assert doctor_machine.processors().health is Health.OK
    for name, text in (("cpu.max", "150000 100000"), ("memory.max", str(3 << 30)), ("memory.current", str(200 << 20))):
        (tmp_path / name).write_text(text + "\n")
    assert str(doctor_machine.processors()) == "4 usable, and a quota of 1.5; --workers 1"
    assert doctor_machine.memory().health is Health.WARN
    assert "--workers 2" in doctor_machine.memory().remedy
    (tmp_path / "memory.current").write_text(str(2 << 30))
    assert doctor_machine.memory().health is Health.FAIL
    (tmp_path / "cpu.max").write_text("max 100000")
    assert doctor_machine.processors().health is Health.OK


def test_an_extra_that_is_not_there_says_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_machine, "version_or_missing", lambda name: "not installed")
    seen = doctor_machine.extras()
    assert {check.health for check in seen} == {Health.WARN}
    assert any("pip install 'relaxfuzz[dask]'" in check.remedy for check in seen)


def test_lines_and_the_closing_one(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    given = [HealthCheck("cores", Health.OK, "2 usable"), HealthCheck("JIT", Health.WARN, "none", "slower")]
    monkeypatch.setattr("fuzzer.cli.verbs.doctor.examine", lambda out: given)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out == (
        "ok    cores  2 usable\nwarn  JIT    none; slower\nCampaigns can run here, with 1 restriction.\n"
    )
    given.append(HealthCheck("disk", Health.FAIL, "full\x1b[31m"))
    assert worst(given) is Health.FAIL
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.endswith("fail  disk   full?[31m\nA campaign cannot run here: disk.\n")


@pytest.mark.parametrize("arguments", [["--out", ""], ["--out", "a\0b"], ["--oot", "x"], ["somewhere"]])
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert main(["doctor", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("relaxfuzz: error: ")
    assert said.err.count("\n") == 1
