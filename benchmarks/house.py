"""Does the structure of the code still keep its promises?  Each measure against its ceiling.

    python benchmarks/house.py [--json] [--list MEASURE]

Reads source by ``ast`` and imports none of it.  Ceilings are in ``benchmarks/floors.toml``; exits 1 when a measure is
above its own.  ``--list`` prints the places behind a measure.  Production code is every ``.py`` file that git tracks,
or would, outside of ``tests``, ``benchmarks``, ``docs`` and ``corpus/cases``.  The measures:

* ``circles``: groups of modules that import one another, by imports anywhere: in functions and for types alone, too.
  ``from a.b import c`` is an import of ``a.b.c`` where that is a module, else of ``a.b``; never of ``a``.
* ``upward_imports``: imports at run time, in functions, too, against the layers of import-linter's contracts.
* ``fullest_folder``: production files directly in one folder.  Folders of snippets for scripts do not count.
* ``pass_names_in_engine``: comparisons, ``in`` tests, patterns, dictionaries and subscripts with names of passes under
  contract, spelled there or in constants, outside of the folders where knowledge of passes is data.  A dictionary is
  one place, and so is a comparison with a set.
* ``places_that_parse``: functions that take apart evidence, the text of a pass or a script; see ``WORDS``.
* ``any_share_in_oracles``: share of the annotated parameters in ``oracles`` whose type is ``Any`` or ``Any | ...``.
* ``class_names_twice``: names of classes at the top of several modules; ``_Trace`` and ``Trace`` are one name.
* ``small_files``, ``production_lines``: all files, ``__init__.py`` and snippets, too; all lines, blank ones, too.
* ``docstrings_what``: docstrings of modules, classes and functions that begin with one of ``INTERROGATIVES``.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from tabulate import tabulate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
APART = ("tests/", "benchmarks/", "docs/", "corpus/cases/")
SNIPPETS = {"pieces", "repro_pieces"}
"""Folders whose files are copied into scripts: a script has no evidence but what TVM says to it."""
SMALL = 60
INTERROGATIVES = {"What", "Whether", "How", "Of", "So"}

CONTRACT_TABLES = re.compile(r"(^|/)contracts(_\w+)?\.py$|/contracts/")
PASS_DATA = re.compile(
    r"oracles/(contracts(_\w+)?\.py|postconditions/|exclusions\.py)|strategies/pass_table\.py"  # before the rooms
    r"|relaxkit/passes/|strategies/(pass_arguments|idioms)/"
)
"""Where names of passes are keys of data."""

WORDS = {"message", "observed", "expected", "reason", "expression", "detail", "details", "kind", "script"}
"""Attributes and parameters that hold text for people, the text of a pass or a script; and what is bound to them."""
TAKES_APART = {"split", "rsplit", "partition", "rpartition", "removeprefix", "removesuffix"}
TAKES_APART |= {"startswith", "endswith", "find", "rfind", "index", "rindex"}
SEARCHES = {"search", "match", "fullmatch", "findall", "finditer", "split"}
PARSES = {"parse", "literal_eval"}
KEEPS = {*TAKES_APART, "strip", "lstrip", "rstrip", "lower", "upper", "splitlines", "replace", "sub"}
"""Methods whose result is such a text again; cutting it to lines and replacing words in it takes no fact out of it."""
PASSES_ON = {"newest", "first_line", "str", "next", "iter", "list", "tuple", "sorted", "reversed", "enumerate", "sub"}
HONEST_FILES = {
    "signature": "normalises messages, so that equal failures have equal signatures",
    "symptom": "says which messages are one failure",
    "evidence": "makes evidence of what TVM raised, which is words alone",
    "arguments": "is the one reader of the text of a pass",
    "pass_ref": "has the notation of references, and gives its parts",
    **dict.fromkeys(("signatures", "symptoms", "capture", "given", "passref"), "is one of these, before the rooms"),
}
HONEST_FUNCTIONS = {
    "fragments": "chooses the words of an error that a script looks for",
    "names_for_older": "adapts the source of a script to a release",
    "_pattern": "writes the pattern by which a case of the corpus is known",
    "_code": "prints TVM's script without its hints",
    "_syntax_error": "shows an error of the TOML reader, which has no field for the line",
}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
ASKING: dict[type[ast.AST], tuple[str, ...]] = {ast.Compare: ("left", "comparators"), ast.Subscript: ("slice",)}
ASKING |= {ast.Dict: ("keys",), ast.MatchMapping: ("keys",), ast.MatchValue: ("value",)}
"""Nodes that ask for a name, and the fields in which it stands."""
CARRIERS = (ast.Subscript, ast.Starred, ast.NamedExpr, ast.BoolOp, ast.IfExp, ast.BinOp, ast.ListComp, ast.GeneratorExp)
"""Expressions whose value is, or is made of, that of their parts."""

Place = tuple[str, int, str]  # file, line and what stands there
Measure = tuple[float, Iterable[Place]]  # a figure and the places behind it


class Source:
    """A production file."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.tree, self.lines = file, ast.parse(text), len(text.splitlines())
        self.folder, _, name = file.rpartition("/")
        self.stem = name.removesuffix(".py")
        self.module = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.snippet = self.folder.rpartition("/")[2] in SNIPPETS
        self.whole: Place = (file, 1, f"{self.lines} lines")

    def all(self, *kinds: type[ast.AST]) -> Iterator[Any]:
        """List nodes of some kinds."""
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    @cached_property
    def constants(self) -> dict[str, ast.expr]:
        """List values of the names that the module binds at its top."""
        bound = [node for node in self.tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
        named = [(target, node.value) for node in bound for target in _parts(node, "targets", "target")]
        return {target.id: value for target, value in named if isinstance(target, ast.Name) and value is not None}

    @cached_property
    def imported(self) -> list[tuple[str, str, int, bool]]:
        """List what it imports: ``module`` or ``module.name``, its name here, the line, and whether for types alone."""
        asked = [node for node in self.all(ast.If) if ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING"]
        typing = {below for node in asked for child in node.body for below in ast.walk(child)}
        found = []
        for node in self.all(ast.Import, ast.ImportFrom):
            home = [node.module] if getattr(node, "module", None) else []
            if level := getattr(node, "level", 0):
                home = [*self.folder.split("/")[: self.folder.count("/") + 2 - level], *home]
            for alias in node.names:
                full = ".".join([*home, alias.name])
                found.append((full, alias.asname or alias.name, node.lineno, node in typing))
        return found


class House:
    """The production code below a folder."""

    def __init__(self, root: Path) -> None:
        files = [file for file in sorted(_files(root)) if not file.startswith(APART)]
        self.sources = [Source(file, (root / file).read_text(encoding="utf-8")) for file in files]
        self.modules = {source.module: source for source in self.sources}
        tools = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
        self.layers = [each for each in tools["importlinter"]["contracts"] if each["type"] == "layers"]

    def imports(self, source: Source) -> set[tuple[str, int, bool]]:
        """List the production modules that a module imports, where, and whether for types alone."""
        found = {
            (full if full in self.modules else full.rpartition(".")[0], line, typing)
            for full, _, line, typing in source.imported
        }
        return {each for each in found if each[0] in self.modules and each[0] != source.module}

    def constant(self, node: ast.expr, source: Source) -> tuple[ast.expr, Source] | None:
        """Find the value of a name of a constant, which may come from another module, and where it stands."""
        wanted = ast.unparse(node)
        room, _, key = wanted.rpartition(".")
        home = "" if room else source.module
        for full, here, _, _ in source.imported:
            if here == wanted:
                home, _, key = full.rpartition(".")
            elif here == room:
                home = full
        other = self.modules.get(home)
        return (other.constants[key], other) if other is not None and key in other.constants else None


def _files(root: Path) -> Iterator[str]:
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.py"]
    try:
        listed = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=True).stdout
        return (file for file in set(listed.split("\0")) if file and (root / file).is_file())
    except (OSError, subprocess.CalledProcessError):
        found = [path.relative_to(root) for path in root.rglob("*.py")]
        return (file.as_posix() for file in found if not any(part[0] == "." for part in file.parts))


def circles(house: House) -> Measure:
    """Count groups of modules that import one another; their places are the imports inside."""
    graph = {source.module: house.imports(source) for source in house.sources}
    reach = {module: {target for target, _, _ in found} for module, found in graph.items()}
    for middle, further in reach.items():
        for found in reach.values():
            found |= further if middle in found else set()
    groups = {module: frozenset(each for each in found if module in reach[each]) for module, found in reach.items()}
    numbers = {group: number for number, group in enumerate(dict.fromkeys(filter(None, groups.values())), 1)}
    places = [
        (house.modules[module].file, line, f"circle {numbers[group]}: imports {target}" + " for types" * typing)
        for module, group in groups.items()
        for target, line, typing in graph[module]
        if target in group
    ]
    return len(numbers), places


def upward_imports(house: House) -> Measure:
    """Count imports at run time against the layers."""
    places: set[Place] = set()
    for contract in house.layers:
        for container in contract.get("containers", [""]):
            ranks = {
                f"{container}.{name.strip(' ()')}.".lstrip("."): rank
                for rank, layer in enumerate(contract["layers"])
                for name in re.split(r"[|:]", layer)
            }
            rooms = {m: rank for m in house.modules for room, rank in ranks.items() if f"{m}.".startswith(room)}
            for source in house.sources:
                own = rooms.get(source.module, 0)
                for target, line, typing in house.imports(source):
                    if not typing and rooms.get(target, own) < own:
                        places.add((source.file, line, f"imports {target}"))
    return len(places), places


def fullest_folder(house: House) -> Measure:
    """Count the files of the fullest folder."""
    folders: dict[str, list[Place]] = defaultdict(list)
    for source in house.sources:
        if not source.snippet:
            folders[source.folder].append(source.whole)
    fullest = max(folders.values(), key=len, default=[])
    return len(fullest), fullest


def pass_names_in_engine(house: House) -> Measure:
    """Count places that ask for a pass by its name."""
    names = {
        node.args[0].value
        for source in house.sources
        if CONTRACT_TABLES.search(source.file)
        for node in source.all(ast.Call)
        if _makes_a_contract(node, source) and node.args and isinstance(node.args[0], ast.Constant)
    }

    def spelled(node: ast.AST | None, source: Source, depth: int = 4) -> Iterator[str]:
        if isinstance(node, ast.Constant) and node.value in names:
            yield str(node.value)
        elif isinstance(node, (ast.Name, ast.Attribute)) and depth and (found := house.constant(node, source)):
            value, home = found  # a set that is data may be asked; a lone name from there is a name all the same
            if isinstance(value, ast.Constant) or not PASS_DATA.match(home.file):
                yield from spelled(value, home, depth - 1)
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set, ast.Starred, ast.BinOp)) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) in ("frozenset", "set", "tuple", "list")
        ):
            for each in _parts(node, "elts", "value", "left", "right", "args"):
                yield from spelled(each, source, depth)

    places = []
    for source in house.sources:
        for node in source.all(*ASKING) if not PASS_DATA.match(source.file) else ():
            asked = _parts(node, *ASKING[type(node)])
            if found := [name for each in asked for name in spelled(each, source)]:
                places.append((source.file, node.lineno, ", ".join(found)))
    return len(places), places


def _makes_a_contract(call: ast.Call, source: Source) -> bool:
    """Tell whether a call is one of ``Contract``, or of what the file makes of it by ``partial``."""
    called = ast.unparse(call.func).split(".")[-1]
    made = source.constants.get(called)
    return called == "Contract" or (made is not None and ast.unparse(made).startswith("partial(Contract"))


def _parts(node: ast.AST, *fields: str) -> list[Any]:
    """List what stands in some fields of a node, as far as it has them."""
    found = [getattr(node, field, None) for field in fields]
    return [each for row in found for each in (row if isinstance(row, list) else [row]) if isinstance(each, ast.AST)]


def places_that_parse(house: House) -> Measure:
    """Count functions that take a text apart; their places are the lines that do."""
    places: dict[tuple[str, str], list[Place]] = defaultdict(list)

    def visit(source: Source, parent: ast.AST, told: frozenset[str], inside: str) -> None:
        for node in ast.iter_child_nodes(parent):
            known = _told_names(node, told) if isinstance(node, (*FUNCTIONS, ast.Lambda)) else told
            name = f"{inside}.{node.name}".lstrip(".") if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else inside
            if name.rpartition(".")[2] in HONEST_FUNCTIONS:
                continue
            if _takes_apart(node, known):
                line = getattr(node, "lineno", 1)
                places[source.file, name].append((source.file, line, f"{name}: {ast.unparse(node)}"))
            visit(source, node, known, name)

    for source in house.sources:
        if source.stem not in HONEST_FILES and not source.snippet:
            visit(source, source.tree, frozenset(), "")
    return len(places), chain(*places.values())


def _told_names(function: Any, outer: frozenset[str]) -> frozenset[str]:
    """List names that stand for a text in a function: parameters of such names, and what is bound to a text."""
    given = {each.arg for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    bound: list[tuple[Any, Any]] = []
    for node in ast.walk(function):
        for target in _parts(node, "targets", "target"):
            for value in _parts(node, "value", "iter"):
                rows = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                bound += zip(target.elts, value.elts, strict=False) if rows else [(target, value)]
    pairs = [(name, value) for target, value in bound for name in ast.walk(target) if isinstance(name, ast.Name)]
    names = (outer - given) | (given & WORDS)
    while more := {name.id for name, value in pairs if name.id not in names and _told(value, names)}:
        names |= more
    return names


def _told(node: ast.AST, names: frozenset[str]) -> bool:
    """Tell whether an expression is such a text, or lines or parts of one."""
    parts: list[ast.AST] = []
    if isinstance(node, (ast.Name, ast.Attribute)):
        return node.id in names if isinstance(node, ast.Name) else node.attr in WORDS
    if isinstance(node, CARRIERS):
        parts = _parts(node, "value", "values", "body", "orelse", "left", "right", "elt")
    elif isinstance(node, ast.Call):
        called = ast.unparse(node.func).rpartition(".")[2]
        parts = [*node.args] if called in PASSES_ON else []
        parts += _parts(node.func, "value") if called in KEEPS else []
        if called == "get_docstring":
            return True
    return any(_told(part, names) for part in parts)


def _takes_apart(node: ast.AST, names: frozenset[str]) -> bool:
    """Tell whether an expression takes a fact out of such a text."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method, given = node.func.attr, [ast.unparse(each) for each in node.args if _told(each, names)]
        if method in TAKES_APART and _told(node.func.value, names):
            return not (node.args and ast.unparse(node.args[0]) == repr("\n"))
        # A pattern out of a row of a table is data, as long as it is of what TVM says.
        row = bool(given) and ast.unparse(node.args[0]).split(".")[-1] == "pattern" and "expression" not in given[-1]
        return bool(given) and (method in PARSES or (method in SEARCHES and not row))
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], (ast.In, ast.NotIn)) and _told(node.comparators[0], names)
    cut = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(cut, ast.Slice) and cut.lower is not None and _told(node, names)


def any_share_in_oracles(house: House) -> Measure:
    """Divide parameters typed ``Any`` by all that are annotated."""
    count, places = 0, []
    for source in house.sources:
        for node in source.all(*FUNCTIONS) if source.file.startswith("oracles/") else ():
            for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                if each.annotation is not None and each.arg not in ("self", "cls"):
                    count += 1
                    if "Any" in ast.unparse(each.annotation).split(" | "):
                        places.append((source.file, each.lineno, f"{node.name}: {each.arg}"))
    return round(len(places) / max(count, 1), 4), places


def class_names_twice(house: House) -> Measure:
    """Count names that several modules give to classes."""
    found: dict[str, list[Place]] = defaultdict(list)
    for source in house.sources:
        for node in (each for each in source.tree.body if isinstance(each, ast.ClassDef)):
            found[node.name.lstrip("_")].append((source.file, node.lineno, node.name))
    several = [places for _, places in sorted(found.items()) if len({file for file, _, _ in places}) > 1]
    return len(several), chain(*several)


def small_files(house: House) -> Measure:
    """Count files that are hardly worth their head; a room's ``__init__.py`` only has to say what the room is for."""
    places = [each.whole for each in house.sources if each.lines <= SMALL and each.stem != "__init__"]
    return len(places), places


def production_lines(house: House) -> Measure:
    """Count lines."""
    return sum(each.lines for each in house.sources), [each.whole for each in house.sources]


def docstrings_what(house: House) -> Measure:
    """Count docstrings that begin like a question."""
    places = []
    for source in house.sources:
        for node in source.all(*FUNCTIONS, ast.ClassDef, ast.Module):
            said = ast.get_docstring(node)
            if said and said.split()[0].rstrip(",.:;") in INTERROGATIVES:
                places.append((source.file, getattr(node, "lineno", 1), said.splitlines()[0]))
    return len(places), places


KEPT: list[Callable[[House], Measure]] = [circles, upward_imports, fullest_folder, pass_names_in_engine]
KEPT += [places_that_parse, any_share_in_oracles, class_names_twice, small_files, production_lines, docstrings_what]
MEASURES = {each.__name__: each for each in KEPT}


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Print the measures, or the places behind one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--list", choices=MEASURES, help="print the places behind a measure")
    options = parser.parse_args(arguments)
    house = House(root)
    ceilings = tomllib.loads((root / "benchmarks" / "floors.toml").read_text(encoding="utf-8"))["house"]
    if options.list:
        for file, line, what in sorted(MEASURES[options.list](house)[1]):
            print(f"{file}:{line}: {what[:160]}")
        return 0
    values = {name: measure(house)[0] for name, measure in MEASURES.items()}
    above = {name for name, value in values.items() if value > ceilings[name]}
    rows = [(name, value, ceilings[name], "too many" if name in above else "ok") for name, value in values.items()]
    table = tabulate(rows, headers=("measure", "value", "ceiling", ""), tablefmt="simple")
    print(json.dumps(values, indent=1) if options.json else table)
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main())
