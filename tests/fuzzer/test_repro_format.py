"""Long lines of scripts: cut inside brackets, and the same to the parser."""

from __future__ import annotations

import ast

import pytest

from fuzzer.repro.module.format import WIDTH, wrapped

LONG = [
    "def main("
    + ", ".join(f'x{i}: R.Tensor((2, 3), dtype="float32")' for i in range(6))
    + ') -> R.Tensor("f", 2): pass',
    "lv: R.Tuple(" + "R.Tensor((1, 2, 3)), " * 8 + ") = R.nn.batch_norm(x, " + "R.const([[1.0, 2.0]]), " * 7 + ")",
    "y = f(" + ", ".join(f"{i}.25" for i in range(60)) + ")",
    "y = f('"
    + "a, b) ( " * 8
    + "', \""
    + '\\" ] [ ' * 8
    + '", (1,), {"k": [1, 2], \'l\': '
    + "g(h(1, 2), 3)" * 1
    + "})",
    "return check(" + "lambda a, b: [a, b], " * 8 + "*rest, **more)",
]


@pytest.mark.parametrize("line", LONG, ids=range(len(LONG)))
def test_a_long_line_means_the_same_in_short_ones(line: str) -> None:
    text = wrapped(line)
    assert max(map(len, text.splitlines())) <= WIDTH
    before, after = (ast.dump(ast.parse(f"def outer():\n    {item}")) for item in (line, text.replace("\n", "\n    ")))
    assert before == after


def test_what_is_short_or_has_no_brackets_stays() -> None:
    for text in ("short(1, 2)", "# " + "a comment (with, brackets) " * 9, "x = '" + "a" * 200 + "'", ""):
        assert wrapped(text) == text


def test_brackets_over_several_lines_do_no_harm() -> None:
    text = "f(\n    " + "a, " * 60 + "\n) + " + "b + " * 40 + "c"
    assert wrapped(text)


def test_what_nests_too_deeply_stays() -> None:
    text = "[" * 3000 + "]" * 3000
    assert wrapped(text) == text


def test_many_numbers_fill_lines() -> None:
    assert len(wrapped("x = [" + ", ".join(map(str, range(100))) + "]").splitlines()) < 10
