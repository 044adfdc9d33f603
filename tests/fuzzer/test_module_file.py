from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from unmerged import UNMERGED

from fuzzer.core.module_file import ModuleFileError, read_module
from fuzzer.repro.run import check_repro
from fuzzer.triage.reduce import case_of_file, failures, reduce_case
from fuzzer.triage.script import repro_script, write_repro
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

MERGE = (PassRef("MergeCompositeFunctions", "relax.transform.MergeCompositeFunctions()"),)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_tvmscript_json_and_python_give_the_same_module(tmp_path: Path) -> None:
    script = read_module(str(write(tmp_path, "script.py", UNMERGED)))
    module = tvm.ir.load_json(script)
    json = read_module(str(write(tmp_path, "module.json", script)))
    python = UNMERGED.replace("class Module", "class Mine") + "\nNUMBER = [1, 2][0]\n"
    imported = read_module(str(write(tmp_path, "python.py", python)))
    for text in (json, imported):
        tvm.ir.assert_structural_equal(tvm.ir.load_json(text), module)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("empty.py", "", "no modules"),
        ("broken.py", "def (:", "SyntaxError"),
        ("broken.json", '{"nodes": 3}', "not TVM's JSON"),
        ("absent.py", None, "cannot be read"),
    ],
)
def test_a_file_without_a_module_is_one_line(name: str, text: str | None, says: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(ModuleFileError, match=says) as caught:
        read_module(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_may_define_dataclasses(tmp_path: Path) -> None:
    """Scripts of ours do: they look for their module while they are made."""
    told = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass Told:\n    x: int\n"
    )
    plain = write(tmp_path, "plain.py", UNMERGED)
    both = write(tmp_path, "both.py", f"{told}{UNMERGED}")
    left, right = tvm.ir.load_json(read_module(str(both))), tvm.ir.load_json(read_module(str(plain)))
    tvm.ir.assert_structural_equal(left, right)


def test_a_module_of_the_users_is_minimized_and_scripted(tmp_path: Path) -> None:
    case = case_of_file(write(tmp_path, "mine.py", UNMERGED), MERGE)
    (verdict,) = failures(case, OracleName.CRASH)
    reduced = reduce_case(case, verdict)
    assert reduced is not None
    assert (reduced.bindings_before, reduced.bindings) == (3, 1)
    assert "class Module" in reduced.script
    write_repro(repro_script(reduced.minimized.case, reduced.verdict).text, tmp_path / "out" / "r.py")
    result = check_repro(tmp_path / "out" / "r.py")
    assert result.confirmed


def test_a_module_that_cannot_be_read_in_isolation_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "kills.py", "import os\nos._exit(5)\n")
    with pytest.raises(ModuleFileError, match="ended the process"):
        case_of_file(path, MERGE)
