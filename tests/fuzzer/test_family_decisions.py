from pathlib import Path

import pytest
from sample_records import META, hit, shard

from fuzzer.cli.main import main
from fuzzer.core.toml import TomlError
from fuzzer.findings.family import Family
from fuzzer.findings.file import Decision, Decisions, load_decisions, load_known, split_family
from fuzzer.store.grouping import group
from fuzzer.store.writer import Store

FIRST, SECOND = Family("FuseOps", "one"), Family("FuseOps", "two")
A, B = "aaaaaaaaaa", "bbbbbbbbbb"
MERGE = f'[[merge]]\ninto = "{FIRST.id}"\nids = ["{SECOND.id}"]\nreason = "one check"\n'
SPLIT = f'[[split]]\nids = ["{A}"]\nreason = "another check"\n'


def loaded(folder: Path, text: str) -> Decisions:
    path = folder / "findings.toml"
    path.write_text(text)
    return load_decisions(path)


def test_families_are_merged(tmp_path: Path) -> None:
    decisions = loaded(tmp_path, MERGE)
    assert decisions.place(A, FIRST).id == decisions.place(B, SECOND).id == FIRST.id
    assert decisions.place(A, FIRST).decision is None
    assert decisions.place(B, SECOND).text == "one check"


def test_findings_are_split_off_and_stay_so_with_their_family_merged(tmp_path: Path) -> None:
    decisions = loaded(tmp_path, MERGE + SPLIT)
    assert decisions.place(A, SECOND).id == split_family((A,))
    assert decisions.place(B, SECOND).id == FIRST.id


def test_a_single_finding_joins_a_family(tmp_path: Path) -> None:
    decisions = loaded(tmp_path, MERGE.replace(SECOND.id, A))
    assert decisions.place(A, SECOND).id == FIRST.id
    assert decisions.place(B, SECOND).id == SECOND.id


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[merg]]\n", ":1: 'merg' is not a key of a file of findings; did you mean merge?"),
        ("[merge]\n", ":1: 'merge' must be an array of tables: write [[merge]]"),
        (MERGE.replace("reason", "why"), ":4: 'merge.1.why' is not a key of a merge"),
        ('[[merge]]\ninto = "F012345678"\nreason = "r"\n', ":1: 'merge.1' needs 'ids'"),
        (
            MERGE.replace(SECOND.id, "F12"),
            ":3: 'merge.1.ids' contains 'F12', which is not the id of a finding",
        ),
        (MERGE.replace(FIRST.id, A), ":2: 'merge.1.into' must be the id of a family"),
        (
            MERGE.replace(SECOND.id, FIRST.id),
            f":3: 'merge.1.ids' contains {FIRST.id}, into which the others are merged",
        ),
        (SPLIT.replace(A, FIRST.id), f":2: 'split.1.ids' contains '{FIRST.id}', which is not a finding's id"),
        (SPLIT.replace(f'["{A}"]', "[]"), ":2: 'split.1.ids' must be a list of ids that is not empty"),
        (SPLIT.replace("another check", " "), ":3: 'split.1.reason' must be one line of text"),
        (MERGE + MERGE, f":7: 'merge.2.ids' names {SECOND.id}, which merge.1 already names"),
        (
            MERGE + MERGE.replace(SECOND.id, A).replace(FIRST.id, SECOND.id),
            f":6: 'merge.2.into' is {SECOND.id}, which merge.1 merges away",
        ),
    ],
)
def test_wrong_files_are_told_in_one_line(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(TomlError) as caught:
        loaded(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'findings.toml'}{expected}")
    assert "\n" not in str(caught.value)


def test_no_file_means_no_decisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_decisions(None) == Decisions()
    loaded(tmp_path, MERGE)
    assert len(load_decisions(None).entries) == 1
    with pytest.raises(TomlError, match="No such file"):
        load_decisions(tmp_path / "other.toml")


def campaign(folder: Path) -> tuple[str, list[tuple[str, str]]]:
    """A campaign with two findings; its directory, and id and family of each."""
    with Store.create(folder / "c", META) as store:
        store.record_shard(shard(0, hit("one", 1), hit("two", 2)), 1.0)
        return str(folder / "c"), [(each.id, each.family.id) for each in store.findings()]


def test_the_verb_writes_decisions_that_the_next_campaign_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    directory, ((one, first), (two, second)) = campaign(tmp_path)
    reason = 'one "check", \\ twice'
    assert main(["triage", "merge", first, second, "--reason", reason, "--campaign", directory]) == 0
    assert capsys.readouterr().out == f"{first} now includes {second} (findings.toml)\n"
    assert main(["triage", "split", two, "--reason", "no"]) == 0
    with Store.open(Path(directory)) as store:
        assert [len(each.findings) for each in group(store.findings(), load_decisions(None))] == [1, 1]
    written = Path("findings.toml").read_text()
    assert main(["triage", "merge", first, second, "--reason", "again"]) == 2
    assert Path("findings.toml").read_text() == written, "a wrong entry is not written"
    assert f"names {second}, which merge.1 already names" in capsys.readouterr().err
    assert main(["triage", "list", "--campaign", directory]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{first} merge: {reason}", f"  {second}", f"{split_family((two,))} split: no", f"  {two}",
    ]  # fmt: skip
    assert one != two


@pytest.mark.parametrize("named", ["id", "family", "family by decision"])
def test_a_known_entry_holds_the_pass_that_the_campaign_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Without it, an entry is not stale however many campaigns tested the pass and did not meet its finding."""
    monkeypatch.chdir(tmp_path)
    directory, ((one, first), (_, second)) = campaign(tmp_path)
    if named == "family by decision":
        assert main(["triage", "merge", second, first, "--reason", "one cause"]) == 0
    name = {"id": one, "family": first, "family by decision": second}[named]
    assert main(["triage", "known", name, "--reason", "r", "--campaign", directory]) == 0
    assert load_known(Path("findings.toml")).entries[-1].culprit == "FuseOps"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("merge", "F012345678", "F123456789"), "are required: --reason (see `relaxfuzz triage merge --help`)"),
        (("merge", "F012345678", "--reason", "r"), "arguments are required: ID (see"),
        (("merge", A, B, "--reason", "r"), f"'{A}' is not the id of a family: F and nine hex digits"),
        (("merge", "F012345678", "x", "--reason", "r"), "'x' is not the id of a finding or of a family"),
        (("split", "F012345678", "--reason", "r"), "'F012345678' is not the id of a finding (families cannot be"),
        (("split", "--reason", "r"), "arguments are required: ID (see"),
        (("split", A, "--reason", "a\nb"), "the reason must be one line of printable text"),
        (("split", A, "--reason", "r", "--campaign", "nowhere"), "'nowhere' does not exist"),
        (("split", A, "--reason", "r", "--file", "nowhere/t.toml"), "cannot write 'nowhere/t.toml': No such file"),
        (("list", A), f"unrecognized arguments: {A}"),
        (("list", "--file", "nowhere.toml"), "nowhere.toml: No such file"),
        (("join",), "invalid choice: 'join'"),
    ],
)
def test_bad_input_gets_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["triage", *arguments]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_decision_is_looked_up_by_what_it_names() -> None:
    class Ids(tuple[str, ...]):
        def __contains__(self, _: object) -> bool:
            raise AssertionError

    one, two = Decision("F012345678", Ids(("a", "b")), "one"), Decision("F112345678", Ids(("b", FIRST.id)), "two")
    decisions = Decisions((one, two))
    assert decisions.place("b", FIRST).decision is one
    assert decisions.place("c", FIRST, "a").decision is one
    assert decisions.place("c", FIRST).decision is two
    assert decisions.place("c", SECOND).decision is None
