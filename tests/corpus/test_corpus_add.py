"""``relaxfuzz corpus`` from the command line, and cases made of a campaign's findings."""

import json
import sqlite3
from pathlib import Path

import pytest
import tvm
import tvm_ffi

from corpus import check_cases, load, load_module
from corpus.add import make_slug
from corpus.campaign import FORMAT
from corpus.verb import VERB
from fuzzer import store
from fuzzer.cli import main
from oracles.passref import PassRef
from oracles.verdict import Outcome

FUSE = PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
LEAVING = """
import os
import tvm

Leaving = lambda: tvm.transform.module_pass(lambda module, context: os._exit(3), opt_level=0, name="Leaving")
"""


def campaign(tmp_path: Path, slug: str, ref: PassRef, oracle: str, identifier: str = "abc0000001") -> Path:
    """A campaign's file with one finding, whose module is that of a case; in the layout that the fuzzer writes."""
    (case,) = load([slug])
    text = json.dumps(
        {
            "module_json": str(tvm.ir.save_json(load_module(case))),
            "passes": [{"name": ref.name, "expression": ref.expression}],
            "input_seed": 5,
        }
    )
    directory = tmp_path / "campaign"
    directory.mkdir()
    with sqlite3.connect(directory / "campaign.sqlite") as db:
        schema = Path(__file__).parents[2] / "fuzzer" / "schema.sql"
        db.executescript(schema.read_text())
        db.execute("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))
        db.execute(
            "INSERT INTO findings (id, signature, oracle, culprit, kind, message, frames, expected, observed, count, "
            "state, first_seen, last_seen, shard, number, case_json) VALUES "
            "(?, 's', ?, ?, 'k', 'm', '[]', '', '', 1, 'new', 0, 0, 0, 0, ?)",
            (identifier, oracle, ref.name, text),
        )
    db.close()
    return directory


def add(directory: Path, root: Path, *more: str, identifier: str = "abc") -> int:
    command = ["corpus", "add", str(directory), identifier, "--title", "A title", "--explanation", "Why."]
    return main([*command, "--root", str(root), *more])


def test_a_finding_becomes_a_case_that_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "cases"
    directory = campaign(tmp_path, "merge-composite-if", FUSE, "crash")
    assert add(directory, tmp_path / "other", "--slug", "new-case", "--json") == 0
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["slug"], said["outcome"], said["ok"]) == ("new-case", "fail", True)
    assert add(directory, root, "--upstream", "apache/tvm#1", "--slug", "new-case") == 0
    assert "Do not have a default for relax.expr.If" in capsys.readouterr().out
    (case,) = load(root=root)
    assert (case.slug, case.title, case.upstream, case.input_seed) == ("new-case", "A title", "apache/tvm#1", 5)
    (expectation,) = case.expected.values()
    assert expectation.outcome is Outcome.FAIL
    assert "InternalError" in expectation.pattern
    assert not case.isolated
    (original,) = load(["merge-composite-if"])
    assert (root / "new-case" / "module.py").is_file()
    assert tvm_ffi.structural_equal(load_module(case), load_module(original))
    assert all(result.ok for result in check_cases([case]))


def test_a_case_that_kills_its_process(tmp_path: Path) -> None:
    root = tmp_path / "cases"
    ref = PassRef("VMShapeLower", "relax.transform.VMShapeLower()")
    assert add(campaign(tmp_path, "shape-lower-weight-rank-only", ref, "crash"), root) == 0
    (case,) = load(root=root)
    assert case.isolated
    assert all(result.ok for result in check_cases([case]))


def test_a_case_that_ends_its_process_by_an_exit_code(tmp_path: Path) -> None:
    root, passes = tmp_path / "cases", tmp_path / "leaving.py"
    passes.write_text(LEAVING)
    ref = PassRef("Leaving", f"user:{passes}:Leaving")
    assert add(campaign(tmp_path, "merge-composite-if", ref, "crash"), root) == 0
    (case,) = load(root=root)
    assert case.isolated
    assert next(iter(case.expected.values())).pattern.startswith("exit\\ 3")
    assert all(result.ok for result in check_cases([case]))


def test_nothing_is_left_of_a_case_that_judges_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "cases"
    # The pass raises, so idempotence has nothing to compare.
    assert add(campaign(tmp_path, "merge-composite-if", FUSE, "idempotence"), root) == 2
    assert "idempotence says nothing of it: skip" in capsys.readouterr().err
    assert list(root.iterdir()) == []


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory, root = campaign(tmp_path, "merge-composite-if", FUSE, "crash"), tmp_path / "cases"
    assert add(tmp_path, root) == 2
    assert add(directory, root, identifier="fff") == 2
    assert add(directory, root, "--slug", "Not a slug") == 2
    (root / "taken").mkdir(parents=True)
    assert add(directory, root, "--slug", "taken") == 2
    assert main(["corpus", "check", "merge-composite-iff"]) == 2
    assert main(["corpus"]) == 2
    lines = capsys.readouterr().err.splitlines()
    complaints = (
        "holds no campaign",
        "no finding begins with 'fff'",
        "is no name for a case",
        "has a case 'taken' already",
        "did you mean merge-composite-if",
        "required: list|check|match|add",
    )
    assert len(lines) == len(complaints)
    for line, complaint in zip(lines, complaints, strict=True):
        assert line.startswith("relaxfuzz: error: ")
        assert complaint in line


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(load()) + 2
    assert any("lift-transform-params-twice" in line and "(replica: fail)" in line for line in lines)
    assert main(["corpus", "list", "--json", "merge-composite-if"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["passes"][0]["name"] == "MergeCompositeFunctions"


def test_check_exits_1_when_a_case_is_not_as_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "cases"
    assert add(campaign(tmp_path, "merge-composite-if", FUSE, "crash"), root, "--slug", "c") == 0
    toml = root / "c" / "case.toml"
    assert main(["corpus", "check", "--root", str(root)]) == 0
    toml.write_text(toml.read_text().replace('"fail"', '"pass"'))
    assert main(["corpus", "check", "--root", str(root)]) == 1
    assert "WRONG  c: expected pass of crash" in capsys.readouterr().out


def test_the_verb_has_what_the_command_line_reads() -> None:
    from fuzzer.verb import Verb

    assert set(Verb.__slots__) <= set(type(VERB).__slots__)


def test_slugs() -> None:
    assert make_slug("VMShapeLower", "Segfault on a weight") == "vm-shape-lower-segfault-on-a-weight"
    assert make_slug("build:default", "x" * 99).startswith("build-default-x")
    assert len(make_slug("A", "word " * 50)) <= 60


def test_the_corpus_reads_the_format_that_the_store_writes() -> None:
    assert FORMAT == store.FORMAT
