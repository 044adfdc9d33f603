"""The checker on made-up cases: it must notice every way in which a case is not as expected."""

from pathlib import Path

import pytest

from corpus.case import load
from corpus.check import check_cases, compare
from oracles.core.verdict import Outcome, Verdict
from relaxkit.compat.known import RELEASES
from relaxkit.passes.contract import OracleName

MODULE = """\
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module(s_tir=True)
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.exp(x)
        return y
"""
PASSES = """\
import os
import signal
import time

import tvm


def made(act):
    @tvm.transform.module_pass(opt_level=0, name="Made")
    def run(module, _context):
        act()
        return module

    return lambda: run


def complain():
    raise ValueError("as it should")


good = made(lambda: None)
bad = made(complain)
kill = made(lambda: os.kill(os.getpid(), signal.SIGSEGV))
hang = made(lambda: time.sleep(60))
leave = made(lambda: os._exit(3))
depart = made(lambda: os._exit(0))
"""


def write_case(root: Path, slug: str, factory: str, expected: str, extra: str = "") -> None:
    (root / "made.py").write_text(PASSES)
    directory = root / slug
    directory.mkdir()
    (directory / "module.py").write_text(MODULE)
    (directory / "case.toml").write_text(
        f'title = "t"\nexplanation = "e"\noracle = "crash"\n{extra}\n'
        f'[[passes]]\nname = "Made"\nexpression = "user:{root / "made.py"}:{factory}"\n'
        f'[expected]\n"1.0" = "{expected}"\n'
    )


def test_expected_and_unexpected_verdicts_in_one_child(tmp_path: Path) -> None:
    write_case(tmp_path, "a-good", "good", "pass")
    write_case(tmp_path, "b-bad", "bad", "fail", 'pattern = "ValueError: as it"')
    write_case(tmp_path, "c-good-but-fail-expected", "good", "fail")
    write_case(tmp_path, "d-bad-but-pass-expected", "bad", "pass")
    write_case(tmp_path, "e-bad-otherwise", "bad", "fail", 'pattern = "segfault"')
    problems = [result.problem for result in check_cases(load(root=tmp_path), "1.0")]
    assert problems[:2] == ["", ""]
    assert problems[2].startswith("expected fail of crash, measured crash pass")
    assert problems[3].startswith("expected pass of crash, measured crash fail (ValueError: as it should)")
    assert problems[4].startswith("fails differently than expected: /segfault/ is not in fail")


@pytest.mark.slow
def test_a_death_is_the_crash_oracles_and_the_rest_is_still_checked(tmp_path: Path) -> None:
    write_case(tmp_path, "a-kill", "kill", "fail", 'pattern = "signal 11: SIGSEGV killed the process in crash"')
    write_case(tmp_path, "b-good", "good", "pass")
    write_case(tmp_path, "c-hang", "hang", "fail", 'pattern = "^hang: "\nisolated = true')
    write_case(tmp_path, "d-leave", "leave", "fail", 'pattern = "^exit 3: exit 3 in crash"')
    write_case(tmp_path, "e-depart", "depart", "fail", 'pattern = "^exit 0: "')
    results = check_cases(load(root=tmp_path), "1.0", time_limit=2)
    assert [result.problem for result in results] == [""] * 5


def test_a_case_must_say_what_it_expects_of_the_newest_release(tmp_path: Path) -> None:
    write_case(tmp_path, "a-good", "good", "pass")
    (result,) = check_cases(load(root=tmp_path), RELEASES[0].tvm)
    assert result.problem == f"no expectation for TVM {RELEASES[0].tvm}; measured: pass"


def test_a_case_may_say_nothing_of_another_release(tmp_path: Path) -> None:
    write_case(tmp_path, "a-good", "good", "pass")
    (result,) = check_cases(load(root=tmp_path), "2.0")
    assert (result.ok, result.problem, result.note) == (True, "", "measured: pass")


@pytest.mark.parametrize("outcome", [Outcome.SKIP, Outcome.REJECT, Outcome.INVALID])
def test_a_case_that_judges_nothing_is_a_problem(tmp_path: Path, outcome: Outcome) -> None:
    write_case(tmp_path, "a-good", "good", "pass")
    (case,) = load(root=tmp_path)
    result = compare(case, "case", Verdict(OracleName.CRASH, outcome, "Made", "why"), "1.0")
    assert result.problem == f"expected pass of crash, measured crash {outcome} (why)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Module = 3\n", "module.py: "),
        ("import no_such_package\n", "No module named 'no_such_package'"),
        (
            "from tvm.script import relax as R\n\n\n@R.function\ndef main(x: R.Shape):\n    return x\n",
            "is not a tvm.IRModule",
        ),
    ],
)
def test_a_module_that_does_not_load_is_invalid(tmp_path: Path, text: str, problem: str) -> None:
    write_case(tmp_path, "a-good", "good", "pass")
    (tmp_path / "a-good" / "module.py").write_text(text)
    (result,) = check_cases(load(root=tmp_path), "1.0")
    assert result.verdict.outcome is Outcome.INVALID
    assert result.verdict.evidence is not None
    assert problem in result.verdict.evidence.message
