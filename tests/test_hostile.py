"""A part of the hostile benchmark, another one each day: see ``benchmarks/hostile.py`` for what is promised."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path

from fuzzer.store.records import FindingState
from fuzzer.store.writer import Store

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

sys.path.append(str(Path(__file__).resolve().parent / "fuzzer"))

from sample_records import META, hit, shard

ROOT = Path(__file__).resolve().parents[1]
FLOORS = tomllib.loads((ROOT / "benchmarks/floors.toml").read_text())["hostile"]


def test_a_few_hostile_directories_and_files(tmp_path: Path) -> None:
    campaign = tmp_path / "campaign"
    with Store.create(campaign, META) as store:
        names = store.record_shard(shard(0, hit("Check failed: boom", 5, 2), hit("Check failed: bang", 7)), 1.5)
        (campaign / "repros").mkdir()
        for name in names:
            (campaign / f"repros/{name}.py").write_text("print('BUG: boom')\nraise SystemExit(1)\n")
            store.save_triage(name, FindingState.CONFIRMED, hit("x", 0).case, 1, f"repros/{name}.py", "a note")
    seed = datetime.date.today().toordinal()
    amount = ("--directories", str(FLOORS["directories"]), "--files", str(FLOORS["files"]), "--seed", str(seed))
    command = [sys.executable, str(ROOT / "benchmarks/hostile.py"), "--campaign", str(campaign), *amount, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert not found["problems"], found["problems"]
    assert (found["directories"], found["files"]) == (FLOORS["directories"], FLOORS["files"])
