"""Command lines of the benchmarks: what cannot be used is refused at once, in one line, with exit code 2."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
Type = Callable[[str], T]


class Parser(argparse.ArgumentParser):
    """A parser that shows a script's own text as its help, and complains in one line."""

    def __init__(self, text: str | None) -> None:
        super().__init__(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message: str) -> NoReturn:
        """End the process."""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def whole(text: str, least: int = 0) -> int:
    """Read a whole number."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {least} on")
    return number


def count(text: str) -> int:
    """Read a whole number from 1 on."""
    return whole(text, 1)


def positive(text: str) -> float:
    """Read a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return number


def numbers(text: str) -> tuple[int, ...]:
    """Read numbers from 1 on, separated by commas."""
    return tuple(count(each) for each in text.split(",") if each)


def span(text: str) -> range:
    """Read ``FIRST:LAST``, the last one excluded."""
    first, colon, last = text.partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form FIRST:LAST")
    return range(whole(first), whole(last))


def by(parse: Type[T]) -> Type[T]:
    """Make a type of a function of the program that raises ``UsageError``."""

    def parsed(text: str) -> T:
        from fuzzer.core.verb import UsageError  # which loads TVM, and not every benchmark needs it

        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def duration(text: str) -> float:
    """Read a time as ``relaxfuzz run --time`` does."""
    from fuzzer.core.config import parse_duration

    return by(parse_duration)(text)


def passes(text: str) -> tuple[str, ...]:
    """Read names of passes under contract, separated by commas."""
    from fuzzer.campaign.setup import pass_names
    from fuzzer.core.config import parse_passes

    return by(lambda given: parse_passes(given, pass_names()))(text)


def campaign(text: str) -> Path:
    """Read the name of a campaign's directory."""
    from fuzzer.store.writer import Store

    by(lambda given: Store.open(Path(given)).close())(text)
    return Path(text)


def document(*keys: str) -> Type[dict[str, Any]]:
    """Make a type of files of one JSON object that has these keys."""

    def read(text: str) -> dict[str, Any]:
        (found,) = _objects(text, [_read(Path(text))], keys)
        return found

    return read


def rows(*keys: str) -> Type[list[dict[str, Any]]]:
    """Make a type of files with a JSON object in each line that has these keys."""
    return lambda text: _objects(text, _read(Path(text)).splitlines(), keys)


def existing(read: Type[Any]) -> Type[Path]:
    """Make a type of names of such files."""

    def checked(text: str) -> Path:
        read(text)
        return Path(text)

    return checked


def kept(read: Type[Any]) -> Type[Path]:
    """Make a type of names of such files that need not be there yet."""

    def checked(text: str) -> Path:
        path = output(text)
        if path.exists():
            read(text)
        return path

    return checked


def output(text: str) -> Path:
    """Read the name of a file that can be written."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is {'a directory' if path.is_dir() else 'in no directory'}")
    return path


def folder(text: str) -> Path:
    """Read the name of a directory that may be there."""
    path = Path(text)
    nearest = next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())
    if not nearest.is_dir():
        raise argparse.ArgumentTypeError(f"'{nearest}' is not a directory")
    return path


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise argparse.ArgumentTypeError(f"cannot read '{path}': {reason}") from error


def _objects(name: str, texts: Iterable[str], keys: Sequence[str]) -> list[dict[str, Any]]:
    try:
        found = [json.loads(each) for each in texts]
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"'{name}' is no JSON: {error}") from error
    if not all(isinstance(each, dict) and each.keys() >= set(keys) for each in found):
        raise argparse.ArgumentTypeError(
            f"'{name}' holds something else than objects{' with ' * bool(keys)}{', '.join(keys)}"
        )
    return found
