"""``relaxfuzz corpus`` from the command line, and cases made of a campaign's findings."""

import json
from pathlib import Path

import pytest
import tvm
import tvm_ffi

from corpus.case import load, load_module
from corpus.check import check_cases
from corpus.findings import make_slug
from fuzzer.cli.main import main
from fuzzer.core.case import Case
from fuzzer.findings.signature import signature
from fuzzer.store.records import ShardResult, SignatureHits
from fuzzer.store.writer import Store
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

FUSE = PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()")
LEAVING = """
import os
import tvm

Leaving = lambda: tvm.transform.module_pass(lambda module, context: os._exit(3), opt_level=0, name="Leaving")
"""


def failure(ref: PassRef, oracle: str) -> Verdict:
    return Verdict(OracleName(oracle), Outcome.FAIL, ref.name, evidence=Evidence("k", "m"))


META = dict.fromkeys(("budget", "tvm_version", "ffi_version"), "") | {"seed": "7", "workers": "1"}
META |= {"passes": "[]", "oracles": "[]"}


def campaign(tmp_path: Path, slug: str, ref: PassRef, oracle: str) -> Path:
    """A campaign with one finding, whose module is that of a case."""
    (known,) = load([slug])
    case = Case(str(tvm.ir.save_json(load_module(known))), (ref,), 5)
    verdict = failure(ref, oracle)
    result = ShardResult(0, examples=1, modules=1)
    result.hits = {signature(verdict).id: SignatureHits.of(signature(verdict), verdict, case, 0, 1)}
    with Store.create(tmp_path / "campaign", META) as store:
        store.record_shard(result, 5.0)
    return tmp_path / "campaign"


def add(directory: Path, root: Path, *more: str, identifier: str = "") -> int:
    if not identifier:
        with Store.open(directory) as store:
            identifier = store.findings()[0].id[:6]
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
    assert list(case.expected.values()) == [Outcome.FAIL]
    assert "InternalError" in case.pattern
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
    assert case.pattern.startswith("exit\\ 3")
    assert all(result.ok for result in check_cases([case]))


def test_nothing_is_left_of_a_case_that_judges_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "cases"
    # The pass raises, so idempotence has nothing to compare.
    assert add(campaign(tmp_path, "merge-composite-if", FUSE, "idempotence"), root) == 2
    assert "idempotence gives no verdict: skip" in capsys.readouterr().err
    assert list(root.iterdir()) == []


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory, root = campaign(tmp_path, "merge-composite-if", FUSE, "crash"), tmp_path / "cases"
    assert add(tmp_path, root, identifier="fff") == 2
    assert add(directory, root, identifier="zzz") == 2
    assert add(directory, root, "--slug", "Not a slug") == 2
    (root / "taken").mkdir(parents=True)
    assert add(directory, root, "--slug", "taken") == 2
    assert main(["corpus", "check", "merge-composite-iff"]) == 2
    assert main(["corpus"]) == 2
    lines = capsys.readouterr().err.splitlines()
    complaints = (
        "contains no campaign",
        "has an id that begins with 'zzz'",
        "is not a name for a case",
        "already has a case 'taken'",
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
    assert [line.split()[0] for line in lines[2:] if line[0] != " "] == [case.slug for case in load()]
    (at,) = [at for at, line in enumerate(lines) if line.startswith("lift-transform-params-twice ")]
    assert "(replica: fail)" in " ".join(" ".join(lines[at : at + 2]).split())
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


def test_slugs() -> None:
    assert make_slug("VMShapeLower", "Segfault on a weight") == "vm-shape-lower-segfault-on-a-weight"
    assert make_slug("build:default", "x" * 99).startswith("build-default-x")
    assert len(make_slug("A", "word " * 50)) <= 60
