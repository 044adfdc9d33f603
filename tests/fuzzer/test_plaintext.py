from fuzzer.core.text import cut, first_line, first_lines, plain, printable, shorten, without_headers


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    assert printable("a\x1b[31mb\x07\r\x9b\nc\u202e") == "a?[31mb???\nc?"
    assert first_line("\n  a\x1bb \nc") == "a?b"


def test_first_line_falls_back() -> None:
    assert first_line(" \n", "kind") == "kind"


def test_shorten_marks_the_cut() -> None:
    assert shorten("abcdefgh", 6) == "abc..."
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("the pass raises an error", 15) == "the pass...", "behind a word"
    assert shorten("a longwordthatdoesnotend", 15) == "a longwordth...", "of which little is left otherwise"


OP = (
    'In ir.Op(span=None, ty=ir.Type(span=None), name="relax.maximum", description="", arguments=(ir.ArgumentInfo('
    'name="x1", description="The first (or only) one."),), attrs_type_key="", num_inputs=2,\n support_level=10)'
)


def test_one_line_alone_is_not_left_out() -> None:
    lines = ["a", "b", "c"]
    assert first_lines(lines, 3) == lines
    assert first_lines(lines, 2, "# ") == ["a", "# ... 2 more lines"], "the line that says so has the room of one"


def test_operators_are_named_and_not_printed_node_by_node() -> None:
    assert plain(f"{OP}, the first input differs") == "In relax.maximum, the first input differs"
    assert printable(OP.partition("\n")[0]) == "In relax.maximum"


def test_a_text_is_cut_at_the_end_of_a_sentence_and_not_within_brackets() -> None:
    assert cut("It fails, indeed. The other sentence is too long.", 30) == "It fails, indeed"
    assert cut("main returns 1 instead of 2 (it gives relax.permute_dims x)", 45) == "main returns 1 instead of 2..."
    assert cut("short (and whole)", 17) == "short (and whole)"


def test_a_quoted_function_stands_without_the_imports_above_it() -> None:
    imports = "# from tvm.script import tirx as T\n# from tvm.tirx.layout import Axis\n\n"
    assert (
        without_headers(f"Function {imports}@R.function\ndef f(): is wrong")
        == "Function @R.function\ndef f(): is wrong"
    )
