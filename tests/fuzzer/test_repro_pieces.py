"""What scripts are made of: definitions out of several files, which become one file."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from fuzzer.repro import older_releases as repro_older
from fuzzer.repro.bundle import select
from fuzzer.repro.checks.documented import DOCUMENTED_PIECES
from fuzzer.repro.checks.environment import ENVIRONMENT_PIECES
from fuzzer.repro.checks.locality import LOCALITY_PIECES
from fuzzer.repro.checks.numeric import NUMERIC_PIECES
from fuzzer.repro.checks.roundtrip import ROUNDTRIP_PIECES
from fuzzer.repro.checks.runs import RUN_PIECES
from fuzzer.repro.checks.well_formed import WELL_FORMED_PIECES
from fuzzer.repro.table import EXTERNAL_PIECES, PIECES

ROOT = Path(__file__).resolve().parents[2]
TOGETHER = {
    "runs": RUN_PIECES,
    "well-formed": WELL_FORMED_PIECES,
    "postcondition": ("fuzzer/repro/checks/postcondition.py",),
    "roundtrip": ROUNDTRIP_PIECES,
    "environment": ENVIRONMENT_PIECES,
    "locality": LOCALITY_PIECES,
    "numbers": DOCUMENTED_PIECES,
}


@pytest.mark.parametrize("kind", TOGETHER)
def test_no_two_files_of_a_script_define_one_name(kind: str) -> None:
    """The later one would take the place of the earlier one, silently."""
    files = dict.fromkeys((*PIECES, *TOGETHER[kind], *EXTERNAL_PIECES, *repro_older._PIECES))
    defined: defaultdict[str, set[str]] = defaultdict(set)
    for file in files:
        for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined[node.name].add(file)
            elif file != "relaxkit/compat/tables.py" and isinstance(
                node, ast.Assign | ast.AnnAssign
            ):  # its rows alone are taken
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    defined[ast.unparse(target)].add(file)
    assert {name: sorted(places) for name, places in defined.items() if len(places) > 1} == {}


@pytest.mark.parametrize("kind", {**TOGETHER, "numeric": NUMERIC_PIECES})
def test_a_script_names_nothing_that_it_does_not_have(kind: str) -> None:
    """Of what comes out of the oracles' files, too: a program that raised ended scripts with a NameError."""
    files = tuple(dict.fromkeys((*PIECES, *{**TOGETHER, "numeric": NUMERIC_PIECES}[kind])))
    called = {name for file in files if "pieces/" in file for name in _functions(ROOT / file)}
    called |= {name for file in files if "checks/" in file for name in _functions(ROOT / file) if "check_" in name}
    chosen = select(files, "\n".join(sorted(called)))
    script = _unannotated("\n".join([*chosen.standard, *chosen.tvm, chosen.text]))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "--output-format", "json", "-"]
    found = json.loads(subprocess.run(command, input=script, capture_output=True, text=True, check=False).stdout)
    assert [each["message"] for each in found] == []
    assert "FailingCase" not in script, "what makes a check is no part of it"


def _unannotated(text: str) -> str:
    """Annotations are not evaluated, and may name what is nowhere."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.unparse(tree)


def _functions(file: Path) -> set[str]:
    nodes = ast.parse(file.read_text(encoding="utf-8")).body
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
