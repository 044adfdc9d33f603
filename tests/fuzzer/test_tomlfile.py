from pathlib import Path

import msgspec
import pytest

from fuzzer.core import toml
from fuzzer.core.toml import Line, TomlError, parse_toml, read_record, read_toml
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


class _Entry(msgspec.Struct):
    reason: Line = ""


def test_lines_of_text() -> None:
    for text in ("x", " x ", "\tx y"):
        assert msgspec.convert(text, Line) == text
    for text in ("", " ", " \n", "x\n", "\nx", "x\ny"):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(text, Line)


@pytest.mark.timeout(60)  # it took half an hour
@pytest.mark.parametrize("text", ["x" * 1_000_000 + "\n", " " * 1_000_000, " " * 500_000 + "x" * 500_000 + "\n"])
def test_a_long_line_is_read_once(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, Line)


@pytest.mark.parametrize("key", ['"="', "'='", r'"\"="', '"a=b"', "'\"='", "a"])
def test_keys_of_many_parts_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(toml.tomllib, "loads", lambda _: pytest.fail("read"))  # with memory of the square of the parts
    for line in (f"{key}.{'b.' * 20_000}c = 1", f"[{key}.{'b.' * 20_000}c]"):
        with pytest.raises(TomlError, match="a key of more than 32 parts"):
            parse_toml(tmp_path / "policy.toml", line)


@pytest.mark.parametrize(
    "text",
    [
        f"# {'.' * 60}\na = 1",
        f'a = """\nContents {"." * 60} 5\n"""',
        f"a = [\n{'1.5, ' * 60}\n]",
        f"a = 1 # {'b.' * 60}",
    ],
)
def test_dots_of_comments_texts_and_numbers_are_no_parts(tmp_path: Path, text: str) -> None:
    assert list(parse_toml(tmp_path / "x", text).table) == ["a"]


@pytest.mark.timeout(60)
def test_dots_of_strings_are_no_parts(tmp_path: Path) -> None:
    name, value = "." * 100, '\\"' * 500_000
    assert parse_toml(tmp_path / "x", f'"{name}" = 1').table == {name: 1}
    assert len(parse_toml(tmp_path / "x", f'a = "{value}{name}"').table["a"]) == 500_100


@pytest.mark.parametrize("value", [f"{{{'a.' * 20_000}a = 1}}", "[" * 90 + "]" * 90, "[" * 10_000 + "]" * 10_000])
def test_what_is_nested_too_deeply_to_be_printed_is_refused(tmp_path: Path, value: str) -> None:
    text = f"reason = {value}"
    with pytest.raises(TomlError, match=r"x\.toml: nested too deeply$"):
        read_record(file := parse_toml(tmp_path / "x.toml", text), (), file.table, _Entry)


def test_only_so_many_short_names_are_compared() -> None:
    assert near_matches("Legalize" * 10, ["Legalize" * 10 + "s"]) == ""
    assert near_matches("Legalize", ["x" * 1000, "Legalizes"]) == "; did you mean Legalizes?"
    assert near_matches("Legalize", [*map(str, range(1000)), "Legalizes"]) == ""
