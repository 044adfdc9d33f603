import time
from pathlib import Path

import pytest

from corpus.case import CaseError, load, parse_case
from oracles.core.verdict import Evidence, Outcome
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

GOOD = """\
title = "t"
explanation = "e"
oracle = "mutation"
pattern = "x+"
[[passes]]
name = "Normalize"
expression = "relax.transform.Normalize()"
[expected]
"0.27.0" = "fail"
"0.28.0" = "pass"
[replica]
expression = "user:somewhere:factory"
expected = "fail"
"""


def write(tmp_path: Path, text: str) -> Path:
    directory = tmp_path / "some-case"
    directory.mkdir(exist_ok=True)
    (directory / "case.toml").write_text(text)
    return directory


def test_parses(tmp_path: Path) -> None:
    case = parse_case(write(tmp_path, GOOD))
    assert (case.slug, case.oracle, case.isolated, case.upstream) == ("some-case", OracleName.MUTATION, False, "")
    assert case.passes == (PassRef("Normalize", "relax.transform.Normalize()"),)
    old, new = case.expectation_for("0.27.0"), case.expectation_for("0.28.0")
    assert old is not None
    assert new is not None
    assert (old.outcome, old.pattern) == (Outcome.FAIL, "x+")
    assert (new.outcome, new.pattern) == (Outcome.PASS, "")
    assert case.expectation_for("0.29.0") is None
    assert case.replica is not None
    assert case.replica_passes == (PassRef("Normalize", "user:somewhere:factory"),)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('title = "t"', "title = 3", "'title' must be one line of text"),
        ('title = "t"', "", "needs 'title'"),
        ('title = "t"', 'title = "t\\n"', "'title' must be one line of text"),
        ('explanation = "e"', 'explanation = "a\\nb"', "'explanation' must be one line"),
        ('"mutation"', '"mutations"', "'oracle' 'mutations' is not an oracle"),
        ('"x+"', '"("', "'pattern' is not a regular expression"),
        ('"x+"', f'"{"(" * 3000}"', "'pattern' is not a regular expression"),
        ('"x+"', '"x{99999999999999999999}"', "'pattern' is not a regular expression"),
        ('oracle = "mutation"', 'oracle = "mutation"\nseed = 1', "'seed' is not a key of a case"),
        ('oracle = "mutation"', 'oracle = "mutation"\ninput_seed = true', "'input_seed' must be an integer"),
        ('oracle = "mutation"', 'oracle = "mutation"\nisolated = 1', "'isolated' must be true or false"),
        ('"0.28.0" = "pass"', '"0.28.0" = "skip"', "'expected.0.28.0' must be"),
        ('name = "Normalize"', "", "'passes' must be a list of tables"),
        ('expected = "fail"', "", "'replica' is invalid"),
        ('expected = "fail"', 'expected = "{0}{x}"', "'replica' is invalid: Invalid enum value '{0}{x}'"),
        ("[expected]", "[expected", "case.toml:8: not TOML"),
    ],
)
def test_malformed(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(CaseError) as caught:
        parse_case(write(tmp_path, GOOD.replace(old, new)))
    assert complaint in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "some-case" / "case.toml"))
    assert "\n" not in str(caught.value)


def test_a_replica_stands_for_one_pass(tmp_path: Path) -> None:
    second = '[[passes]]\nname = "B"\nexpression = "b"\n[expected]'
    with pytest.raises(CaseError, match="stands for one pass"):
        parse_case(write(tmp_path, GOOD.replace("[expected]", second)))


def test_unknown_slug_has_near_matches() -> None:
    with pytest.raises(CaseError, match="did you mean lift-transform-params-twice"):
        load(["lift-transform-param-twice"])


def test_only_the_beginning_of_a_failure_is_searched(tmp_path: Path) -> None:
    case = parse_case(write(tmp_path, GOOD.replace('"x+"', '"run-error.*never"')))
    begun = time.process_time()
    assert not case.shows_in(Evidence("crash", "run-error " * 100_000))
    assert time.process_time() - begun < 5
