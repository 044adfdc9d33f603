"""Campaigns with seeds: the same draws again, another collection noticed, numbers left out where they say nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import tvm

from corpus.seed_import.run import import_seeds, save
from fuzzer.campaign.setup import configure, open_campaign, seed_collection
from fuzzer.cli.main import main
from fuzzer.core.config import Config, ConfigError
from fuzzer.core.installed import installed
from fuzzer.shard.draw import draw_subjects
from fuzzer.shard.shard import ExampleDone, ModuleDrawn, ShardTask, example_case, run_shard
from relaxkit.passes.contract import OracleName
from strategies.passes import ON_LOWERED
from strategies.seeds.file import FILE_NAME

SCRIPTS = Path(__file__).parents[1] / "corpus" / "scripts" / "sample_modules.py"
PASSES = (
    "CanonicalizeBindings",
    "DeadCodeElimination",
    "EliminateCommonSubexpr",
    "Normalize",
    "FuseOps",
    "CallTIRRewrite",
)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("seeds")
    save(import_seeds(SCRIPTS), place)
    return place


def config(seeds: Path | None, oracles: tuple[OracleName, ...] = (OracleName.CRASH, OracleName.NUMERIC)) -> Config:
    place, digest = ("", "") if seeds is None else seed_collection(str(seeds))
    return Config(3, PASSES, (), oracles, 64, None, 1, seeds=place, seeds_digest=digest)


def test_a_configuration_keeps_its_seeds(seeds: Path) -> None:
    first = config(seeds)
    assert Config.from_json(first.to_json()) == first
    assert first.identity != config(None).identity
    assert first.identity == replace(first, seeds="/elsewhere").identity  # the content decides, not the place
    assert first.identity != replace(first, seeds_digest="0" * 16).identity


def test_options_name_a_collection(seeds: Path, tmp_path: Path) -> None:
    given = configure({"seeds": str(seeds), "max-examples": "1", "seed": "1", "passes": "Normalize"})
    assert (given.seeds, given.seeds_digest) == seed_collection(str(seeds))
    with pytest.raises(ConfigError, match=r"--seeds: .*contains no seed collection"):
        configure({"seeds": str(tmp_path), "max-examples": "1", "seed": "1", "passes": "Normalize"})


def test_modules_of_a_shard_are_drawn_again_the_same(seeds: Path) -> None:
    task = ShardTask(config(seeds), 2)
    drawn = [draw_subjects(task.config, 2, number) for number in range(4)]
    for number, subjects in enumerate(drawn):
        assert subjects is not None
        case = example_case(task, number * 7)
        assert case is not None
        assert case.module_json == str(tvm.ir.save_json(subjects.module))
        assert case.passes == subjects.pipelines[0]


def test_seeds_are_in_the_modules_and_lowered_ones_meet_their_passes(seeds: Path) -> None:
    notes: Counter[str] = Counter()
    lowered = 0
    for number in range(60):
        subjects = draw_subjects(config(seeds), 0, number)
        assert subjects is not None
        notes.update(name for name in subjects.idioms if name.startswith("seed:"))
        if subjects.drawn.structural == "a lowered seed":
            lowered += 1
            named = {ref.name for row in subjects.pipelines for ref in row}
            assert named <= ON_LOWERED
    assert notes["seed:mutated"] > 10
    assert notes["seed:spliced"] > 8
    assert lowered


def test_numbers_of_seeds_of_unknown_domain_are_skips_with_a_reason(seeds: Path) -> None:
    reasons: Counter[str] = Counter()
    cases = Counter[str]()
    structural: dict[int, bool] = {}
    for item in run_shard(ShardTask(config(seeds), 1)):
        if isinstance(item, ModuleDrawn):
            drawn = draw_subjects(config(seeds), 1, item.number)
            assert drawn is not None
            structural[item.number] = bool(drawn.drawn.structural)
        if isinstance(item, ExampleDone):
            for oracle, _, outcome, reason in item.tallies:
                if oracle == OracleName.NUMERIC.value:
                    cases[outcome] += 1
                    if reason.startswith("structure alone: "):
                        assert structural[item.index // 7]
                        assert outcome == "skip"
                        reasons[reason] += 1
                    else:
                        assert not structural[item.index // 7]
    assert sum(reasons.values()) > 3
    assert sum(cases.values()) > sum(reasons.values())


def test_another_collection_is_one_clear_line(seeds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "campaign"
    with open_campaign(out, config(seeds), installed()).store:
        pass
    report = import_seeds(SCRIPTS)
    report.seeds.pop()
    save(report, tmp_path / "other")
    command = ["run", "--seed", "3", "--passes", ",".join(PASSES), "--oracles", "crash,numeric"]
    command += ["--max-examples", "64", "--shares", "off"]
    assert main([*command, "--out", str(out), "--seeds", str(tmp_path / "other")]) == 2
    line = capsys.readouterr().err
    assert f"with seeds {config(seeds).seeds_digest}, not seeds {config(tmp_path / 'other').seeds_digest}" in line
    assert len(line.splitlines()) == 1
    assert main([*command, "--out", str(out)]) == 2
    assert f"with seeds {config(seeds).seeds_digest}, not no seeds" in capsys.readouterr().err


@pytest.mark.parametrize("text", [None, "", '{"format": "other"}\n'])
def test_no_collection_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None) -> None:
    if text is not None:
        (tmp_path / FILE_NAME).write_text(text)
    assert main(["run", "--seeds", str(tmp_path), "--out", str(tmp_path / "campaign")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("relaxfuzz: error: --seeds: ")
    assert not (tmp_path / "campaign").exists()


def test_a_configuration_file_names_a_collection(seeds: Path, tmp_path: Path) -> None:
    from fuzzer.campaign.setup import merged

    path = tmp_path / "campaign.toml"
    path.write_text(f'seeds = "{seeds}"\nmax-examples = 1\n')
    assert merged({"config": path})["seeds"] == str(seeds)
