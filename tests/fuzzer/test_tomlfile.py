from pathlib import Path

import pytest

from fuzzer.core.toml import TomlError, parse_toml, read_toml
from relaxkit.near import near_matches

TEXT = """\
# a comment
top = 1

[oracles.crash]
min_pass_rate = 0.9  # [not.a.header]

[passes."Lift.Transform"]
"min_checks" = 3

[[known]]
id = "a"

[[known]]
id = "b"
reason = "r"
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("top",), 2),
        (("oracles",), 1),
        (("oracles", "crash"), 4),
        (("oracles", "crash", "min_pass_rate"), 5),
        (("oracles", "crash", "absent"), 4),
        (("passes", "Lift.Transform", "min_checks"), 8),
        (("known", 0, "id"), 11),
        (("known", 1), 13),
        (("known", 1, "id"), 14),
        (("known", 1, "reason"), 15),
    ],
)
def test_line_of_a_key(tmp_path: Path, key: tuple[str | int, ...], line: int) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(TEXT)
    assert read_toml(path).line(key) == line


def test_error_names_file_line_and_key_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(TEXT)
    assert str(read_toml(path).error(("known", 1, "id"), "is wrong")) == f"{path}:14: 'known.2.id' is wrong"


@pytest.mark.parametrize(
    ("text", "line", "shown"),
    [
        ("a = 1\nb = \n", 2, "'b'"),
        ("a = 1\na = 2\n", 2, "'a'"),
        ("[oracles\n", 1, "[oracles"),
        ('a = "open\n', 1, "'a'"),
        ('". " ' * 30 + "x", 1, '". "'),
        ("a." * 30 + " x", 1, "a."),
        (f"[{' ' * 100_000}a", 1, "["),
    ],
)
@pytest.mark.timeout(60)  # the last ones took for ever
def test_syntax_errors_name_the_line(tmp_path: Path, text: str, line: int, shown: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(TomlError) as caught:
        parse_toml(path, text, quote=True)
    message = str(caught.value)
    assert message.startswith(f"{path}:{line}: not TOML")
    assert shown in message
    assert "\n" not in message


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match="No such file"):
        read_toml(tmp_path / "absent.toml")
    with pytest.raises(TomlError, match="directory"):
        read_toml(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"a = '\xff\xfe'\n")
    with pytest.raises(TomlError, match="not UTF-8 at byte 5"):
        read_toml(binary)


def test_near_matches_ignore_case() -> None:
    assert near_matches("legalizeop", ["LegalizeOps", "FuseOps"]) == "; did you mean LegalizeOps?"
    assert near_matches("zzz", ["LegalizeOps"]) == ""
