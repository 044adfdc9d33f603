"""A script brings the names along that an older release lacks, and needs nothing of ours to give them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fuzzer.repro.older_releases import names_for_older

USES = """
def check(module):
    types = (relax.TensorType, tvm.ir.GenericConst)
    return relax.const(1.0, "float32").value.numpy(), types, relax.Function([], module, ret_ty=None), tvm.sym
"""


def run(tmp_path: Path, text: str) -> str:
    path = tmp_path / "script.py"
    path.write_text(text)
    done = subprocess.run([sys.executable, "-I", str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_names_are_given_without_our_packages(tmp_path: Path) -> None:
    names = names_for_older(USES)
    said = run(
        tmp_path,
        "from __future__ import annotations\n"
        + "\n".join([*names.standard, "import tvm", "from tvm import relax", names.text])
        + "\nprint(relax.const(1.0, 'float32').value.numpy(), isinstance(tvm.sym.Analyzer(), tvm.sym.Analyzer),"
        "\n      'releases' in sys.modules, relax.TensorType([2], 'float32').ndim)\n",
    )
    assert said.split() == ["1.0", "True", "False", "1"]


def test_only_rows_that_the_script_mentions_are_brought() -> None:
    text = names_for_older(USES).text
    assert '_alias(Alias("tvm.relax.TensorType", "tvm.relax.TensorStructInfo", "0.26", rebinds=True))' in text
    assert '_attribute(Attribute("tvm.relax.Constant", "value", "data", "0.27"))' in text
    assert '_keyword(Keyword("tvm.relax.Function", "ret_ty", "ret_struct_info", "0.26"))' in text
    assert "SBlock" not in text
    assert "ShapeStructInfo" not in text
    assert "adopt_scalars" not in text
    assert "adopt_scalars()" in names_for_older("isinstance(ty, tvm.ir.PrimType)").text
    assert "adopt_walks" not in text
    assert "adopt_walks()" in names_for_older("tvm_ffi.structural_walk(kernel.body, [])").text
    assert "adopt_remaps()" in names_for_older("self.set_var_remap(old, new)").text


def test_a_script_that_needs_no_names_is_not_burdened() -> None:
    found = names_for_older("passes = [relax.transform.FuseOps()]\nMODULE = 'R.add(x, x)'")
    assert (found.text, found.standard, found.tvm) == ("", (), ())


def test_the_keyword_of_a_type_that_is_said_in_the_module_is_translated_both_ways(tmp_path: Path) -> None:
    for module, has in (("f(ty_args=1)", True), ("f(sinfo_args=1)", False)):
        script = f"MODULE = {module!r}"
        found = names_for_older(script)
        relax = f"class relax:\n    {'StructInfo = 1' if has else 'pass'}\n"
        other = "sinfo_args" if has else "ty_args"
        assert run(tmp_path, f"{relax}{script}\n{found.text}\nprint(MODULE)\n").strip() == f"f({other}=1)"
        here = "class relax:\n    pass\n" if has else "class relax:\n    StructInfo = 1\n"
        assert run(tmp_path, f"{here}{script}\n{found.text}\nprint(MODULE)\n").strip() == module
