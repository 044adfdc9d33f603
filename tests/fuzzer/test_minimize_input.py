"""What ``relaxfuzz minimize`` takes, and what it says of what it cannot take."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fuzzer.cli.main import main
from fuzzer.cli.minimize_input import predicate_target, split_passes
from fuzzer.core.case import Case, CaseFile, CaseFileError, read_case, write_case
from fuzzer.core.config import ConfigError
from relaxkit.passes.pass_ref import PassRef

CASE = Case('{"a": 1}', (PassRef("P", "relax.transform.P()"), PassRef("Q", "relax.transform.Q(1, 2)")), 7)
SAVED = CaseFile(CASE, "crash", "0123456789", "crash: P: Error: it fails")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FuseOps", ["FuseOps"]),
        ("FuseOps,FuseTIR", ["FuseOps", "FuseTIR"]),
        (" A , B,", ["A", "B"]),
        ("relax.transform.FuseOps(1, 2),FuseTIR", ["relax.transform.FuseOps(1, 2)", "FuseTIR"]),
        ("f({'a,(': [1, 2]}, g(3, 4)),mine.py:make", ["f({'a,(': [1, 2]}, g(3, 4))", "mine.py:make"]),
        ('f("it\'s, so"),B', ['f("it\'s, so")', "B"]),
    ],
)
def test_commas_part_passes_but_not_arguments(text: str, expected: list[str]) -> None:
    assert split_passes(text) == expected


def test_no_pass_is_no_pipeline() -> None:
    with pytest.raises(ConfigError, match="no pass is named"):
        split_passes(" , ")


def test_a_case_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    write_case(path, SAVED)
    assert read_case(path) == SAVED
    assert [entry.name for entry in tmp_path.iterdir()] == ["case.json"]


def test_another_file_is_no_case(tmp_path: Path) -> None:
    path = tmp_path / "module.json"
    path.write_text('{"root": 3}')
    assert read_case(path) is None


def test_a_damaged_case_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    write_case(path, SAVED)
    path.write_text(path.read_text().replace('"passes"', '"pass"'))
    with pytest.raises(CaseFileError, match="is damaged: not a case: Object missing required field `passes`") as caught:
        read_case(path)
    assert "\n" not in str(caught.value)


def test_a_predicate_is_a_file_or_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()
    assert predicate_target("mine.py:holds") == f"{tmp_path / 'mine.py'}:holds"
    assert predicate_target("package.module:holds") == "package.module:holds"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--module", "case.json", "--predicate", "nonsense"), "--predicate 'nonsense' is not FILE.py:FUNCTION"),
        (("--module", "case.json", "--predicate", "no.py:f"), "'no.py' is not a file"),
        (("--module", "case.json", "--predicate", "a.b:f", "--oracle", "crash"), "--oracle or --predicate, not both"),
        (("--module", "case.json", "--predicate", "a.b:f", "--repro", "r.py"), "they do not work with --predicate"),
        (("--module", "case.json", "--oracle", "crash", "--pass", "A(1, 2"), "--pass 'A(1, 2'"),
        (("--module", "case.json", "--resume"), "--resume needs --save FILE"),
        (("--module", "case.json", "--oracle", "crash,mutation"), "--oracle takes one oracle, not 2"),
        (("--module", "case.json", "--queries", "0"), "--queries 0 is not between 1 and"),
        (("--module", "case.json", "--workers", "none"), "--workers 'none' is not a whole number"),
        (("--module", "case.json", "--case-timeout", "soon"), "'soon' is not a time"),
        (("--module", "plain.json"), "--module needs --pass and --oracle"),
        (("nowhere", "12", "--oracle", "crash"), "--oracle needs --module"),
        (("nowhere", "12", "--predicate", "a.b:f"), "--predicate needs --module"),
        (("nowhere", "12", "--input-seed", "0"), "--input-seed needs --module"),
    ],
    ids=lambda value: " ".join(value)[-50:] if isinstance(value, tuple) else None,
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_case(tmp_path / "case.json", replace(SAVED, case=Case(json.dumps({}), (), 0)))
    (tmp_path / "plain.json").write_text("{}")
    assert main(["minimize", *arguments]) == 2
    printed = capsys.readouterr()
    assert expected in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
