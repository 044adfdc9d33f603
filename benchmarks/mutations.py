"""Which seeded mutations of the production code do the tests catch?

    python benchmarks/mutations.py [--number 200] [--first 0] [--seed 1] [--map FILE] [--tests default|slow|all]
        [--seconds 90] [--tree DIR] [--done FILE] [--list] [--json]

A mutation changes one place in a function of the production code: a comparison is turned round, a condition negated, a
constant changed, what is returned is dropped, a statement is removed, two arguments change places, ``and`` becomes
``or``.  Places are drawn alike from all there are, so a long file has more of them.  Each mutation is written into a
copy of the tree that all processes of its tests import, and the tests that run the function are tried, those first that
run little else, until one fails (killed) or none is left (survived).

Which tests run a function is read from ``--map``, which a run of the tests writes (`mutations_map.py`).  Imports alone
would not tell: nearly every test imports nearly every module.  Of a function that the map has not, since it is newer
than the map or no test runs it, the tests are tried that run its file, or else its room.  Of the tests of a function so
many are taken as take ``--seconds``; each file of tests keeps at least its most particular one.

Tests run in forks of one process that has loaded TVM and pytest, and nothing of this program.

``--done`` appends one line a mutation, and skips those that have one.  ``--tests all`` tries the default tests, and
then the slow ones on what survives: the table has the mutations that only slow tests catch.
"""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from shared import arguments
from tabulate import tabulate

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("relaxkit", "strategies", "oracles", "fuzzer", "reports", "corpus", "relaxfuzz")
APART = ("corpus/cases/",)
FLIPS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
MEMORY = 8 << 30
_PATIENCE = 4
"""Mutated code may be slower, and other work may go on: tests have so many times what they took."""
SERVER = f"""
import json, os, resource, signal, sys, time
import attrs, execnet, ml_dtypes, msgspec, numpy, psutil, pytest, rich.console, tomlkit, tvm, tvm.relax, tvm.script

def run(asked):
    os.setsid()
    for number, name in enumerate(("/dev/null", asked["out"], asked["out"])):
        os.dup2(os.open(name, os.O_RDWR | os.O_APPEND), number)
    resource.setrlimit(resource.RLIMIT_DATA, ({MEMORY}, {MEMORY}))
    os.environ.update(asked["environment"])
    code = 3
    try:
        code = pytest.main(asked["arguments"])
        sys.stdout.flush()
    finally:
        os._exit(code)

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        run(asked)
    until = time.monotonic() + asked["seconds"]
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.02)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if not ended[0]:
        os.waitpid(child, 0)
    print(json.dumps(os.waitstatus_to_exitcode(ended[1]) if ended[0] else None), flush=True)
"""


@dataclass(frozen=True)
class Mutation:
    """One change of one place."""

    file: str
    function: str
    line: int
    kind: str
    start: int
    end: int
    new: str = field(repr=False)

    @property
    def name(self) -> str:
        """Name it in tables: unlike offsets and lines, what it was and is does not depend on the rest of the file."""
        return f"{self.file}:{self.line} {self.kind}"


@dataclass(frozen=True)
class Known:
    """What the map says of a test."""

    test: str
    seconds: float
    ran: int


class Places:
    """The places of a file that can be mutated."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self.lines = [0]
        for line in text.encode().splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.found: list[Mutation] = []
        self._descend(ast.parse(text), ())

    def _descend(self, node: ast.AST, scope: tuple[str, ...]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = (*scope, node.name) if isinstance(node, ast.ClassDef) else (*scope, node.name, "<locals>")
            children: Iterable[ast.AST] = node.body
            if not isinstance(node, ast.ClassDef):
                children = [each for each in node.body if not _is_docstring(each)]
        else:
            inner, children = scope, ast.iter_child_nodes(node)
        if "<locals>" in scope:
            for kind, place, new in _changes(node, self._text):
                self.found.append(self._mutation(".".join(scope).removesuffix(".<locals>"), kind, place, new))
        for child in children:
            if not isinstance(child, (ast.JoinedStr, ast.Raise)) and not _is_annotation(node, child):
                self._descend(child, inner)

    def _text(self, node: ast.AST) -> str:
        start, end = self._span(node)
        return self.text.encode()[start:end].decode()

    def _span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, (ast.expr, ast.stmt))
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return (
            self.lines[node.lineno - 1] + node.col_offset,
            self.lines[node.end_lineno - 1] + node.end_col_offset,
        )

    def _mutation(self, function: str, kind: str, place: ast.AST, new: str) -> Mutation:
        start, end = self._span(place)
        return Mutation(self.file, function, getattr(place, "lineno", 0), kind, start, end, new)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_annotation(parent: ast.AST, child: ast.AST) -> bool:
    return child is getattr(parent, "annotation", None) or child is getattr(parent, "returns", None)


def _changes(node: ast.AST, text: object) -> Iterator[tuple[str, ast.AST, str]]:
    """List what can be done to a node: kind, place and the text that replaces it."""
    assert callable(text)
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            yield "comparison flipped", node, f"(({text(left)}) {FLIPS[type(operator)]} ({text(right)}))"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "condition negated", test, f"(not ({text(test)}))"
        case ast.comprehension(ifs=[test, *_]):
            yield "condition negated", test, f"(not ({text(test)}))"
        case ast.Constant(value=bool(value)):
            yield "constant changed", node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant changed", node, f"({value!r} + 1)"
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield "return value dropped", value, "None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            yield "statement removed", node, "pass"
        case ast.Call(args=[first, second, *_]) if not isinstance(first, ast.Starred) and not isinstance(
            second, ast.Starred
        ):
            if text(first) != text(second):
                whole = ast.Tuple([first, second], ast.Load())
                whole.lineno, whole.col_offset = first.lineno, first.col_offset
                whole.end_lineno, whole.end_col_offset = second.end_lineno, second.end_col_offset
                yield "arguments swapped", whole, f"{text(second)}, {text(first)}"
        case ast.BoolOp(op=operator, values=values):
            word = " or " if isinstance(operator, ast.And) else " and "
            yield "and/or", node, f"({word.join(f'({text(value)})' for value in values)})"


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def mutated(text: str, mutation: Mutation) -> str:
    """Give the text of the file with the mutation."""
    code = text.encode()
    return (code[: mutation.start] + mutation.new.encode() + code[mutation.end :]).decode()


def draw(root: Path, number: int, seed: int) -> list[Mutation]:
    """Draw mutations; those that do not compile, or change nothing, are left out."""
    found: list[Mutation] = []
    texts: dict[str, str] = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            file = path.relative_to(root).as_posix()
            if not file.startswith(APART):
                texts[file] = path.read_text(encoding="utf-8")
                found += Places(file, texts[file]).found
    chance = random.Random(seed)
    chance.shuffle(found)
    drawn: list[Mutation] = []
    for each in found:
        if len(drawn) == number:
            break
        text = texts[each.file]
        try:
            if ast.dump(ast.parse(mutated(text, each))) != ast.dump(ast.parse(text)):
                drawn.append(each)
        except SyntaxError:
            continue
    return drawn


def read_map(files: Iterable[Path]) -> dict[str, list[Known]]:
    """Read which tests run a function, those first that run little else; of a test the last line counts."""
    tests: dict[str, tuple[float, list[str]]] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            tests[row["test"]] = (row["seconds"], row["ran"])
    found: dict[str, list[Known]] = defaultdict(list)
    for test, (seconds, ran) in tests.items():
        for function in ran:
            found[function].append(Known(test, seconds, len(ran)))
        # Files and rooms, for functions that no line names.
        for wider in {function.partition(end)[0] for function in ran for end in ":/"}:
            found[wider].append(Known(test, seconds, len(ran)))
    for known in found.values():
        known.sort(key=lambda each: (each.ran, each.seconds))
    return found


def running(known: dict[str, list[Known]], mutation: Mutation) -> list[Known]:
    """List the tests that run the function; or its file, or its room, where the map does not have it."""
    keys = (f"{mutation.file}:{mutation.function}", mutation.file, mutation.file.partition("/")[0])
    return next((known[key] for key in keys if key in known), [])


def chosen(known: list[Known], seconds: float, listed: frozenset[str]) -> list[Known]:
    """Choose the tests of a function that exist: the most particular of each file, then others as time allows."""
    here = [each for each in known if each.test in listed]
    first = list({each.test.partition("::")[0]: each for each in reversed(here)}.values())[::-1]
    taken: dict[str, Known] = {}
    for each in [*first, *here]:
        if each.test not in taken and each.seconds <= seconds:
            taken[each.test] = each
            seconds -= each.seconds
    return sorted(taken.values(), key=lambda each: (each.seconds > 1.0, each.ran, each.seconds))


class Tree:
    """A copy of the tree in which the tests of mutations run."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.root = folder / "tree"
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=source, capture_output=True, text=True, check=True
        ).stdout
        for file in filter(None, listed.split("\0")):
            if (source / file).is_file():
                (self.root / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / file, self.root / file)
        self.cache, self.temporary = folder / "cache", folder / "tmp"
        self.environment = os.environ | {"PYTHONPATH": str(self.root), "TMPDIR": str(self.temporary)}
        self.environment["RELAXFUZZ_CACHE"] = str(self.cache)
        compiled = [sys.executable, "-m", "compileall", "-q", *ROOMS, "tests"]
        subprocess.run(compiled, cwd=self.root, check=False, stdout=subprocess.DEVNULL)
        self._server = subprocess.Popen(
            [sys.executable, "-B", "-c", SERVER], cwd=self.root, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def tests(self, expression: str) -> frozenset[str]:
        """List the tests that a marker expression names."""
        # Not -B: pytest keeps the tests as it has rewritten them, and need not do so for each mutation.
        asked = [sys.executable, "-m", "pytest", "--collect-only", "-m", expression, "-n", "0"]
        said = subprocess.run(asked, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)
        return frozenset(line for line in said.stdout.splitlines() if "::" in line)

    def killer(self, mutation: Mutation, tests: list[Known]) -> str | None:
        """Find the test that fails with the mutation."""
        path = self.root / mutation.file
        text = path.read_text(encoding="utf-8")
        stale = list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"))
        kept = [(each, each.read_bytes()) for each in stale]
        for each in stale:
            each.unlink()
        # Kernels that a mutated compiler makes are nobody else's.
        own = self.environment | {"RELAXFUZZ_CACHE": str(self.temporary / "kernels")}
        compiles = mutation.file.startswith("relaxkit/runtime/compile/")
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        stamp = path.stat()
        path.write_text(mutated(text, mutation), encoding="utf-8")
        try:
            return self._run(tests, own if compiles else self.environment)
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
            for each, code in kept:
                each.write_bytes(code)

    def _run(self, tests: list[Known], environment: dict[str, str]) -> str | None:
        limit = 60 + _PATIENCE * sum(each.seconds for each in tests)
        options = ["-x", "-n", "0", "-p", "no:cacheprovider", "-m", "", "--tb=no", "-rfE", "--no-header"]
        out = self.temporary.parent / "out"
        out.write_bytes(b"")
        asked = {
            "arguments": [*options, f"--timeout={limit:.0f}", *(each.test for each in tests)],
            "environment": environment,
            "out": str(out),
            "seconds": limit,
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        code = json.loads(self._server.stdout.readline())
        if code == 0:
            return None
        failed = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", out.read_text(errors="replace"), re.MULTILINE)
        return failed[0] if failed else "no end in time" if code is None else f"pytest ended with {code}"

    def end(self) -> None:
        """End the process whose forks run tests."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(30)


def main() -> int:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--number", type=arguments.count, default=200)
    parser.add_argument("--first", type=arguments.whole, default=0, help="the first of them that is tried")
    parser.add_argument("--last", type=arguments.whole, help="the first that is not tried any more")
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument(
        "--map",
        type=arguments.existing(arguments.rows("test", "seconds", "ran")),
        nargs="+",
        default=[],
        help="what runs with mutations_map wrote",
    )
    parser.add_argument("--tests", choices=("default", "slow", "all"), default="default")
    parser.add_argument("--seconds", type=arguments.positive, default=90.0, help="of tests for a mutation, and tier")
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout")
    parser.add_argument(
        "--done",
        type=arguments.kept(arguments.rows("name", "kind", "tier", "killer", "tests")),
        help="results, appended and read",
    )
    parser.add_argument("--list", action="store_true", help="only show the mutations")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not (options.tree / "pyproject.toml").is_file():
        parser.error(f"'{options.tree}' is no checkout")
    drawn = draw(options.tree, options.number, options.seed)[options.first : options.last]
    if options.list:
        for each in drawn:
            print(f"{each.name}: {each.function}: {each.new!r}")
        return 0
    known = read_map(options.map)
    rows: list[dict[str, object]] = []
    if options.done is not None and options.done.exists():
        rows = [json.loads(line) for line in options.done.read_text(encoding="utf-8").splitlines()]
    seen = {row["name"] for row in rows}
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        tree = Tree(options.tree, Path(folder))
        expressions = {"default": "not slow", "slow": "slow"}
        tiers = tuple(expressions) if options.tests == "all" else (options.tests,)
        listed = {tier: tree.tests(expressions[tier]) for tier in tiers}
        for each in (each for each in drawn if each.name not in seen):
            row: dict[str, object] = {"name": each.name, **asdict(each), "tests": 0, "tier": "", "killer": None}
            for tier in tiers:
                tests = chosen(running(known, each), options.seconds, listed[tier])
                row["tests"] = len(tests)
                if tests and (killer := tree.killer(each, tests)):
                    row["tier"], row["killer"] = tier, killer
                    break
            rows.append(row)
            print(f"{each.name}: {row['killer'] or 'survived'}", file=sys.stderr, flush=True)
            if options.done is not None:
                with options.done.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
        tree.end()
    print(json.dumps(rows) if options.json else table(rows))
    return 0


def table(rows: list[dict[str, object]]) -> str:
    """Show kinds with what was caught, then what only slow tests catch, then what survived."""
    kinds = Counter((row["kind"], row["tier"] or "survived") for row in rows)
    columns = ("default", "slow", "survived")
    shown = [
        [kind, *(kinds[kind, column] for column in columns)] for kind in sorted({str(row["kind"]) for row in rows})
    ]
    shown.append(["all", *(sum(line[at] for line in shown) for at in (1, 2, 3))])
    parts = [tabulate(shown, ["mutation", *columns], tablefmt="github")]
    parts += [f"only slow tests catch {row['name']}: {row['killer']}" for row in rows if row["tier"] == "slow"]
    parts += [f"survived, of {row['tests']} tests: {row['name']}" for row in rows if not row["tier"]]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
