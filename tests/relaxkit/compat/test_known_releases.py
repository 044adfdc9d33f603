"""Which versions work together, and what is said of others."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from fuzzer.core import installed as environment
from fuzzer.core.installed import EnvironmentFault, Versions, require_working_pair, untested
from relaxkit.compat.known import RELEASES, is_newer, known, numbers

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What pip says is installed."""
    said: dict[str, str] = {}

    def version(name: str) -> str:
        if name not in said:
            raise importlib.metadata.PackageNotFoundError(name)
        return said[name]

    monkeypatch.setattr(environment.importlib.metadata, "version", version)
    return said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.27.0.post1", (0, 27, 0)),
        ("0.28.dev123+g1a2b3c", (0, 28)),
        ("0.13.1rc2", (0, 13, 1)),
        ("0.1.14.post0", (0, 1, 14)),
    ],
)
def test_numbers_of_versions(text: str, expected: tuple[int, ...]) -> None:
    assert numbers(text) == expected


@pytest.mark.parametrize(
    ("tvm", "ffi"), [("0.27.0.post1", "0.1.14.post1"), ("0.26.0", "0.1.13.post3"), ("0.25.0", "0.1.12")]
)
def test_tested_pairs_work_without_a_word(versions: dict[str, str], tvm: str, ffi: str) -> None:
    versions.update({"apache-tvm": tvm, "apache-tvm-ffi": ffi})
    assert require_working_pair() == Versions(tvm, ffi)
    assert untested(Versions(tvm, ffi)) == ""


@pytest.mark.parametrize(
    ("tvm", "ffi", "pin"),
    [("0.26.0", "0.1.14.post1", ">=0.1.13.post2,<0.1.14"), ("0.25.0", "0.1.13.post3", ">=0.1.12,<0.1.13")],
)
def test_a_pair_that_crashes_is_refused_with_its_pin(versions: dict[str, str], tvm: str, ffi: str, pin: str) -> None:
    versions.update({"apache-tvm": tvm, "apache-tvm-ffi": ffi})
    with pytest.raises(EnvironmentFault, match="different ABI") as raised:
        require_working_pair()
    assert f"pip install 'apache-tvm-ffi{pin}'" in str(raised.value)


def test_a_nightly_build_is_taken_with_one_line_of_warning(versions: dict[str, str]) -> None:
    versions.update({"apache-tvm": "0.28.dev77+gabc", "apache-tvm-ffi": "0.1.17"})
    found = require_working_pair()
    assert "newer than the tested releases" in untested(found)
    assert "\n" not in untested(found)
    assert is_newer(found.tvm)


def test_a_release_before_the_first_tested_one_is_refused(versions: dict[str, str]) -> None:
    versions.update({"apache-tvm": "0.24.1", "apache-tvm-ffi": "0.1.9"})
    with pytest.raises(EnvironmentFault, match=r"not supported \(supported: 0\.27\.0\.post1, 0\.26\.0, 0\.25\.0\)"):
        require_working_pair()


def test_a_build_from_source_on_the_path_needs_no_metadata(
    versions: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "tvm"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('must not be imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    versions["apache-tvm-ffi"] = "0.1.17"
    assert require_working_pair().tvm == environment.UNKNOWN
    assert "none of the tested releases" in untested(environment.installed())
    (package / "libinfo.py").write_text('    __version__ = "0.29.0"\n')
    assert require_working_pair().tvm == "0.29.0"


def test_the_packaging_says_the_same_as_the_table() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    newest, *older = RELEASES
    assert f'"apache-tvm>={RELEASES[-1].tvm},<={newest.tvm}"' in text
    for release in older:
        assert f'["apache-tvm=={release.tvm}", "apache-tvm-ffi==' in text
    assert known(newest.tvm) is newest
