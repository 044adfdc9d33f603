"""Building blocks of the text of a pass, over the names of :mod:`vocabulary.names`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from strategies.choices import Choices
from strategies.module_facts import Facts

Constructor = Callable[[Choices, Facts], str]
"""Draws the text that constructs a pass for a module with these facts."""

TRANSFORM = "relax.transform"


def plain(name: str, where: str = TRANSFORM) -> Constructor:
    """A pass without arguments."""
    return lambda choices, facts: f"{where}.{name}()"


def call(name: str, *arguments: str, where: str = TRANSFORM) -> str:
    """The text of a call; empty arguments are left out."""
    return f"{where}.{name}({', '.join(argument for argument in arguments if argument)})"


def options(name: str, *arguments: str, where: str = TRANSFORM) -> Constructor:
    """A pass whose arguments are one of a few texts, the simplest first."""
    return lambda choices, facts: call(name, choices.pick(arguments), where=where)


def strings(items: Iterable[str]) -> str:
    """The text of a list of strings."""
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


def some(choices: Choices, argument: str, one_in: int) -> str:
    """The argument once in so many times, otherwise nothing."""
    return argument if choices.index(one_in) == one_in - 1 else ""
