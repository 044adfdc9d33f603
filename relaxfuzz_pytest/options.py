"""The options of the command line, checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.config import ConfigError, parse_duration, parse_whole


class OptionError(Exception):
    """An option that cannot be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class Options:
    """How tests that judge passes are run.

    Attributes:
        seconds: Draw modules for so long in each; ``None``: as many as Hypothesis is set to.
        seed: Decides what is drawn; ``None``: Hypothesis does.
        minimize: Seconds for making a failing module small.
        case_timeout: Seconds for one example.
        out: Directory of the repro scripts; ``None``: pytest's cache.
    """

    seconds: float | None = None
    seed: int | None = None
    minimize: float = 30.0
    case_timeout: float = 20.0
    out: Path | None = None


def options_of(config: Any) -> Options:
    """The options of a run of pytest.

    Raises:
        OptionError: One of them makes no sense.
    """
    given = {
        name: config.getoption(f"relaxfuzz_{name}") for name in ("time", "seed", "minimize", "case_timeout", "out")
    }
    try:
        return Options(
            None if given["time"] is None else parse_duration(given["time"]),
            None if given["seed"] is None else parse_whole(given["seed"], "--relaxfuzz-seed", 0, 2**63 - 1),
            parse_duration(given["minimize"]),
            parse_duration(given["case_timeout"]),
            None if given["out"] is None else Path(given["out"]),
        )
    except ConfigError as error:
        text = str(error)
        raise OptionError(text if text.startswith("--") else f"--relaxfuzz: {text}") from error
