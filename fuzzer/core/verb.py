"""A verb of the command line; the rooms register theirs under the entry-point group ``relaxfuzz.verbs``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

OK = 0
GATE_FAILED = 1
USAGE = 2
NO_EVIDENCE = 3
INTERNAL = 70
INTERRUPTED = 130
"""As a shell says of SIGINT; SIGTERM and SIGHUP end a campaign in the same way."""


READS_ONLY = "This command does not run any code that is stored in a campaign."
RUNS_CODE = (
    "This command may run code that is stored in a campaign (scripts, passes and plugins).\n"
    "If the campaign was created or modified elsewhere, this requires --trust."
)
"""What verbs say of the code of others in their help (docs/security.md)."""


class UsageError(Exception):
    """Bad input, or what cannot be used or written: the message is the one line that the user sees, the exit code 2.

    The errors of files, stores and environments are kinds of it, so that no verb need catch them.
    """


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line."""

    def error(self, message: str) -> NoReturn:
        """Raise ``UsageError`` instead of printing the usage."""
        raise UsageError(f"{message} (see `{self.prog} --help`)")


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb.

    Attributes:
        name: What the user types.
        help: One line.
        example: A command line that works, shown by ``--help``.
        add_arguments: Adds the verb's arguments to its parser.
        run: Does the work; returns the exit code; raises ``UsageError`` for bad input.
        needs_tvm: Whether TVM must be installed in a working pair.
        code: What of other people's it runs, for its help.
    """

    name: str
    help: str
    example: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    needs_tvm: bool = True
    code: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a campaign, on the command line and in a configuration file.

    Attributes:
        name: What the user writes, without the dashes of the command line.
        metavar: What stands for its value.
        help: One line, for ``relaxfuzz run --help``.
        kinds: Types of its value in a file.
        repeatable: Whether it may be given several times.
        bare: What it means on the command line without a value; empty where it needs one.
    """

    name: str
    metavar: str
    help: str
    kinds: tuple[type, ...] = (str,)
    repeatable: bool = False
    bare: str = ""


_NAMES, _TIME = (list, str), (str, int, float)

OPTIONS = (
    Option("passes", "NAME,NAME", "TVM passes to test (default: all that have a contract; see `relaxfuzz passes`)",
           _NAMES),
    Option("oracles", "NAME,NAME", "oracles to use (default: all)", _NAMES),
    Option("max-examples", "N", "stop after N cases; a case is one module run through one pass or pipeline", (int,)),
    Option("time", "TIME", "how long to generate modules, for example 90s, 30m, 8h or 1h30m (default: 10m, or no limit "
           "if --max-examples is given); confirming and minimizing the findings (triage) may then take another 15 s, "
           "or a tenth of this time if that is longer", _TIME),
    Option("seed", "N", "seed for every random choice (default: chosen at random and printed)", (int,)),
    Option("workers", "N", "number of worker processes (default: one per core)", (int,)),
    Option("dask", "ADDRESS", "run on the workers of a Dask cluster: the scheduler's address, its scheduler "
           "file (.json), or local:N"),
    Option("out", "DIR", "the campaign's directory (default: campaign-SEED); a campaign that it already contains is "
           "resumed, or rejected if your pass has changed"),
    Option("case-timeout", "TIME", "time limit for one case (default: 20s)", _TIME),
    Option("memory-limit", "SIZE", "memory limit for one worker (default: 3GiB)"),
    Option("seeds", "DIR", "a collection of seed modules; some of the generated modules call functions from it "
           "(`relaxfuzz corpus import` creates a collection)"),
    Option("known", "FILE", "a file that lists known findings in [[known]] tables"),
    Option("triage", "FILE", "a file of decisions about families (groups of findings that seem to have the same "
           "cause), written by `relaxfuzz triage` (default: findings.toml, if it exists)"),
    Option("pass", "FILE.py:FACTORY", "test a pass of your own: its class, or a function without arguments "
           "that returns the pass (a tvm.ir.transform.Pass), as FILE.py:FACTORY or package.module:FACTORY; repeatable "
           "(without --passes, only your own passes are tested)", _NAMES, repeatable=True),
    Option("regress", "DIR|corpus|off", "first rerun the findings of an earlier campaign, or of all campaigns in a "
           "directory, or the known cases in the corpus, to see whether they still fail; repeatable (default: corpus, "
           "if the campaign runs for half an hour or more)", _NAMES, repeatable=True),
    Option("plugin", "MODULE", "a plugin with passes, contracts, oracles or strategies: the name of an "
           "installed plugin, a module, or FILE.py; repeatable (docs/plugins.md)", _NAMES, repeatable=True),
    Option("operators", "NAME=N,NAME=N", "generate these operators more often: all operators together have weight "
           "10, and the weights given here are added to that, so with relax.permute_dims=30, about three in four "
           "operators are permute_dims; auto: the operators named in the source of your passes, each with weight 30 "
           "(docs/drawing-modules.md)", _NAMES),
    Option("plant", "FILE.py:FUNCTION", "insert this code into most modules: a relaxfuzz.Fragment, or a Python "
           "function that takes a tensor expression and returns one, in a file or as package.module:FUNCTION; "
           "repeatable (docs/drawing-modules.md)", _NAMES, repeatable=True),
    Option("shares", "on|off", "save time: if no failure of a TVM pass has been recorded for an oracle "
           "(fuzzer/shard/shares.toml), run that oracle on only some of the pass's cases (default: on)"),
    Option("coverage", "on|off", "record which basic blocks of TVM's compiler the cases reach; a resumed campaign "
           "keeps its setting (default: off; docs/coverage.md)", bare="on"),
    Option("guide", "on|off", "with --coverage: generate half of the modules by changing earlier ones, namely those "
           "that were the first to enter some function of TVM's compiler (default: off; docs/coverage.md)", bare="on"),
)  # fmt: skip
