"""What verbs print fits 80 columns (the gate's lines apart), without colours, and is JSON with ``--json``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.cli.options import whole_parser
from fuzzer.store.writer import Store

MESSAGES = ("boom", "\x1b[31mcolour\x1b[0m and more", "a rather long message " * 12, "Ünïcode ✗ " * 20)
POLICY = (
    "[oracles.crash]\nmin_pass_rate = 0.99\nmin_checks = 5\nmax_skip_share = 0.2\n[oracles.numeric]\nmin_checks = 9\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a campaign of hostile messages, a policy, decisions and a baseline."""
    monkeypatch.chdir(tmp_path)
    with Store.create(tmp_path / "c", META | {"state": "finished"}) as store:
        store.record_shard(shard(0, *(hit(text, index) for index, text in enumerate(MESSAGES))), 1.0)
        families = [each.family.id for each in store.findings()]
    Path("policy.toml").write_text(POLICY)
    assert main(["baseline", "c", "--output", "kept.json"]) == 0
    merge = ["triage", "merge", *families[:2], "--reason", "a reason of many words, which goes on and on; " * 3]
    assert main(merge) == 0
    return tmp_path


VERBS = [
    (("findings", "c"), 0),
    (("report", "c"), 0),
    (("triage", "list", "--campaign", "c"), 0),
    (("gate", "c", "--policy", "policy.toml"), 1),
    (("gate", "c", "--policy", "policy.toml", "--explain", "--baseline", "kept.json"), 1),
    (("baseline", "c", "--compare", "kept.json"), 0),
    (("corpus", "match", "c"), 0),
    (("passes", "--campaign", "c"), 0),
    (("passes", "FuseOps", "--campaign", "c"), 0),
    (("ops", "--campaign", "c"), 0),
    (("ops", "--campaign", "c", "--pairs"), 0),
    (("ops", "--campaign", "c", "--features"), 0),
    (("ops", "--campaign", "c", "--idioms"), 0),
]


@pytest.mark.parametrize(("arguments", "code"), VERBS)
def test_lines_fit_a_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int
) -> None:
    capsys.readouterr()
    assert main(list(arguments)) == code
    printed = capsys.readouterr()
    assert printed.out.strip()
    assert "\x1b" not in printed.out + printed.err
    if arguments[0] != "gate":  # a line a decision, for logs that are searched
        assert max(map(len, printed.out.splitlines())) <= 80


@pytest.mark.parametrize(("arguments", "code"), VERBS)
def test_json_is_json(folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int) -> None:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    printed = capsys.readouterr().out
    assert isinstance(json.loads(printed), list | dict)
    assert "\x1b" not in printed


def test_decisions_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["triage", "split", "0123456789", "--reason", "apart", "--json"]) == 0
    (added,) = json.loads(capsys.readouterr().out)
    assert added["decision"] == "split"
    assert added["ids"] == ["0123456789"]
    assert main(["triage", "list", "--campaign", "c", "--json"]) == 0
    merged, split = json.loads(capsys.readouterr().out)
    assert merged["decision"] == "merge"
    assert merged["not_met"] == []
    assert split == {**added, "not_met": ["0123456789"]}


def commands(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """All verbs, and the actions of those that have some; an action may stand under a verb with options of its own."""
    inner = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for each in inner:
        for word, below in each.choices.items():
            yield from commands(below, f"{name} {word}".strip())
    if not inner:
        yield name, parser


def test_every_verb_prints_json_but_those_that_write_a_script_or_files() -> None:
    found = dict(commands(whole_parser()))
    assert len(found) > 15
    assert {name for name, each in found.items() if "--json" not in each.format_help()} == {"completion", "init"}
