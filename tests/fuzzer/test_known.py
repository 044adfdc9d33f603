from pathlib import Path

import pytest

from fuzzer.known import KnownFinding, KnownFindings, load_known
from fuzzer.tomlfile import TomlError

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
        ("[[knwon]]\n", ":1: 'knwon' is not a key of a file of known findings; did you mean known?"),
        ('[[known]]\nreference = "r"\nreason = "w"\n', ":1: 'known.1' needs 'id' or 'signature'"),
        ('[[known]]\nid = "0123456789"\nreason = "w"\n', ":1: 'known.1' needs 'reference'"),
        ('[[known]]\nid = "0123456789"\nreference = "r"\n', ":1: 'known.1' needs 'reason'"),
        ('[[known]]\nid = "xyz"\nreference = "r"\nreason = "w"\n', ":2: 'known.1.id' must be the ten hex digits"),
        ('[[known]]\nid = 7\nreference = "r"\nreason = "w"\n', ":2: 'known.1.id' must be a text"),
        ('[[known]]\nid = "0123456789"\nreference = ""\n', ":3: 'known.1.reference' must be a text that is not empty"),
        (
            '[[known]]\nsignatur = "x"\n',
            ":2: 'known.1.signatur' is not a key of a known finding; did you mean signature?",
        ),
        ('[[known]]\nsignature = """a\nb"""\n', ":2: 'known.1.signature' must be one line"),
    ],
)
def test_malformed_files(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(TomlError) as caught:
        load_known(path)
    assert str(caught.value).startswith(f"{path}{expected}")
    assert "\n" not in str(caught.value)
