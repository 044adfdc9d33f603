import datetime
from pathlib import Path

import pytest
from sample_records import verdict

from fuzzer.core.toml import TomlError
from fuzzer.findings.file import KnownFinding, KnownFindings, load_known
from fuzzer.findings.signature import readable, signature, signature_id

GOOD = """\
[[known]]
id = "0123456789"
reference = "https://github.com/apache/tvm/issues/17210"
reason = "second function"

[[known]]
signature = "crash | FuseOps | InternalError | boom"
reference = "reported by mail"
reason = "boom"
"""


ENTRY = '[[known]]\nid = "0123456789"\nreference = "r"\nreason = "w"\n'


def test_loads_by_id_and_by_signature(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(GOOD)
    known = load_known(path)
    assert [entry.name for entry in known.entries] == ["0123456789", "crash | FuseOps | InternalError | boom"]
    by_id = known.find("0123456789", "whatever")
    assert by_id is not None
    assert by_id.reference.endswith("17210")
    by_signature = known.find("ffffffffff", "crash | FuseOps | InternalError | boom")
    assert by_signature is not None
    assert by_signature.reason == "boom"
    assert known.find("ffffffffff", "other") is None


def test_a_signature_is_known_as_reports_show_it() -> None:
    full = "numeric: FuseOps: wrong-value: results differ (reassociation)"
    known = KnownFindings((KnownFinding(signature=readable(full)),))
    assert "reassociation" not in known.entries[0].signature
    assert known.find("ffffffffff", full) is known.entries[0]
    assert known.find("ffffffffff", full.replace("FuseOps", "FuseTIR")) is None


def test_an_entry_with_both_needs_both() -> None:
    entry = KnownFinding("0123456789", "s", "r", "why")
    assert entry.matches("0123456789", "s")
    assert not entry.matches("0123456789", "t")
    assert not entry.matches("9876543210", "s")


def test_unseen_entries() -> None:
    first, second = KnownFinding("0123456789", "", "r", "why"), KnownFinding("", "sig", "r", "why")
    known = KnownFindings((first, second))
    assert known.unseen([("0123456789", "x")]) == (second,)
    assert known.unseen([]) == (first, second)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("known = 3\n", ":1: 'known' must be an array of tables"),
        ("[known]\nid = 1\n", ":1: 'known' must be an array of tables"),
        ("[[knwon]]\n", ":1: 'knwon' is not a key of a file of findings; did you mean known?"),
        ('[[known]]\nreference = "r"\nreason = "w"\n', ":1: 'known.1' needs 'id', 'signature' or 'family'"),
        (
            '[[known]]\nid = "0123456789"\nreference = "https://github.com/apache/tvm/issues/"\nreason = "w"\n',
            ":3: 'known.1.reference' is 'https://github.com/apache/tvm/issues/', without the number of an issue",
        ),
        ('[[known]]\nid = "0123456789"\nreference = "r"\n', ":1: 'known.1' needs 'reason'"),
        ('[[known]]\nid = "xyz"\nreference = "r"\nreason = "w"\n', ":2: 'known.1.id' must be the ten hex digits"),
        ('[[known]]\nid = 7\nreference = "r"\nreason = "w"\n', ":2: 'known.1.id' must be the ten hex digits"),
        (
            '[[known]]\nid = "0123456789"\nreference = ""\n',
            ":3: 'known.1.reference' must be one line of text that is not empty",
        ),
        (
            '[[known]]\nsignatur = "x"\n',
            ":2: 'known.1.signatur' is not a key of a known finding; did you mean signature?",
        ),
        ('[[known]]\nsignature = """a\nb"""\n', ":2: 'known.1.signature' must be one line"),
        ('[[known]]\nfamily = "0123456789"\nreference = "r"\nreason = "w"\n', ":2: 'known.1.family' must be the id of"),
        (f'{ENTRY}tvm = "0.27"\n', ":5: 'known.1.tvm' is '0.27', not a range of releases such as '>=0.26,<0.28'"),
        (f'{ENTRY}tvm = ">={"9" * 5000}"\n', ":5: 'known.1.tvm' is '>=999"),
        (f'{ENTRY}tvm = ">=0.26,"\n', ":5: 'known.1.tvm' is '>=0.26,', not a range"),
        (f'{ENTRY}expires = "soon"\n', ":5: 'known.1.expires' is 'soon', not a date such as 2027-03-01"),
        (f"{ENTRY}expires = 2027-03-01T00:00:00\n", ":5: 'known.1.expires' is datetime.datetime("),
        (f"{ENTRY}expires = 7\n", ":5: 'known.1.expires' is 7, not a date"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(TomlError) as caught:
        load_known(path)
    assert str(caught.value).startswith(f"{path}{expected}")
    assert "\n" not in str(caught.value)


def loaded(tmp_path: Path, text: str) -> KnownFinding:
    path = tmp_path / "known.toml"
    path.write_text(text)
    return load_known(path).entries[0]


def test_an_entry_may_name_a_family(tmp_path: Path) -> None:
    entry = loaded(tmp_path, '[[known]]\nfamily = "F012345678"\nreference = "r"\nreason = "w"\n')
    assert entry.name == "F012345678"
    assert entry.matches("aaaaaaaaaa", "any", "F012345678")
    assert not entry.matches("aaaaaaaaaa", "any", "F000000000")
    assert not entry.matches("aaaaaaaaaa", "any"), "a family that is not known yet is not this one"
    assert not entry.exact, "no single finding is meant"


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=0.26,<0.28", ("0.26.0", "0.27.0.post1"), ("0.25.0", "0.28.0")),
        ("==0.27", ("0.27.0.post1", "0.27.3"), ("0.26.0", "0.28.0.dev5+g1")),
        ("<=0.26", ("0.26.7", "0.25.0"), ("0.27.0",)),
        ("!=0.26.1", ("0.26.0", "0.27.0"), ("0.26.1",)),
    ],
)
def test_releases_that_an_entry_speaks_of(
    tmp_path: Path, text: str, inside: tuple[str, ...], outside: tuple[str, ...]
) -> None:
    entry = loaded(tmp_path, f'{ENTRY}tvm = "{text}"\n')
    assert all(entry.concerns(version) for version in inside)
    assert not any(entry.concerns(version) for version in outside)
    assert KnownFindings((entry,)).of(outside[0]).entries == ()


def test_a_day_is_written_as_toml_has_it_or_as_a_text(tmp_path: Path) -> None:
    day = datetime.date(2027, 3, 1)
    assert loaded(tmp_path, f"{ENTRY}expires = 2027-03-01\n").expires == day
    assert loaded(tmp_path, f'{ENTRY}expires = "2027-03-01"\n').expires == day


def test_cases_are_cut_short_for_single_findings_alone() -> None:
    found = signature(verdict("boom"))
    by_text = KnownFinding("", found.text, "r", "w")
    family = KnownFinding("", "", "r", "w", family="F012345678")
    assert KnownFindings((by_text, family)).ids() == {found.id}


@pytest.mark.parametrize("key", ["id", "family"])
def test_an_id_ends_where_it_ends(tmp_path: Path, key: str) -> None:
    path = tmp_path / "known.toml"
    name = "0123456789" if key == "id" else "F012345678"
    path.write_text(f'[[known]]\n{key} = "{name}\\n"\nreference = "r"\nreason = "w"\n')
    with pytest.raises(TomlError, match="must be"):
        load_known(path)


def test_each_entry_is_asked_only_about_findings_that_it_may_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [KnownFinding(f"{number:010x}", "", "r", "w") for number in range(500)]
    more = [KnownFinding("", f"s{number}", "r", "w") for number in range(500)]
    known = KnownFindings((*entries, *more, KnownFinding("", "", "r", "w", "F000000000"), entries[7]))
    asked = []
    matches = KnownFinding.matches
    monkeypatch.setattr(KnownFinding, "matches", lambda *given: asked.append(given) or matches(*given))
    assert known.find(f"{7:010x}", "x") is entries[7]
    assert known.find("ffffffffff", "x", "", f"{8:010x}") is entries[8]
    assert known.find("ffffffffff", "s9") is more[9]
    assert known.find("ffffffffff", "x", "", signature_id("s9")) is more[9]
    assert known.find("ffffffffff", "x", "F000000000") is known.entries[1000]
    assert known.find("ffffffffff", "x", "F000000001") is None
    assert known.find("", "") is None
    findings = [(f"{number:010x}", f"s{number}", "", "") for number in range(500)]
    assert known.unseen(findings) == (known.entries[1000],)
    assert len(asked) < 1100
