"""``relaxfuzz minimize`` from beginning to end, in isolated processes, on passes with planted defects."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tvm

from fuzzer.cli.main import main
from fuzzer.cli.verbs.minimize import _print
from fuzzer.core.case import Case, read_case
from fuzzer.minimizer.judge.criterion import Confirmation
from fuzzer.minimizer.judge.predicate import PredicateCriterion
from fuzzer.minimizer.search.outcome import Minimized
from fuzzer.repro.pieces.frame import load
from fuzzer.triage.reduce import Reduced, script_request

MODULE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(a)
            c = R.matmul(b, w)
            d = R.abs(c)
            e = R.sum(d)
            f = R.negative(e)
            R.output(f)
        return f
"""

PASSES = '''
import os
import time
import tvm
from pathlib import Path
from tvm import relax

COUNTER = Path(__file__).with_suffix(".count")


def text_of(module):
    return module.script()


def make(name, run):
    return tvm.transform.module_pass(lambda module, context: run(module), opt_level=0, name=name)


def two_bugs():
    """Fails on a product with a sum, and otherwise on a product alone."""

    def run(module):
        text = text_of(module)
        if "R.matmul" in text and "R.sum" in text:
            raise RuntimeError("the sum of a product is not supported")
        if "R.matmul" in text:
            raise ValueError("the product stands alone")
        return module

    return make("two_bugs", run)


def identity():
    return make("identity", lambda module: module)


def sometimes():
    """Fails on a product in two processes of three."""
    count = int(COUNTER.read_text()) if COUNTER.exists() else 0
    COUNTER.write_text(str(count + 1))

    def run(module):
        if "R.matmul" in text_of(module) and count % 3:
            raise RuntimeError("only sometimes")
        return module

    return make("sometimes", run)


def slow():
    """Fails on a product, after a while."""

    def run(module):
        time.sleep(0.5)
        if "R.matmul" in text_of(module):
            raise RuntimeError("a product")
        return module

    return make("slow", run)


def has_sum(module):
    return "R.sum" in text_of(module)


def still_sums_after(module, pipeline):
    return "R.sum" in text_of(pipeline(module))


def raises(module):
    raise KeyError("two\\nlines")


def ends(module):
    os._exit(4)


def gives_text(module):
    return "yes"
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODULE)
    (tmp_path / "mine.py").write_text(PASSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def minimize(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["minimize", "--module", "model.py", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_of_two_bugs_the_one_asked_for_is_kept_and_the_other_is_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = minimize(
        capsys, "--pass", "CanonicalizeBindings,mine.py:two_bugs,DeadCodeElimination", "--oracle", "crash",
        "--others", "others", "--save", "best.json", "--workers", "2",
    )  # fmt: skip
    assert "the sum of a product is not supported" in found["signature"]
    assert found["culprit"] == "two_bugs"
    assert (found["bindings_before"], found["bindings"], found["complete"]) == (6, 2, True)
    assert [item.rpartition(":")[2] for item in found["passes"]] == ["two_bugs"]
    assert "R.matmul" in found["module"]
    assert "R.sum" in found["module"]
    (other,) = found["others"]
    assert "the product stands alone" in other["signature"]
    # The other one is a case of its own, which needs no further word to be minimized.
    assert main(["minimize", "--module", f"others/{other['id']}.json", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert (second["signature_id"], second["bindings"], second["others"]) == (other["id"], 1, [])
    # What was saved is where the search has ended, and a second run from there changes nothing.
    saved = read_case(folder / "best.json")
    assert saved is not None
    assert saved.id == found["signature_id"]
    again = minimize(
        capsys, "--pass", "mine.py:two_bugs", "--oracle", "crash", "--save", "best.json", "--resume", "--workers", "1"
    )
    assert (again["bindings_before"], again["module"], again["steps"]) == (6, found["module"], [])
    assert read_case(folder / "best.json") == saved


def test_a_predicate_alone_and_with_passes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = minimize(capsys, "--predicate", "mine.py:has_sum", "--queries", "500")
    assert alone["bindings"] == 1
    assert "R.sum" in alone["module"]
    assert alone["passes"] == []
    piped = minimize(
        capsys, "--predicate", "mine.py:still_sums_after", "--pass", "DeadCodeElimination", "--pass", "FoldConstant"
    )
    assert piped["bindings"] == 1
    assert len(piped["passes"]) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--predicate", "mine.py:raises"), "mine.py:raises' raised KeyError: 'two\\nlines'"),
        (("--predicate", "mine.py:ends"), "mine.py:ends' ended the process: exit 4"),
        (("--predicate", "mine.py:gives_text"), "mine.py:gives_text' returned a str, not True or False"),
        (("--predicate", "mine.py:missing"), "has no 'missing'"),
        (("--pass", "mine.py:identity", "--oracle", "crash"), "the crash oracle reports no failure"),
        (
            ("--pass", "mine.py:two_bugs", "--oracle", "crash", "--signature", "ffff"),
            "reports no failure 'ffff' (it reports",
        ),
        (("--pass", "mine.py:two_bugs", "--oracle", "crash", "--save", "no/best.json"), "cannot write 'no/best.json'"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, tuple) else None,
)
def test_what_cannot_be_minimized_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    assert main(["minimize", "--module", "model.py", *arguments]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_a_flaky_failure_is_minimized_with_its_rate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = None
    for _ in range(3):  # which processes show it is a matter of counting
        code = main(["minimize", "--module", "model.py", "--pass", "mine.py:sometimes", "--oracle", "crash", "--json"])
        printed = capsys.readouterr()
        if code == 0:
            found = json.loads(printed.out)
            break
        assert "reports no failure" in printed.err
    assert found is not None
    assert found["flaky"]
    assert found["rate"] == "2 of 3 runs"
    assert found["bindings"] == 1
    assert any("flaky: it was reproduced in 2 of 3 runs" in note for note in found["notes"])


@pytest.mark.slow
def test_an_interrupt_gives_the_best_so_far_which_can_be_gone_on_with(folder: Path) -> None:
    program = Path(sys.executable).parent / "relaxfuzz"
    command = [str(program), "minimize", "--module", "model.py", "--pass", "mine.py:slow", "--oracle", "crash"]
    command += ["--save", "best.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        sizes: set[int] = set()
        while len(sizes) < 2 and process.poll() is None:  # the given case, and a smaller one
            time.sleep(0.1)
            sizes |= {(folder / "best.json").stat().st_size} if (folder / "best.json").exists() else set()
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "R.matmul" in out
    assert "; interrupted: " in said
    assert "Traceback" not in said
    done = subprocess.run([*command, "--resume", "--json"], capture_output=True, text=True, timeout=300, check=True)
    assert json.loads(done.stdout)["bindings"] == 1


@pytest.mark.parametrize("terminal", [False, True])
def test_a_long_module_is_cut_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    text, case = "\n".join(map(str, range(100))), Case("{}", (), 0)
    criterion = PredicateCriterion("mine.py:all")
    found = Reduced(criterion, Minimized(case, True), 9, 9, text, Confirmation(1, 1), Confirmation(1, 1))
    for kept, said in ((Path("a.py"), "all of it is in a.py"), (None, "--repro FILE writes all of it")):
        _print(found, kept, as_json=False, begun=False)
        printed = capsys.readouterr()
        assert len(printed.out.splitlines()) == (60 if terminal else 100)
        assert (f"40 more lines of the module are not shown: {said}" in printed.err) is terminal


def test_no_line_of_a_module_is_cut_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    text, case, once = "\n".join(map(str, range(61))), Case("{}", (), 0), Confirmation(1, 1)
    _print(
        Reduced(PredicateCriterion("a.py:b"), Minimized(case, True), 9, 9, text, once, once),
        None,
        as_json=False,
        begun=False,
    )
    assert len(capsys.readouterr().out.splitlines()) == 61


def test_a_module_is_printed_with_its_constants_where_they_stand() -> None:
    text = 'class Module:\n    @R.function\n    def main() -> R.Tensor((2,), "float32"):\n'
    module = load(f'@I.ir_module\n{text}        return R.const([1.0, 2.0], "float32")\n')
    assert "metadata" not in script_request(str(tvm.ir.save_json(module)))
