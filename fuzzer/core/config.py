"""Configuration of a campaign: from the command line and a TOML file to one checked record."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fuzzer.core.toml import TomlError, TomlFile, read_toml
from fuzzer.core.verb import OPTIONS, UsageError
from fuzzer.worker.worker import DEFAULT_MEMORY_LIMIT, DEFAULT_TIME_LIMIT
from relaxkit.near import near_matches
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import USER_PREFIX, PassRef, PassReferenceError, split_target

MAX_WORKERS = 256
MAX_SECONDS = 366 * 86400

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_MOST_MEMORY = 1 << 47  # bytes: the addresses of a process on x86-64
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?B?)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class ConfigError(UsageError):
    """A configuration that cannot be used; the message is one line for the user."""


@dataclass(frozen=True, slots=True)
class Config:
    """Configuration of a campaign.

    Attributes:
        seed: Decides everything that is drawn.
        passes: Names of TVM's passes under test.
        user_passes: Passes that the user brings; when there are some and ``passes`` is empty, only these are tested.
        oracles: Oracles that judge.
        max_examples: Subjects to judge, or ``None``.
        seconds: Wall time to spend, or ``None``; exactly one of the two budgets is given.
        workers: Isolated processes at work at the same time.
        case_timeout: Seconds for one case.
        memory_limit: Bytes for one process.
        seeds: Directory of the seed collection that a share of the modules is drawn from; empty without one.
        seeds_digest: Content hash of that collection, which decides what is drawn, wherever it lies.
        plugins: What is loaded besides, in every process (``relaxkit.passes.plugins``).
        operators: Weights of operators that are drawn more often (``strategies.ir_modules``).
        plants: Code of the user's that is planted in modules, ``FILE.py:FUNCTION`` or ``package.module:FUNCTION``.
        shares: Whether oracles are asked of a share of cases where they never failed (``fuzzer.shard.shares``).
        coverage: Build id of TVM's compiler, if the blocks that it has are watched; alone it decides no result.
        guide: Whether functions that cases enter decide what is drawn (``fuzzer.shard.guidance``).
        code: Files of the user's passes and plugins, each with its content hash; empty in older campaigns.
    """

    seed: int
    passes: tuple[str, ...]
    user_passes: tuple[PassRef, ...]
    oracles: tuple[OracleName, ...]
    max_examples: int | None
    seconds: float | None
    workers: int
    case_timeout: float = DEFAULT_TIME_LIMIT
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    seeds: str = ""
    seeds_digest: str = ""
    plugins: tuple[str, ...] = ()
    shares: bool = False
    code: tuple[tuple[str, str], ...] = ()
    operators: tuple[tuple[str, int], ...] = ()
    plants: tuple[str, ...] = ()
    coverage: str = ""
    guide: bool = False

    @property
    def budget_text(self) -> str:
        """The budget, for people."""
        return f"{self.max_examples} cases" if self.seconds is None else f"{self.seconds:g} s"

    @property
    def identity(self) -> str:
        """Hash of all that decides what is drawn and how it is judged; a campaign is resumed only with its own."""
        always = {
            "seed": self.seed, "passes": self.passes, "oracles": [str(name) for name in self.oracles],
            "user": [(ref.name, ref.expression) for ref in self.user_passes],
        }  # fmt: skip
        # Absent where empty, so that a campaign without them keeps its identity.
        where_set = {
            "seeds": self.seeds_digest, "plugins": self.plugins, "shares": "" if self.shares else "off",
            "operators": self.operators, "plants": self.plants, "guide": "on" if self.guide else "",
        }  # fmt: skip
        what = always | {name: value for name, value in where_set.items() if value}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]

    def names(self) -> tuple[str, ...]:
        """Names of all passes under test."""
        return self.passes + tuple(ref.name for ref in self.user_passes)

    def to_json(self) -> str:
        """The configuration as text, for the store."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Config:
        """Read what :meth:`to_json` wrote."""
        return msgspec.json.decode(text, type=cls)


def parse_duration(text: str) -> float:
    """Seconds of ``90``, ``90s``, ``30m``, ``8h``, ``1h30m``; raises ``ConfigError``."""
    match = _DURATION.fullmatch(text.strip())
    if not text.strip() or match is None or not any(match.groups()):
        raise ConfigError(f"'{text}' is not a time (write 90s, 30m, 8h or 1h30m)")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = days * 86400 + hours * 3600 + minutes * 60 + seconds
    if not 0 < total <= MAX_SECONDS:
        raise ConfigError(f"'{text}' is not a valid time (more than 0, at most a year)")
    return total


def parse_size(text: str) -> int:
    """Bytes of ``3GiB``, ``800M``; raises ``ConfigError``."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"'{text}' is not a size (write 3GiB or 800MiB)")
    size = int(min(float(match.group(1)), _MOST_MEMORY) * _UNITS[(match.group(2) or "")[:1].lower()])
    if size < 512 << 20:
        raise ConfigError(f"'{text}' is too little memory (TVM itself needs 512 MiB)")
    if size >= _MOST_MEMORY:
        raise ConfigError(f"'{text[:40]}' is more memory than a process can have")
    return size


def parse_whole(text: str, what: str, least: int, most: int) -> int:
    """A whole number within limits; raises ``ConfigError``."""
    try:
        number = int(text)
    except ValueError:
        raise ConfigError(f"{what} '{text}' is not a whole number") from None
    if not least <= number <= most:
        raise ConfigError(f"{what} {number} is not between {least} and {most}")
    return number


def parse_oracles(text: str) -> tuple[OracleName, ...]:
    """Oracles named in ``a,b``; raises ``ConfigError``."""
    known = [name.value for name in OracleName]
    chosen = []
    for name in _split(text):
        if name not in known:
            raise ConfigError(f"no oracle is called '{name}'{near_matches(name, known)} (oracles: {', '.join(known)})")
        chosen.append(OracleName(name))
    if not chosen:
        raise ConfigError("no oracle is named")
    return tuple(name for name in OracleName if name in chosen)


def parse_operators(text: str) -> tuple[tuple[str, int], ...]:
    """Operators and weights of ``relax.split=5,relax.concat=2``; raises ``ConfigError``."""
    from strategies.modules import named_rows

    # Not split at the commas of a nested call, such as relax.add(_, relax.matmul)=5.
    parts = re.findall(r"[^=]+=[^,]*", text) if "(" in text else _split(text)
    weights = {name.strip(" ,"): number for name, _, number in (part.partition("=") for part in parts)}
    try:
        rows = named_rows(weights)
    except ValueError as error:
        raise ConfigError(f"--operators: {error}{near_matches(text, ['auto'])}") from None
    numbers = {name: parse_whole(weights[name], f"--operators: the weight of {name},", 1, 1000) for name in rows}
    return tuple((row.name, numbers[name]) for name, row in rows.items())


def parse_switch(text: str, what: str) -> bool:
    """Return what ``on`` or ``off`` means; raises ``ConfigError``."""
    if text not in ("on", "off"):
        raise ConfigError(f"{what} '{text}' is neither on nor off")
    return text == "on"


def parse_passes(text: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Passes named in ``A,B``; raises ``ConfigError``."""
    chosen = _split(text)
    for name in chosen:
        if name not in known:
            raise ConfigError(
                f"no pass with a contract is called '{name}'{near_matches(name, known)} (`relaxfuzz passes` lists them)"
            )
    if not chosen:
        raise ConfigError("no pass is named")
    return tuple(dict.fromkeys(chosen))


def user_pass(target: str) -> PassRef:
    """Reference to a pass of the user's, ``FILE.py:FACTORY`` or ``package.module:FACTORY``; raises ``ConfigError``."""
    absolute = absolute_target(target, "--pass")
    return PassRef(split_target(absolute)[1], f"{USER_PREFIX}{absolute}")


def absolute_target(target: str, option: str) -> str:
    """Return ``FILE.py:NAME`` with an absolute path, or ``package.module:NAME``; raises ``ConfigError``."""
    try:
        where, name, arguments = split_target(target)
    except PassReferenceError as error:
        raise ConfigError(f"{option} {error}") from None
    if where.endswith(".py"):
        # Absolute: the worker, the repro script and a resumed campaign may run somewhere else.
        path = Path(where)
        if not path.is_file():
            raise ConfigError(f"{option} '{target}': '{where}' is not a file")
        where = str(path.resolve())
    return f"{where}:{name}{arguments}"


_BY_NAME = {option.name: option for option in OPTIONS}


def read_config(path: Path, quote: bool = True) -> dict[str, str | list[str]]:
    """Options of a configuration file, by the command line's names, as the command line would give them.

    Raises:
        ConfigError: with file, line and key.
    """
    place = _SECTION if path.name == PROJECT else ()
    try:
        file = read_toml(path, quote)
        table: Any = file.table
        for key in place:
            table = table.get(key, {})
        home = path.parent if place else Path()
        return {key: _option(file, (*place, key), value, home) for key, value in table.items()}
    except TomlError as error:
        raise ConfigError(str(error)) from error


PROJECT = "pyproject.toml"
_SECTION = ("tool", "relaxfuzz")


def project_file(directory: Path) -> Path:
    """Find the project file with options of ours: of a directory or the nearest one above, within its repository."""
    for each in (directory, *directory.parents):
        if project_config(each):
            return each / PROJECT
        if (each / ".git").exists():
            break
    return directory / PROJECT


def project_config(directory: Path) -> dict[str, str | list[str]]:
    """Options of ``[tool.relaxfuzz]`` in the project file of a directory; raises ``ConfigError``."""
    path = directory / PROJECT
    if not path.is_file():
        return {}
    # They name code that is run, so nobody else may have put them there.  What is wrong in a link is not said either.
    foreign = path.is_symlink() or path.stat().st_uid not in (os.geteuid(), 0)
    try:
        if not ((found := read_config(path, quote=False)) and foreign):
            return found
    except ConfigError:
        if not foreign:
            raise
    raise ConfigError(f"'{path}' is a link or belongs to another user; use --config to read it anyway")


def _option(file: TomlFile, place: tuple[str, ...], value: Any, home: Path) -> str | list[str]:
    key = place[-1]
    if key not in _BY_NAME:
        raise file.error(place, f"is not an option of a campaign{near_matches(key, _BY_NAME)}")
    option = _BY_NAME[key]
    if isinstance(value, bool) or not isinstance(value, option.kinds):
        raise file.error(place, f"has a value of the wrong type: {value!r}")
    if isinstance(value, list):
        if not all(isinstance(item, str) for item in value):
            raise file.error(place, "must be a list of strings")
        return [_from(home, key, each) for each in value] if option.repeatable else ",".join(value)
    if key in ("known", "triage"):
        file.require_confined(place, home / str(value), home)
    return [_from(home, key, str(value))] if option.repeatable else _from(home, key, str(value))


def _from(home: Path, key: str, text: str) -> str:
    """Take a file that a project file names from where that file lies, wherever `run` is started."""
    is_file = key in ("known", "triage", "seeds") or (key in ("pass", "plugin", "plant") and ".py" in text)
    return str(home / text) if is_file else text


def _split(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]
