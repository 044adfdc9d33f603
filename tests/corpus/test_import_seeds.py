"""``relaxfuzz corpus import``: TVMScript read out of Python files that are never run."""

from __future__ import annotations

import io
import json
import textwrap
from pathlib import Path

import pytest

from corpus.seed_import.extract import FoundScript, UnreadableFile, candidates_of, python_files
from corpus.seed_import.run import ImportReport, import_seeds, save
from corpus.seed_import.spellings import renamed
from fuzzer.cli.main import main
from fuzzer.core.terminal import rendered
from strategies.seeds.file import SeedStage, read

SAMPLE = Path(__file__).parent / "scripts" / "sample_modules.py"


@pytest.fixture(scope="module")
def report() -> ImportReport:
    return import_seeds(SAMPLE)


def candidates(tmp_path: Path, text: str) -> list[FoundScript]:
    path = tmp_path / "scripts.py"
    path.write_text(textwrap.dedent(text))
    return candidates_of(path, "scripts.py")


def test_scripts_are_found_wherever_they_stand() -> None:
    found = candidates_of(SAMPLE, "sample_modules.py")
    assert [each.name for each in found] == [
        "AtModuleLevel",
        "on_its_own",
        "test_with_parameters.Parametrized",
        "TestPair.Before",
        "TestPair.Expected",
        "test_older_spelling.Older",
        "test_constant.with_constant",
        "test_same_again.Duplicate",
        "test_unknown_name.NeedsMore",
        "test_ill_formed.IllFormed",
        "test_kernel_alone.KernelAlone",
        "test_index.Indexed",
        "test_lowered.Lowered",
    ]
    lines = SAMPLE.read_text().splitlines()
    assert all(each.name.rpartition(".")[2] in lines[each.line - 1] for each in found)


def test_what_exhausts_the_parser_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        candidates(tmp_path, f"x = {'-' * 200_000}1\n")


def test_only_what_a_script_needs_goes_with_it(tmp_path: Path) -> None:
    text = """
        import os
        from tvm.script import relax as R, ir as I
        SIZE = 4
        OTHER = 5
        GIVEN = os.getpid()

        @R.function
        def main(x: R.Tensor((SIZE,), "float32")):
            y = R.add(x, R.const(GIVEN, "float32"))
            return y
    """
    (found,) = candidates(tmp_path, text)
    assert found.preamble == ("from tvm.script import relax as R", "SIZE = 4")


def test_values_of_parametrized_tests_are_the_first(tmp_path: Path) -> None:
    text = """
        @pytest.mark.parametrize("dtype", ["float16", "float32"])
        @pytest.mark.parametrize("a, b", [(1, 2), (3, 4)])
        def test(a, b, dtype, c=7):
            @R.function
            def main(x: R.Tensor((a, b, c), dtype)):
                return x
    """
    (found,) = candidates(tmp_path, text)
    assert set(found.preamble) == {"a = 1", "b = 2", "c = 7", "dtype = 'float16'"}


def test_calls_of_unknown_functions_are_not_evaluated(tmp_path: Path) -> None:
    text = """
        import numpy as np
        import tvm
        a = tvm.runtime.load_module("x")
        b = np.random.rand(3)
        c = (lambda: 1)()
        d = np.load("file")
        e = np.zeros(3)

        @R.function
        def main(x: R.Tensor((a, b, c, d, e), "float32")):
            return x
    """
    (found,) = candidates(tmp_path, text)
    assert found.preamble == ("import numpy as np", "e = np.zeros(3)")


def test_the_last_definition_before_a_script_counts(tmp_path: Path) -> None:
    text = """
        n = 1
        def test():
            n = 2
            n = 3
            @R.function
            def main(x: R.Tensor((n,), "float32")):
                return x
            n = 4
    """
    (found,) = candidates(tmp_path, text)
    assert found.preamble == ("n = 2", "n = 3")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from tvm.script import tir as T", "from tvm.script import tirx as T"),
        ("from tvm import tir", "from tvm import tirx as tir"),
        ("from tvm.tir import Var", "from tvm.tirx import Var"),
        ("x = tvm.tir.Var('n', 'int64')", "x = tvm.tirx.Var('n', 'int64')"),
        ("R.call_tir(f, (x,), out_sinfo=s)", "R.call_tir(f, (x,), out_ty=s)"),
        ("R.call_packed('f', x, sinfo_args=s)", "R.call_packed('f', x, ty_args=s)"),
        ("T.block('b')", "T.sblock('b')"),
        ("T.alloc_buffer((4,))", "T.sblock_alloc_buffer((4,))"),
        ("other.block('b')", "other.block('b')"),
        ("T.Buffer[(16, 16), 'float32']", "T.Buffer((16, 16), 'float32')"),
        ("relax.TensorStructInfo((2,))", "relax.TensorType((2,))"),
        ("x.struct_info", "x.ty"),
        ("R.add(x, y)", "R.add(x, y)"),
    ],
)
def test_older_names_are_renamed(old: str, new: str) -> None:
    assert renamed(old) == new


def test_kernels_of_blocks_say_so_in_their_decorator() -> None:
    text = "@T.prim_func\ndef f():\n    T.evaluate(0)"
    assert renamed(text).startswith("@T.prim_func(s_tir=True)")
    already = "@T.prim_func(s_tir=True)\ndef f():\n    T.evaluate(0)"
    assert renamed(already) == already


def test_what_becomes_of_each_script(report: ImportReport) -> None:
    assert (report.files, report.candidates, report.parsed, report.renamed) == (1, 13, 12, 1)
    assert (report.well_formed, report.duplicates) == (11, 1)
    found = {seed.name: seed for seed in report.seeds}
    assert sorted(found) == [
        "AtModuleLevel",
        "TestPair.Before",
        "TestPair.Expected",
        "on_its_own",
        "test_constant.with_constant",
        "test_index.Indexed",
        "test_lowered.Lowered",
        "test_older_spelling.Older",
        "test_with_parameters.Parametrized",
    ]
    assert dict(report.reasons) == {
        "a name of the file that is not a constant: MADE": 1,
        "ill-formed: Relax": 1,
        "no Relax function": 1,
    }
    assert found["test_older_spelling.Older"].stage is SeedStage.LEGALIZED
    assert found["test_lowered.Lowered"].stage is SeedStage.LOWERED
    assert found["AtModuleLevel"].spliceable == ("main",)
    assert found["test_index.Indexed"].unargued == ("divided", "main")
    (parameters,) = [each.parameters for each in found["test_with_parameters.Parametrized"].functions]
    assert parameters == ('R.Tensor((6, 3), dtype="float32")',)


def test_the_table_shows_counts_stages_and_reasons(report: ImportReport) -> None:
    text = rendered(*report.tables(), stream=io.StringIO())
    for line in ("scripts found", "kept", "legalized", "ill-formed: Relax", "not kept because"):
        assert line in text


def test_a_collection_does_not_depend_on_the_day(tmp_path: Path, report: ImportReport) -> None:
    assert save(report, tmp_path / "a") == save(import_seeds(SAMPLE), tmp_path / "b")


def test_the_command_line_writes_a_collection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "checkout" / "tests" / "python" / "relax"
    source.mkdir(parents=True)
    (source / "test_sample.py").write_text(SAMPLE.read_text())
    (source / "test_broken.py").write_text("def :\n")
    (source / "test_binary.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "checkout" / "elsewhere.py").write_text(SAMPLE.read_text())
    assert main(["corpus", "import", str(tmp_path / "checkout"), "--out", str(tmp_path / "seeds")]) == 0
    shown = capsys.readouterr().out
    seeds, digest, _ = read(tmp_path / "seeds")
    assert f"9 seeds in {tmp_path / 'seeds'} (content {digest})" in shown
    assert {seed.file for seed in seeds} == {"tests/python/relax/test_sample.py"}
    assert "files unreadable" in shown
    assert "test_broken.py" in shown
    assert "test_binary.py" in shown
    assert main(["corpus", "import", str(tmp_path / "checkout"), "--out", str(tmp_path / "again"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["kept"], said["content"], len(said["unreadable"])) == (9, digest, 2)


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        (None, "does not exist"),
        ({}, "no Python file"),
        ({"a.py": "x = 1\n"}, "no TVMScript module"),
        ({"a.py": "def :\n"}, "1 unreadable"),
        (
            {"a.py": "from tvm.script import relax as R\n@R.function\ndef f(x: R.No):\n    return x\n"},
            "none of 1 scripts",
        ),
    ],
)
def test_nothing_to_import_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str] | None, complaint: str
) -> None:
    place = tmp_path / "source"
    if files is not None:
        place.mkdir()
        for name, text in files.items():
            (place / name).write_text(text)
    assert main(["corpus", "import", str(place), "--out", str(tmp_path / "seeds")]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert complaint in errors[0]
    assert not (tmp_path / "seeds").exists()


def test_a_script_that_kills_its_process_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    from corpus.seed_import import run as importing

    monkeypatch.setattr(importing, "parse_all", _dying)
    found = importing.import_seeds(SAMPLE)
    assert found.reasons["the process died: exit 3"] == 1
    assert len(found.seeds) == 8


def _dying(candidates: list[FoundScript]) -> object:
    """Runs in the worker: ends the process at one candidate."""
    import os

    from corpus.seed_import.parse import parse_one

    for candidate in candidates:
        if candidate.name == "TestPair.Before":
            os._exit(3)
        yield parse_one(candidate)


def test_files_are_those_of_the_relax_tests(tmp_path: Path) -> None:
    inner = tmp_path / "tests" / "python" / "relax" / "deep"
    inner.mkdir(parents=True)
    for place in (tmp_path / "setup.py", inner / "test_a.py", inner / "notes.txt"):
        place.write_text("")
    assert python_files(tmp_path) == [inner / "test_a.py"]
    assert python_files(inner / "test_a.py") == [inner / "test_a.py"]


def test_no_text_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnreadableFile):
        candidates_of(path, "a.py")
