"""The claims on what is killed: exact kills are taken, and each wrong one is seen."""

from __future__ import annotations

import pytest
import tvm
from lowered_script import HEADER

from relaxkit.passes.claims.kills import killed_too_early, killed_without_register, not_killed
from relaxkit.passes.contract import Ran

NEW = 'R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), 0, R.str("global"))'


def parsed(*lines: str) -> Ran:
    """The module whose main consists of these lines, with NEW, KILL(a) and K(a, b) written out."""
    text = HEADER
    for line in lines:
        body = line.replace("NEW", NEW)
        body = body.replace("KILL(", "_ = R.memory.kill_tensor(").replace("K(", "_ = cls.step(")
        text += " " * 8 + body + "\n"
    module = tvm.script.from_source(text, check_well_formed=False)
    return Ran(module, module, {})


def first(text: str) -> str:
    return text.partition("\n")[0]


CLEAN = ("a = NEW", "K(x, a)", "b = NEW", "K(a, b)", "KILL(a)", "r = NEW", "K(b, r)", "KILL(b)", "return r")


def test_exact_kills_are_taken() -> None:
    ran = parsed(*CLEAN)
    assert (killed_too_early(ran), killed_without_register(ran), not_killed(ran)) == ("", "", "")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("a = NEW", "KILL(a)", "K(x, a)", "return x"), "a variable is used after it was killed"),
        (("a = NEW", "K(x, a)", "KILL(a)", "return a"), "a variable is used after it was killed"),
        (("a = NEW", "K(x, a)", "KILL(a)", "t = (x, a)", "return t"), "a variable is used after it was killed"),
        (("a = NEW", "K(x, a)", "KILL(a)", "KILL(a)", "return x"), "a variable is killed twice"),
        (
            ("a = NEW", "K(x, a)", "if c:", "    KILL(a)", "    r = x", "else:", "    r = x", "K(a, r)", "return r"),
            "a variable is used after it was killed",
        ),
        (
            ("a = NEW", "if c:", "    KILL(a)", "    r = x", "else:", "    K(x, a)", "    r = x", "return r"),
            "",
        ),
    ],
)
def test_nothing_is_used_after_it_was_killed_on_any_way(lines: tuple[str, ...], said: str) -> None:
    assert first(killed_too_early(parsed(*lines))) == said


@pytest.mark.parametrize("killing", ["if", "else"])
@pytest.mark.parametrize("using", ["if", "else"])
def test_each_side_of_each_of_many_branches_is_taken(killing: str, using: str) -> None:
    """The first branch kills what the last one uses."""
    lines = ["a = NEW"]
    for number in range(13):
        for each in ("if", "else"):
            extra = {(0, killing): ["    KILL(a)"], (12, using): ["    K(a, x)"]}.get((number, each), [])
            lines += ["if c:" if each == "if" else "else:", *extra, f"    r{number} = x"]
    assert first(killed_too_early(parsed(*lines, "return r12"))) == "a variable is used after it was killed"


def test_another_name_has_a_register_of_its_own() -> None:
    assert killed_too_early(parsed("a = NEW", "b = a", "K(x, a)", "KILL(a)", "return b")) == ""


def test_constants_have_no_register() -> None:
    ran = parsed('a = R.const(1.0, "float32")', "KILL(a)", "return x")
    assert first(killed_without_register(ran)) == "what lives in no register is killed"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("a = NEW", "K(x, a)", "return x"), "a variable is not killed after its last use"),
        (("a = NEW", "K(x, a)", "K(x, x)", "KILL(a)", "return x"), "a variable is not killed after its last use"),
        (("a = NEW", "K(x, a)", "b = NEW", "K(x, b)", "KILL(b)", "return a"), ""),
        (("a = NEW", "if c:", "    K(x, a)", "    r = x", "else:", "    r = x", "return r"), ""),
        (
            ("if c:", "    r = x", "else:", "    r = x", "a = NEW", "K(r, a)", "return r"),
            "a variable is not killed after its last use",
        ),
        (
            ("if c:", "    a = NEW", "    K(x, a)", "    r = x", "else:", "    r = x", "return r"),
            "a variable is not killed after its last use",
        ),
    ],
)
def test_everything_is_killed_behind_its_last_use(lines: tuple[str, ...], said: str) -> None:
    assert first(not_killed(parsed(*lines))) == said
