"""What scripts are made of: definitions out of several files, which become one file."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from fuzzer import repro_older
from fuzzer.repro_checks import EXTERNAL_PIECES, PIECES, ROUNDTRIP_PIECES
from fuzzer.repro_documented import DOCUMENTED_PIECES
from fuzzer.repro_environment import ENVIRONMENT_PIECES
from fuzzer.repro_locality import LOCALITY_PIECES

ROOT = Path(__file__).resolve().parents[2]
TOGETHER = {
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
            elif file != "releases/tables.py" and isinstance(
                node, ast.Assign | ast.AnnAssign
            ):  # its rows alone are taken
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    defined[ast.unparse(target)].add(file)
    assert {name: sorted(places) for name, places in defined.items() if len(places) > 1} == {}
