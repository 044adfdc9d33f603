"""The row of a pass, and building blocks of the text of a pass, over the names of :mod:`relaxkit.passes.pass_ref`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relaxkit.passes.contracts import CONTRACTS
from strategies.detect.module_facts import Facts
from strategies.scope.choices import Choices

Constructor = Callable[[Choices, Facts], str]
"""Draws the text that constructs a pass for a module with these facts."""
Question = Callable[[Facts], bool]
"""Asks something of a module by its facts."""

# Fitness: how often a pass should be tried on a module, next to others.
NEVER = 0
"""The pass is not meant for such a module, or cannot do anything with it."""
UNLIKELY = 1
"""Nothing of what the pass looks for is there. Some such modules are tried all the same: they must stay as they are."""
LIKELY = 12
"""All that the pass looks for is there, or it always finds something."""
NEAR = 18
"""A near miss of an idiom for the pass was planted."""
AIMED = 36
"""An idiom for the pass was planted."""

EVEN_WEIGHT = 48
EVEN_AIMED = 4


@dataclass(frozen=True, slots=True)
class PassRow:
    """A pass, how it is drawn, and how often.

    The weights even out what modules give passes to do.  Few modules have what some passes look for, and every module
    suits others: drawn alike, an hour on two cores judged some passes a hundred times and others two thousand times.
    With these weights it judges each at least 500 times by every oracle that its contract admits (``relaxfuzz passes
    --campaign DIR``).  They were fitted to an hour's verdicts and to what 1,200 drawn modules are tried under;
    ``tests/strategies/test_effort.py`` holds them to it.  Stock pipelines and FoldConstant have two fifths of that: a
    run takes 20 times as long as of other passes, and they found a quarter as much in the same time.

    Attributes:
        name: Name of the pass, as in its contract.
        constructor: Draws its text; ``None`` where the arguments are one of ``texts``, or there are none.
        texts: Texts of its arguments, the simplest first.
        weight: How often it is among the subjects of a module, besides how well it suits the module.
        aimed_weight: How often an idiom is planted for it, where there are some.
        meant_for: What it needs to change anything or to accept the module at all; ``None``: any module.
        finds: What it looks for; ``None``: it finds something in most modules.
        raises: Where it raises in TVM 0.27 whatever else is in the module, by defects that are known
            (``docs/bugs.md``): a few such modules keep an eye on them, many would leave nothing for what the pass does
            otherwise.
        fitness: How often it is tried on a module that it is meant for and that has what it looks for.
    """

    name: str
    constructor: Constructor | None = None
    texts: tuple[str, ...] = ()
    weight: int = EVEN_WEIGHT
    aimed_weight: int = EVEN_AIMED
    meant_for: Question | None = None
    finds: Question | None = None
    raises: Question | None = None
    fitness: int = LIKELY

    def draw(self, choices: Choices, facts: Facts) -> str:
        """Draw the text that constructs the pass for a module with these facts."""
        if self.constructor is not None:
            return self.constructor(choices, facts)
        return call(self.name, choices.pick(self.texts) if self.texts else "")


def call(name: str, *arguments: str) -> str:
    """Return the text of a call that constructs a pass; empty arguments are left out."""
    return f"{CONTRACTS[name].where}.{name}({', '.join(argument for argument in arguments if argument)})"


def strings(items: Iterable[str]) -> str:
    """Return the text of a list of strings."""
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"


def some(choices: Choices, argument: str, one_in: int) -> str:
    """Return the argument once in so many times, otherwise nothing."""
    return argument if choices.index(one_in) == one_in - 1 else ""


def calls_any(*names: str) -> Question:
    """Ask whether a module calls one of some operators, named without ``relax.``."""
    return lambda facts: any(facts.calls[name] for name in names)


def calls_all(**least: int) -> Question:
    """Ask whether a module calls each of some operators so often at least; ``__`` in a name stands for a dot."""
    wanted = {name.replace("__", "."): count for name, count in least.items()}
    return lambda facts: all(facts.calls[name] >= count for name, count in wanted.items())
