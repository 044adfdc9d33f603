from collections.abc import Collection
from pathlib import Path

import pytest

from fuzzer.policy import Limit, Policy, Rule, load_policy
from fuzzer.tomlfile import TomlError

CAMPAIGN = ("LegalizeOps", "my_pass")


def all_passes() -> Collection[str]:
    return ("LegalizeOps", "FuseOps", "FoldConstant")


def load(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    return load_policy(path, CAMPAIGN, all_passes)


def test_rules_in_order(tmp_path: Path) -> None:
    policy = load(
        tmp_path,
        """\
[oracles.crash]
min_pass_rate = 0.99
min_checks = 100
[oracles.numeric]
min_checks = 5
[passes.LegalizeOps]
min_pass_rate = 1
[passes.my_pass.idempotence]
min_checks = 7
[passes.FuseOps]
""",
    )
    assert policy.rules == (
        Rule("crash", None, Limit(0.99, 100)),
        Rule("numeric", None, Limit(None, 5)),
        Rule(None, "LegalizeOps", Limit(1.0, 1)),
        Rule("idempotence", "my_pass", Limit(None, 7)),
        Rule(None, "FuseOps", Limit(None, 1)),
    )
    assert [rule.name for rule in policy.rules][3] == "my_pass idempotence"
    assert policy.known.entries == ()


def test_known_inline_and_beside(tmp_path: Path) -> None:
    entry = '[[known]]\nid = "0123456789"\nreference = "r"\nreason = "w"\n'
    assert len(load(tmp_path, entry).known.entries) == 1
    (tmp_path / "known.toml").write_text(entry)
    assert len(load(tmp_path, 'known = "known.toml"\n').known.entries) == 1


def test_passes_of_the_campaign_need_no_table(tmp_path: Path) -> None:
    def forbidden() -> Collection[str]:
        raise AssertionError("asked for the table of contracts")

    path = tmp_path / "policy.toml"
    path.write_text("[passes.my_pass]\nmin_checks = 1\n")
    assert len(load_policy(path, CAMPAIGN, forbidden).rules) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("orcales = 1\n", ":1: 'orcales' is not a key of a policy; did you mean oracles?"),
        ("oracles = 1\n", ":1: 'oracles' must be a table"),
        ("[oracles]\ncrash = 0.9\n", ":2: 'oracles.crash' must be a table: write [oracles.crash]"),
        ("\n[oracles.crsh]\n", ":2: 'oracles.crsh' is not an oracle; did you mean crash?"),
        (
            "[oracles.well_formed]\n",
            ":1: 'oracles.well_formed' is not an oracle; did you mean well-formed?",
        ),
        (
            "[oracles.crash]\nmin_passrate = 1\n",
            ":2: 'oracles.crash.min_passrate' is not a key here; did you mean min_pass_rate?",
        ),
        ("[oracles.crash]\nmin_pass_rate = 99.5\n", ":2: 'oracles.crash.min_pass_rate' must be a number from 0 to 1"),
        ("[oracles.crash]\nmin_pass_rate = -0.1\n", ":2: 'oracles.crash.min_pass_rate' must be a number"),
        ("[oracles.crash]\nmin_pass_rate = nan\n", ":2: 'oracles.crash.min_pass_rate' must be a number"),
        ("[oracles.crash]\nmin_pass_rate = true\n", ":2: 'oracles.crash.min_pass_rate' must be a number"),
        ('[oracles.crash]\nmin_pass_rate = "1"\n', ":2: 'oracles.crash.min_pass_rate' must be a number"),
        ("[oracles.crash]\nmin_checks = 0\n", ":2: 'oracles.crash.min_checks' must be a whole number of at least 1"),
        ("[oracles.crash]\nmin_checks = 1.5\n", ":2: 'oracles.crash.min_checks' must be a whole number"),
        ("[oracles.crash]\nmin_checks = false\n", ":2: 'oracles.crash.min_checks' must be a whole number"),
        ("[passes.legalizeOp]\n", ":1: 'passes.legalizeOp' is not a pass; did you mean LegalizeOps?"),
        ("[passes.my_pas]\n", ":1: 'passes.my_pas' is not a pass; did you mean my_pass?"),
        ("[passes.my_pass]\ncrash = 1\n", ":2: 'passes.my_pass.crash' must be a table"),
        ("[passes.my_pass]\ncrush = 1\n", ":2: 'passes.my_pass.crush' is not a key here; did you mean crash?"),
        (
            "[passes.my_pass.crash]\nmax_checks = 1\n",
            ":2: 'passes.my_pass.crash.max_checks' is not a key here; did you mean min_checks?",
        ),
        ("passes = []\n", ":1: 'passes' must be a table"),
        ("\nknown = 'absent.toml'\n", ":2: 'known' names 'absent.toml', which is not a file"),
        ("known = 4\n", ":1: 'known' must be an array of tables"),
        ("a = [1,\n", ":1: not TOML at 'a'"),
    ],
)
def test_malformed_policies(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(TomlError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'policy.toml'}{expected}")
    assert "\n" not in str(caught.value)


def test_errors_of_the_known_file_name_that_file(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text("[[known]]\n")
    with pytest.raises(TomlError, match=r"known\.toml:1: 'known\.1' needs"):
        load(tmp_path, 'known = "known.toml"\n')
