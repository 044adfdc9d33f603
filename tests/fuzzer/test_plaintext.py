from fuzzer.core.text import first_line, printable, shorten


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    assert printable("a\x1b[31mb\x07\r\x9b\nc\u202e") == "a?[31mb???\nc?"
    assert first_line("\n  a\x1bb \nc") == "a?b"


def test_first_line_falls_back() -> None:
    assert first_line(" \n", "kind") == "kind"


def test_shorten_marks_the_cut() -> None:
    assert shorten("abcdefgh", 6) == "abc..."
    assert shorten("abcdef", 6) == "abcdef"
