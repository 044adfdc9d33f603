from collections.abc import Collection
from pathlib import Path

import pytest
from msgspec.structs import fields

from fuzzer.core.toml import TomlError
from fuzzer.gate.policy import Comparing, KnownEntries, Limit, Policy, Rule, Weight, load_policy

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


def test_every_oracle_and_every_pass(tmp_path: Path) -> None:
    """A table with a name takes from the table of * what it does not say itself."""
    policy = load(
        tmp_path,
        """\
[campaign]
max_invalid_share = 0
[oracles."*"]
min_checks = 100
max_skip_share = 0.5
[oracles.crash]
min_checks = 7
[passes."*"]
min_trigger_rate = 0.1
new_findings = "note"
[passes."*".numeric]
min_checks = 3
[passes.my_pass]
min_trigger_rate = 0.2
[passes.my_pass.numeric]
regression = false
""",
    )
    found = {rule.name: rule for rule in policy.expanded(["crash", "numeric"], ["LegalizeOps", "my_pass"])}
    assert list(found) == [
        "campaign", "crash", "my_pass", "my_pass numeric", "numeric", "LegalizeOps", "LegalizeOps numeric",
    ]  # fmt: skip
    assert found["crash"].limit == Limit(None, 7, max_skip_share=0.5)
    assert found["numeric"].limit == Limit(None, 100, max_skip_share=0.5)
    assert found["my_pass"].limit == Limit(min_trigger_rate=0.2, new_findings=Weight.NOTE)
    assert found["LegalizeOps"].limit == Limit(min_trigger_rate=0.1, new_findings=Weight.NOTE)
    assert found["my_pass numeric"].limit == Limit(min_checks=3, regression=False)
    assert [name for name, rule in found.items() if not rule.own] == ["numeric", "LegalizeOps", "LegalizeOps numeric"]


def test_how_it_is_compared(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("{}")
    text = 'baseline = "b.json"\nconfidence = 0.99\n[regression]\nfalse_alarms = 0.05\naccept_findings = true\n'
    policy = load(tmp_path, text + '[known_entries]\nstale = "fail"\nstale_after = 3\n')
    assert policy.baseline == tmp_path / "b.json"
    assert policy.confidence == 0.99
    assert policy.comparing == Comparing(false_alarms=0.05, accept_findings=True)
    assert policy.entries == KnownEntries(Weight.FAIL, Weight.NOTE, Weight.FAIL, stale_after=3)


def test_the_page_has_every_key() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text()
    keys = [each.name for each in (*fields(Limit), *fields(Comparing), *fields(KnownEntries))]
    assert [key for key in (*keys, "known", "baseline", "confidence") if key not in page] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[oracles.crash]\nmax_skip_share = 2\n", ":2: 'oracles.crash.max_skip_share' must be a number from 0 to 1"),
        (
            "[oracles.crash]\nmin_trigger_rate = 0.1\n",
            ":2: 'oracles.crash.min_trigger_rate' is not a key here",
        ),
        ('[oracles."*"]\nmin_checks = 0\n', ":2: 'oracles.*.min_checks' must be a whole number of at least 1"),
        ('[passes."*".crash]\nmin_cheks = 1\n', ":2: 'passes.*.crash.min_cheks' is not a key here; did you mean "),
        ('[campaign]\nnew_findings = "no"\n', """:2: 'campaign.new_findings' must be "fail" or "note\""""),
        ("[campaign]\nregression = 1\n", ":2: 'campaign.regression' must be true or false"),
        ("campaign = 1\n", ":1: 'campaign' must be a table: write [campaign]"),
        ("confidence = 1\n", ":1: 'confidence' must be a number from 0.5 to 0.9999"),
        ("baseline = 1\n", ":1: 'baseline' must be the path of a file"),
        ("[regression]\nalpha = 1\n", ":2: 'regression.alpha' is not a key here"),
        ("[regression]\nfalse_alarms = 0\n", ":2: 'regression.false_alarms' must be a number from 1e-09 to 0.5"),
        ('[known_entries]\nold = "fail"\n', ":2: 'known_entries.old' is not a key here"),
        ("[known_entries]\nstale_after = true\n", ":2: 'known_entries.stale_after' must be a whole number"),
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
        (
            "[passes.legalizeOp]\n",
            ":1: 'passes.legalizeOp' is not a pass of TVM or of the campaign; did you mean LegalizeOps?",
        ),
        ("[passes.my_pas]\n", ":1: 'passes.my_pas' is not a pass of TVM or of the campaign; did you mean my_pass?"),
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
