"""The house benchmark: each measure finds the one offence that is planted for it, and the real tree has few enough."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = """
[[tool.importlinter.contracts]]
name = "rooms"
type = "layers"
layers = ["reports | pages", "(fuzzer) : corpus", "oracles"]

[[tool.importlinter.contracts]]
name = "inside"
type = "layers"
containers = ["fuzzer"]
layers = ["cli", "store"]

[[tool.importlinter.contracts]]
name = "of no interest"
type = "forbidden"
"""
CONTRACTS = {
    "relaxkit/passes/contracts/fusion.py": 'ROWS = (Contract("FuseOps"), Contract("FuseTIR", prepare=("FuseOps",)))'
}


@pytest.fixture(scope="module")
def house() -> Any:
    spec = importlib.util.spec_from_file_location("house", ROOT / "benchmarks" / "house.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write a tree that no git knows."""
    for name, text in {"pyproject.toml": LAYERS, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


CASES: dict[str, tuple[str, dict[str, str], float, list[str]]] = {
    "two modules, one import in a function and one for types": (
        "circles",
        {
            "fuzzer/__init__.py": "",
            "fuzzer/a.py": "def late():\n    from fuzzer import b\n",
            "fuzzer/b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from fuzzer.a import late\n",
            "fuzzer/c.py": "from fuzzer.a import late\n",
            "tests/d.py": "import tests.d\n",
        },
        1,
        ["fuzzer/a.py:2", "fuzzer/b.py:3"],
    ),
    "upwards in a function and inside a room, not for types": (
        "upward_imports",
        {
            "oracles/judge.py": "def f():\n    import fuzzer.store\n",
            "oracles/types.py": "import typing\nif typing.TYPE_CHECKING:\n    import fuzzer.store\n",
            "fuzzer/store.py": "from .cli import main\nfrom oracles import judge\n",
            "fuzzer/cli.py": "main = 1\n",
            "corpus/case.py": "import fuzzer.store\n",
        },
        2,
        ["fuzzer/store.py:1", "oracles/judge.py:2"],
    ),
    "snippets and what is below do not count": (
        "fullest_folder",
        {
            **{f"fuzzer/repro/pieces/p{number}.py": "" for number in range(5)},
            "fuzzer/a.py": "",
            "fuzzer/b.py": "",
            "fuzzer/core/c.py": "",
            "docs/d.py": "",
        },
        2,
        ["fuzzer/a.py:1", "fuzzer/b.py:1"],
    ),
    "every way of asking for a pass": (
        "pass_names_in_engine",
        {
            **CONTRACTS,
            "relaxkit/passes/names.py": 'FUSION = "FuseOps"\nTABLE = {"FuseOps": 1}\nSET = {"FuseOps"}\n',
            "oracles/sets.py": '_LATE = frozenset({"FuseTIR"})\nBOTH = _LATE | {"FuseOps"}\n',
            "oracles/judge.py": "\n".join(
                (
                    "from oracles.sets import BOTH",
                    "from relaxkit.passes import names",
                    "def f(name, rows):",
                    '    if name == "FuseOps" or name in ("FuseOps", "FuseTIR"): return 4',
                    "    if name in BOTH or name == names.FUSION: return 5",
                    "    match name:",
                    '        case "FuseTIR": return 7',
                    '    weights = {"FuseOps": 1}',
                    '    return rows["FuseTIR"]',
                    '    return name in names.SET or name == "relax.add" or draw("FuseOps")',
                )
            ),
        },
        7,
        [f"oracles/judge.py:{line}" for line in (4, 4, 5, 5, 7, 8, 9)],
    ),
    "evidence, a pass and a script are read back, shown ones are not": (
        "places_that_parse",
        {
            "fuzzer/words.py": "\n".join(
                (
                    "import ast, re",
                    '_STAGE = re.compile("during (.*)")',
                    "def stage(evidence): return _STAGE.search(evidence.message)",
                    "def mode(evidence):",
                    "    kind, said = evidence.kind, evidence.observed.strip()",
                    '    return said.endswith("compiled") or kind.startswith("signal")',
                    "def arguments(ref): return ast.parse(ref.expression)",
                    'def head(script): return [line for line in script.splitlines() if "NEAREST" in line]',
                    "def shown(evidence, limit):",
                    '    line = evidence.message.splitlines()[0].partition("\\n")[0][:80]',
                    '    return re.sub("0x[0-9a-f]+", "", line), limit.path.split("/"), evidence.kind == "hang"',
                    "def refused(row, error): return re.search(row.pattern, error.message)",
                    "def limited(row, ref): return re.search(row.pattern, ref.expression)",
                    'def fragments(message): return message.split(" ")',
                )
            ),
            "fuzzer/findings/symptom.py": 'def f(message): return message.partition(": ")\n',
            "fuzzer/repro/pieces/death.py": 'def f(message): return message.partition(": ")\n',
        },
        5,
        [f"fuzzer/words.py:{line}" for line in (3, 6, 6, 7, 8, 13)],
    ),
    "a parameter of three": (
        "any_share_in_oracles",
        {
            "oracles/a.py": "class A:\n    def f(self, a: Any | None, b: list[Any], *, c: int, d=1) -> Any: ...\n",
            "fuzzer/a.py": "def f(a: Any): ...\n",
        },
        0.3333,
        ["oracles/a.py:2"],
    ),
    "one name in two rooms": (
        "class_names_twice",
        {
            "oracles/a.py": "class _Seen: ...\nclass Own:\n    class Inner: ...\n",
            "fuzzer/a.py": "class Seen: ...\nclass Other:\n    class Inner: ...\n",
        },
        1,
        ["fuzzer/a.py:1", "oracles/a.py:1"],
    ),
    "a small file": (
        "small_files",
        {"oracles/a.py": "\n" * 60, "fuzzer/a.py": "\n" * 61, "corpus/cases/x/module.py": ""},
        1,
        ["oracles/a.py:1"],
    ),
    "all lines": (
        "production_lines",
        {"oracles/a.py": "\n# two\n", "fuzzer/a.py": "a = 1\n", "benchmarks/a.py": "a = 1\n", ".venv/a.py": "\n"},
        3,
        ["fuzzer/a.py:1", "oracles/a.py:1"],
    ),
    "questions": (
        "docstrings_what",
        {
            "oracles/a.py": '"""What it is."""\ndef f():\n    """Whether."""\ndef g():\n    """Whatever."""\n',
            "fuzzer/a.py": '"""Tell what it is."""\nVALUE = 1\n"""How much."""\n',
        },
        2,
        ["oracles/a.py:1", "oracles/a.py:2"],
    ),
}


@pytest.mark.parametrize(("measure", "files", "value", "places"), CASES.values(), ids=CASES.keys())
def test_a_measure_finds_what_is_planted(
    house: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    measure: str,
    files: dict[str, str],
    value: float,
    places: list[str],
) -> None:
    root = tree(tmp_path, {**files, "benchmarks/floors.toml": f"[house]\n{measure} = {value}\n"})
    assert house.MEASURES[measure](house.House(root))[0] == value
    assert house.main(["--list", measure], root) == 0
    assert [":".join(line.split(":")[:2]) for line in capsys.readouterr().out.splitlines()] == places


def test_every_measure_has_a_case(house: Any) -> None:
    assert {measure for measure, *_ in CASES.values()} == set(house.MEASURES)


def test_what_is_above_its_ceiling_fails(house: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ceilings = "".join(f"{name} = {1 if name == 'small_files' else 2}\n" for name in house.MEASURES)
    root = tree(tmp_path, {"oracles/a.py": "", "benchmarks/floors.toml": f"[house]\n{ceilings}"})
    assert house.main([], root) == 0
    assert "too many" not in capsys.readouterr().out
    (root / "oracles" / "b.py").touch()
    assert house.main([], root) == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if "too many" in line] == ["small_files"]
    assert house.main(["--json"], root) == 1
    assert json.loads(capsys.readouterr().out)["small_files"] == 2


@pytest.mark.slow
def test_house_keeps_its_promises(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code = house.main([])
    assert code == 0, capsys.readouterr().out
