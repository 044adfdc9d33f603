"""The command line on bad input: one line on standard error, exit code 2, nothing touched."""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.cli.options import inform
from fuzzer.cli.verbs.gate import VERB as GATE
from fuzzer.core import installed as environment
from fuzzer.store.writer import FILE_NAME, Store

HERE = Path(__file__).parent
USER = f"{HERE / 'user_passes.py'}"


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The complaint about a command line that must be refused."""
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    assert code == 2, said
    assert said.out == ""
    assert said.err.startswith("relaxfuzz: error: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("rnu",), "unknown command 'rnu'; did you mean run"),
        (("run", "--tiem", "3m"), "unrecognized arguments: --tiem; did you mean --time"),
        (("gate", "campaign", "--polcy=x"), "unrecognized arguments: --polcy; did you mean --policy"),
        (("run", "--time", "soon"), "'soon' is not a time"),
        (("run", "--time", "-5s"), "time"),
        (("run", "--time", "0"), "more than 0"),
        (("run", "--time", ""), "is not a time"),
        (("run", "--time", "nan"), "is not a time"),
        (("run", "--time", "9999999999d"), "at most a year"),
        (("run", "--workers", "0"), "--workers 0 is not between 1 and"),
        (("run", "--workers", "many"), "--workers 'many' is not a whole number"),
        (("run", "--workers", "1e9"), "is not a whole number"),
        (("run", "--max-examples", "0"), "--max-examples 0"),
        (("run", "--max-examples", "10", "--time", "1m"), "not both"),
        (("run", "--seed", "-1"), "--seed -1"),
        (("run", "--seed", "lucky"), "--seed 'lucky' is not a whole number"),
        (("run", "--case-timeout", "x"), "'x' is not a time"),
        (("run", "--memory-limit", "lots"), "'lots' is not a size"),
        (("run", "--memory-limit", f"{'9' * 400}G"), "is more memory than a process can have"),
        (("run", "--memory-limit", "200000GiB"), "'200000GiB' is more memory than a process can have"),
        (("run", "--memory-limit", "1MiB"), "too little memory"),
        (("run", "--oracles", "numerik"), "no oracle is called 'numerik'; did you mean numeric?"),
        (("run", "--oracles", ","), "no oracle is named"),
        (("run", "--passes", "FuseOp"), "no pass with a contract is called 'FuseOp'; did you mean FuseOps"),
        (("run", "--passes", "fuseops"), "did you mean FuseOps"),
        (("run", "--passes", ""), "no pass is named"),
        (("run", "--pass", "nonsense"), "is not FILE.py:FACTORY or package.module:FACTORY"),
        (("run", "--pass", "missing.py:factory"), "'missing.py' is not a file"),
        (("run", "--pass", "no_such_package.module:factory"), "cannot be imported: ModuleNotFoundError"),
        (("run", "--pass", f"{USER}:missing"), "has no 'missing'"),
        (("run", "--pass", f"{USER}:NOT_CALLABLE"), "is not callable"),
        (("run", "--pass", f"{USER}:not_a_pass"), "returned an int, not a tvm.ir.transform.Pass"),
        (("run", "--pass", f"{USER}:raises"), "raised ValueError: two lines"),
        (("run", "--pass", f"{USER}:leaves"), "SystemExit: good bye"),
        (("run", "--pass", f"{USER}:recurses"), "RecursionError"),
        (("run", "--pass", f"{USER}:kills"), "ended the process: signal 11 (SIGSEGV)"),
        (("run", "--known", "missing.toml"), "missing.toml: No such file"),
        (("run", "--config", "missing.toml"), "missing.toml: No such file"),
        (("findings", "nowhere"), "'nowhere' does not exist"),
        (("findings",), "the following arguments are required: DIR"),
        (("repro", "nowhere", "12"), "'nowhere' does not exist"),
        (("minimize",), "give DIR and ID, or --module"),
        (("minimize", "--module", "x.py"), "--module needs --pass and --oracle"),
        (("minimize", "--module", "x.py", "--pass", "FuseOp", "--oracle", "crash"), "did you mean FuseOps"),
        (("minimize", "--module", "x.py", "--pass", "FuseOps", "--oracle", "crahs"), "did you mean crash"),
        (("minimize", "--module", "x.py", "--pass", "FuseOps", "--oracle", "crash"), "x.py' cannot be read"),
        (("passes", "--campaign", "nowhere"), "'nowhere' does not exist"),
        (("ops", "--campaign", "nowhere"), "'nowhere' does not exist"),
        (("ops", "--campaign", "nowhere", "--excluded"), "give --excluded or --campaign, not both"),
    ],
    ids=lambda value: " ".join(value)[-60:] if isinstance(value, tuple) else None,
)
def test_bad_input(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in complaint(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time = \n", ":1: not TOML at 'time'"),
        ("seed = 3\ntime = '10m'\nworker = 2\n", ":3: 'worker' is not an option of a campaign; did you mean workers"),
        ("guidance = true\n", ":1: 'guidance' is not an option of a campaign"),
        ("seed = 3\nbudget = 'even'\n", ":2: 'budget' is not an option of a campaign"),
        ("seed = 'x'\n", ":1: 'seed' has a value of the wrong type"),
        ("seed = true\n", ":1: 'seed' has a value of the wrong type"),
        ("passes = ['FuseOps', 3]\n", ":1: 'passes' must be a list of strings"),
        ("passes = ['FuseOp']\n", "did you mean FuseOps"),
        ("time = '1m'\nmax-examples = 3\n", "not both"),
        (
            "max-examples = 1\nknown = '/etc/passwd'\n",
            ":2: 'known' names '/etc/passwd', which is a link, or outside of",
        ),
        ("max-examples = 1\ntriage = '../../x'\n", ":2: 'triage' names '../../x', which is a link, or outside of"),
    ],
)
def test_bad_configuration_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    said = complaint(capsys, "run", "--config", path, "--out", tmp_path / "out")
    assert expected in said
    assert not (tmp_path / "out").exists()


def test_bad_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run = ("run", "--passes", "FuseOps", "--seed", 7, "--max-examples", 1, "--out")
    (tmp_path / "file").write_text("x")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("x")
    Store.create(tmp_path / "other", META).close()
    with Store.create(tmp_path / "damaged", META) as store:
        for number in range(50):
            store.record_shard(shard(number, hit("boom", 1)), 1.0)
    data = (tmp_path / "damaged" / FILE_NAME).read_bytes()
    (tmp_path / "damaged" / FILE_NAME).write_bytes(data[: len(data) // 2])
    for name, expected in (
        ("file", "cannot write"),
        ("file/below", "cannot write"),
        ("foreign", "is not empty and contains no campaign"),
        ("other", "contains another campaign"),
        ("damaged", "damaged"),
    ):
        assert expected in complaint(capsys, *run, tmp_path / name)
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]


def test_a_project_file_of_somebody_else_is_not_obeyed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names code that is run, and was found by itself, perhaps in a directory above that all may write."""
    project, below = tmp_path / "pyproject.toml", tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "real.toml").write_text('[tool.relaxfuzz]\nplugin = ["evil.py"]\n')
    project.symlink_to("real.toml")
    assert "is a link or belongs to another user" in complaint(capsys, "run", "--max-examples", 1)
    (tmp_path / "real.toml").write_text("[tool.relaxfuzz]\nsecret = 1\n")
    assert "secret" not in complaint(capsys, "run", "--max-examples", 1)
    (tmp_path / "real.toml").write_text('[tool.relaxfuzz]\nplugin = ["evil.py"]\n')
    project.unlink()
    (tmp_path / "real.toml").rename(project)
    found = project.stat()
    theirs = os.stat_result((*found[:4], 12345, *found[5:]))
    monkeypatch.setattr(Path, "stat", lambda path, **_: theirs if path == project else os.stat(path))
    assert "is a link or belongs to another user" in complaint(capsys, "run", "--max-examples", 1)
    assert not (tmp_path / "ran").exists()


def test_a_wrong_pair_is_refused_with_the_command_that_mends_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.15"}

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(environment.importlib.metadata, "version", version)
    assert "pip install 'apache-tvm-ffi>=0.1.14.post0,<0.1.15'" in complaint(capsys, "run")
    versions["apache-tvm"] = "0.24.0"
    assert "pip install 'apache-tvm==0.27.0.post1'" in complaint(capsys, "run")
    del versions["apache-tvm"]
    monkeypatch.setattr(environment, "tvm_home", lambda: None)  # no build from source either
    assert "apache-tvm is not installed" in complaint(capsys, "run")
    versions.update({"apache-tvm": "0.27.0.post1", "apache-tvm-ffi": "0.1.13.post3"})
    assert "does not work with apache-tvm-ffi 0.1.13.post3" in complaint(capsys, "run")
    for good in ("0.1.14.post0", "0.1.14.post1"):
        versions["apache-tvm-ffi"] = good
        assert environment.require_working_pair().ffi == good


def test_files_that_tvm_opens_by_name_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("python/tvm_ffi/cython").mkdir(parents=True)
    Path(environment.TRACED).write_text("")
    assert main(["ops", "--excluded"]) == 0  # a checkout of the ffi
    capsys.readouterr()
    Path(environment.TRACED).unlink()
    os.mkfifo(environment.TRACED)
    assert f"the working directory contains '{environment.TRACED}'" in complaint(capsys, "ops", "--excluded")
    Path(environment.TRACED).unlink()
    Path(environment.VDSO).write_bytes(b"\x7fELF")
    assert f"the working directory contains '{environment.VDSO}'" in complaint(capsys, "ops", "--excluded")


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    overview = capsys.readouterr().out
    for verb in ("run", "findings", "minimize", "repro", "gate", "report", "passes", "ops", "corpus"):
        assert f"\n  {verb} " in overview
        with pytest.raises(SystemExit) as done:
            main([verb, "--help"])
        assert done.value.code == 0
        assert f"example: relaxfuzz {verb}" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"relaxfuzz {importlib.metadata.version('relaxfuzz')}\n")


def test_help_says_whether_code_is_run_and_which_exit_code_belongs_to_which_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = {}
    for verb in ("baseline", "minimize", "corpus"):
        with pytest.raises(SystemExit):
            main([verb, "--help"])
        told[verb] = " ".join(capsys.readouterr().out.split())
    options = told["baseline"].partition("--output FILE write")[2]
    saving, _, comparing = options.partition("--compare FILE")
    assert "exit code 3 if the campaign did not finish" in saving
    assert "exit code 1 if a rate is significantly worse, otherwise 3" in comparing
    assert "This command does not run any code that is stored in a campaign." in told["baseline"]
    assert "This command may run code that is stored in a campaign" in told["minimize"]
    assert "`corpus add` may run code that is stored in a campaign" in told["corpus"]


def test_an_internal_error_is_one_line_and_70(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.delenv("RELAXFUZZ_DEBUG", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("fuzzer.store.writer.Store.open", broken)
    assert main(["findings", "anywhere"]) == 70
    said = capsys.readouterr().err
    assert said.startswith("relaxfuzz: internal error: KeyError: 'oops' (details in ")
    assert said.count("\n") == 1
    (details,) = tmp_path.iterdir()
    assert "Traceback" in details.read_text()


def test_findings_as_table_and_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0, hit("Check failed: \x1b[31mboom", 5, 2)), 1.5)
    assert main(["findings", str(tmp_path)]) == 0
    table = capsys.readouterr().out
    assert "FuseOps" in table
    assert "\x1b" not in table
    assert max(len(line) for line in table.splitlines() if "relaxfuzz minimize" not in line) <= 80, (
        "a command is not cut"
    )
    assert main(["findings", str(tmp_path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    wanted = {
        "id",
        "signature",
        "oracle",
        "pass",
        "message",
        "count",
        "state",
        "first_seen_seconds",
        "bindings",
        "repro",
    }
    assert wanted <= set(found)
    assert (found["pass"], found["count"], found["state"], found["bindings"]) == ("FuseOps", 2, "untriaged", None)


@pytest.mark.parametrize(("verb", "some"), [("passes", "LiftTransformParams"), ("ops", "relax.add")])
def test_tables_of_knowledge(capsys: pytest.CaptureFixture[str], verb: str, some: str) -> None:
    assert main([verb]) == 0
    assert some in capsys.readouterr().out
    assert main([verb, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) >= 35
    assert some in {row["name"] for row in rows}


def test_operators_of_a_campaign(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Store.create(tmp_path, META) as store:
        store.record_shard(shard(0), 1.5)
    assert main(["ops", "--campaign", str(tmp_path), "--json"]) == 0
    modules = {row["name"]: row["modules"] for row in json.loads(capsys.readouterr().out)["operators"]}
    assert (modules["relax.add"], modules["relax.multiply"]) == (2, 0)
    assert main(["ops", "--campaign", str(tmp_path)]) == 0
    assert f"of {len(modules)} operators occurred in the 8 modules of the campaign" in capsys.readouterr().out


_WITHOUT_TVM = """
import sys
from fuzzer.cli.main import main
from fuzzer.cli.options import inform
from fuzzer.cli.verbs.gate import VERB as GATE
code = main(sys.argv[1:])
sys.exit(f"loaded {sorted({'tvm', 'numpy', 'strategies'} & set(sys.modules))} with code {code}")
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("findings", "campaign"), 0),
        (("findings", "nowhere"), 2),
        (("run", "--time", "abc"), 2),
        (("ops", "--campaign", "nowhere"), 2),
        (("repro", "campaign", "12"), 2),
        (("minimize",), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_tvm_is_not_loaded_where_it_is_not_needed(tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    with Store.create(tmp_path / "campaign", META) as store:
        store.record_shard(shard(0, hit("boom", 5)), 1.5)
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TVM, *arguments], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.stderr.splitlines()[-1] == f"loaded [] with code {code}"


def test_excluded_operators_have_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--excluded", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows
    assert all(row["reason"].strip() for row in rows)


def test_a_reader_that_goes_away_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    def deaf(*_: object) -> int:
        raise BrokenPipeError

    monkeypatch.setattr("fuzzer.cli.main._dispatch", deaf)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    assert main(["gate", "x"]) == 141


@pytest.mark.parametrize(
    ("where", "said"),
    [("> /dev/full", "cannot write: No space left on device"), (">&-", "there is no standard output to write to")],
)
@pytest.mark.parametrize("arguments", ["--version", "ops --json"])
def test_an_output_that_takes_nothing_is_an_error_of_one_line(where: str, said: str, arguments: str) -> None:
    command = f"{sys.executable} -m relaxfuzz {arguments} {where}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (2, f"relaxfuzz: error: {said}\n")


@pytest.mark.parametrize(("level", "told"), [("-q", False), ("--quiet", False), ("-v", True), ("", True)])
def test_quiet_leaves_the_results_alone(level: str, told: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def run(options: argparse.Namespace) -> int:
        inform("a word")
        print("a result")
        return 0

    verb = replace(GATE, run=run, add_arguments=lambda parser: None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("fuzzer.cli.main.entry_points", lambda: {"gate": SimpleNamespace(load=lambda: verb)})
        assert main([*filter(None, [level]), "gate"]) == 0
    said = capsys.readouterr()
    assert said.out == "a result\n"
    assert ("a word" in said.err) is told


def test_signs_that_a_terminal_does_not_have_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", said)
    assert main(["é😀"]) == 2
    said.seek(0)
    assert "'\\xe9\\U0001f600'" in said.read()
