"""The public face: every name resolves to the one that its package defines, and importing it loads no TVM."""

from __future__ import annotations

import subprocess
import sys

import pytest

import oracles
import relaxfuzz
import strategies


@pytest.mark.parametrize("name", relaxfuzz.__all__)
def test_a_public_name_is_that_of_its_package(name: str) -> None:
    homes = [room for room in (oracles, strategies) if name in room.__all__]
    assert len(homes) == 1
    assert getattr(relaxfuzz, name) is getattr(homes[0], name)


def test_nothing_public_is_left_out() -> None:
    assert set(relaxfuzz.__all__) == {*oracles.__all__, *strategies.__all__}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'checks'"):
        _ = relaxfuzz.checks  # type: ignore[attr-defined]  # what is tested


def test_importing_it_does_not_load_tvm() -> None:
    code = "import relaxfuzz, sys; dir(relaxfuzz); sys.exit('tvm' in sys.modules or 'hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_the_command_line_is_a_module() -> None:
    command = [sys.executable, "-m", "relaxfuzz", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: relaxfuzz [-q | -v] COMMAND")
