"""References to passes, by source text that can be stored and pasted into a script; and steps of pipelines."""

from __future__ import annotations

import ast
import enum
import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from relaxkit.files import resolved
from relaxkit.near import near_matches
from relaxkit.passes.contract import Contract

USER_PREFIX = "user:"
_INSTALLED = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")}


class Substitute(enum.Enum):
    """A thing that a pass, or what it gives, needs and a CPU lacks; built here, the pass has one of ours."""

    CODEGEN = "a registered code generator (``relaxkit.runtime.external``)"
    CUDA_GRAPH = "builtins of CUDA graphs (``relaxkit.runtime.cuda_graph``)"
    ALL_REDUCE = "an all-reduce between processes on one GPU (``relaxkit.runtime.all_reduce``)"


_SUBSTITUTES = {
    "RunCodegen": Substitute.CODEGEN,
    "RewriteCUDAGraph": Substitute.CUDA_GRAPH,
    "IPCAllReduceRewrite": Substitute.ALL_REDUCE,
}


@functools.cache
def namespace() -> dict[str, Any]:
    """Return the names that a pass expression may use; repro scripts import or define the same ones."""
    import numpy as np
    import tvm
    from tvm import relax, tirx
    from tvm.relax.dpl import is_const, is_op, is_tuple, is_tuple_get_item, wildcard
    from tvm.script import ir
    from tvm.script import relax as script_relax
    from tvm.script import tirx as script_tirx

    from relaxkit.passes.helpers import apply_empty_database, configured, relaid, tuned

    return {
        "np": np, "tvm": tvm, "relax": relax, "tirx": tirx, "is_const": is_const, "is_op": is_op, "is_tuple": is_tuple,
        "is_tuple_get_item": is_tuple_get_item, "wildcard": wildcard, "I": ir, "R": script_relax, "T": script_tirx,
        "configured": configured, "relaid": relaid, "tuned": tuned, "apply_empty_database": apply_empty_database,
    }  # fmt: skip


_OPTION = re.compile(r"['\"](relax\.[\w.]+['\"]: *\w+)")
_TARGET = re.compile(r"(.+?):([A-Za-z_]\w*)(\(.*\))?", re.DOTALL)


class PassReferenceError(ValueError):
    """A pass reference that does not import, is not callable, raises, or does not give a pass."""


HOW_TO_WRAP = "a function that transforms modules becomes a pass under @tvm.transform.module_pass(opt_level=0)"


def kind_of(thing: object) -> str:
    """Name what something is instead of a pass: ``None``, ``an IRModule``, ``a list``."""
    name = type(thing).__name__
    return "None" if thing is None else f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


@functools.lru_cache(maxsize=1024)
def _options(expression: str) -> frozenset[str]:
    return frozenset(_OPTION.findall(expression))


@dataclass(frozen=True, slots=True)
class PassRef:
    """A pass under test, by name and by the text that builds it.

    Attributes:
        name: Name of the pass, the key of its contract (``LiftTransformParams``).
        expression: A Python expression over the names of :func:`namespace`, for instance
            ``relax.transform.ToMixedPrecision(out_dtype="float16")``; or ``user:FILE.py:FACTORY`` or
            ``user:package.module:FACTORY`` for a pass that the user brings.
    """

    name: str
    expression: str

    @property
    def is_user(self) -> bool:
        """Say whether the user brought this pass."""
        return self.expression.startswith(USER_PREFIX)

    @property
    def options(self) -> set[str]:
        """The options of the ``PassContext`` with which it runs, as written in :func:`namespace`'s ``configured``."""
        return set(_options(self.expression)) if self.expression.startswith("configured(") else set()

    @property
    def substitute(self) -> Substitute | None:
        """Say what it needs of ours when it is built here."""
        return None if self.is_user else _SUBSTITUTES.get(self.name)

    @property
    def target(self) -> str:
        """The factory of a user's pass, ``FILE.py:FACTORY`` or ``package.module:FACTORY``; else the expression."""
        return self.expression.removeprefix(USER_PREFIX)

    @property
    def place(self) -> str:
        """The file, or the module, of a user's pass."""
        return split_target(self.target)[0]

    @property
    def in_file(self) -> bool:
        """Say whether a user's pass is in a file, and not in a module that can be imported."""
        return self.place.endswith(".py")

    @property
    def factory(self) -> tuple[str, str]:
        """Where a script finds a user's pass, and the name of its factory: ``/DIR/FILE.py``, ``package.module``, or
        ``/DIR/package.module`` where the package is not installed.
        """
        place = _root_of(self.place) / self.place
        if self.in_file:
            root, name = _importable(resolved(Path(self.place)))
            place = root / (name if "." in name else f"{name}.py")
        return str(place), split_target(self.target)[1]

    @property
    def roots(self) -> list[Path]:
        """The other directories that a user's pass is imported from, and what it imports, at any remove."""
        from relaxkit.ir.functions import closed

        ours = {_root_of("tvm"), _root_of(__name__), Path()}
        start = [load_module(self.target)]
        used = closed(start, lambda one: [] if _root_of(one.__name__) in ours else imported(one))
        return sorted({_root_of(one.__name__) for one in used} - ours - {Path(self.factory[0]).parent})

    @property
    def arguments(self) -> str:
        """The text of the arguments of a user's factory, without the brackets."""
        return split_target(self.target)[2][1:-1]

    def build(self) -> Any:
        """Build the ``tvm.ir.transform.Pass``; raises ``PassReferenceError`` for a user's pass that cannot be built."""
        if self.is_user:
            return _call_factory(self.target)
        built = eval(self.expression, namespace())  # the text is our own strategy's or a stored case's
        return built if self.substitute is None else _with(self.substitute, built)


@dataclass(frozen=True, slots=True)
class GivenPass(PassRef):
    """A pass that exists already as an object, given to ``oracles.check``; it cannot be stored."""

    given: Any = None

    def build(self) -> Any:
        """Return the pass."""
        return self.given


@dataclass(frozen=True, slots=True)
class PromisingPass(PassRef):
    """A pass with the contract that was given to ``oracles.check`` for it; it cannot be stored."""

    contract: Contract | None = None


def _with(substitute: Substitute, built: Any) -> Any:
    if substitute is Substitute.CUDA_GRAPH:
        from relaxkit.runtime.cuda_graph import with_cuda_graph

        return with_cuda_graph(built)
    if substitute is Substitute.ALL_REDUCE:
        from relaxkit.runtime.all_reduce import with_all_reduce

        return with_all_reduce(built)
    from relaxkit.runtime import session
    from relaxkit.runtime.external import with_codegen

    return with_codegen(built, lambda module: session().build(module))


def split_target(target: str) -> tuple[str, str, str]:
    """Return place, name and arguments, in brackets, of ``PLACE:FACTORY(...)``; raises ``PassReferenceError``."""
    found = _TARGET.fullmatch(target)
    if found is None:
        raise PassReferenceError(f"'{target}' is not FILE.py:FACTORY or package.module:FACTORY")
    return found[1], found[2], found[3] or ""


def _root_of(module: str) -> Path:
    """Return the directory from which a module is imported; an empty path where it is installed."""
    spec = importlib.util.find_spec(module.partition(".")[0])
    place = None if spec is None else next(iter(spec.submodule_search_locations or ()), spec.origin)
    root = Path(place or "").resolve().parent
    return Path() if place is None or root in _INSTALLED else root


def imported_from(module: ModuleType, node: ast.ImportFrom) -> str:
    """Return the name of the module from which a statement of a module imports."""
    name, package = "." * node.level + (node.module or ""), module.__package__ or ""
    return importlib.util.resolve_name(name, package) if package else name


def imported(module: ModuleType) -> list[ModuleType]:
    """Return the package of a module, and the modules that it imports anywhere, as far as they are loaded."""
    file, names = Path(getattr(module, "__file__", None) or ""), {module.__name__.rpartition(".")[0]}
    for node in ast.walk(ast.parse(file.read_bytes())) if file.suffix == ".py" else ():
        if isinstance(node, ast.Import):
            names.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = imported_from(module, node)
            names.update({home, *(f"{home}.{each.name}" for each in node.names)})
    return [each for name in names if getattr(each := sys.modules.get(name), "__spec__", None) and each is not None]


def load_factory(target: str) -> Callable[[], Any]:
    """Import ``FILE.py:NAME`` or ``package.module:NAME`` and return the callable; raises ``PassReferenceError``."""
    factory = load_named(target)
    if not callable(factory):
        raise PassReferenceError(f"'{target}' is not callable: it is {kind_of(factory)}")
    return factory  # type: ignore[no-any-return]  # callable() narrows to a callable of unknown result


def load_named(target: str) -> Any:
    """Import ``FILE.py:NAME`` or ``package.module:NAME`` and return what has the name.

    Raises:
        PassReferenceError: It cannot be had.
    """
    where, name, _ = split_target(target)
    module = load_module(target)
    if getattr(module, name, None) is None:
        own = [key for key, value in vars(module).items() if not _is_imported(module, key, value)]
        raise PassReferenceError(f"'{where}' has no '{name}'{near_matches(name, own)}")
    return getattr(module, name)


def load_module(target: str) -> ModuleType:
    """Import the file or module of ``FILE.py:NAME`` or ``package.module:NAME``; raises ``PassReferenceError``."""
    where = split_target(target)[0]
    if not where.endswith(".py") and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # as for `python -m`
    try:
        return import_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except (PassReferenceError, KeyboardInterrupt):
        raise
    except BaseException as error:
        parts = Path(os.path.relpath(where)).with_suffix("").parts
        package = "relative import" in str(error) and where.endswith(".py") and all(map(str.isidentifier, parts))
        hint = f"; name it {'.'.join(parts)}{target.removeprefix(where)}" if package and parts[1:] else ""
        raise PassReferenceError(f"'{where}' cannot be imported: {type(error).__name__}: {error}{hint}") from error


def _is_imported(module: ModuleType, name: str, value: Any) -> bool:
    """Say whether a module has a value from another package, and under the name that it has there."""
    home = str(getattr(value, "__module__", "")).partition(".")[0]
    elsewhere = getattr(value, "__name__", "") == name and home != module.__name__.partition(".")[0]
    return inspect.ismodule(value) or elsewhere


def _call_factory(target: str) -> Any:
    import tvm

    factory = load_factory(target)
    arguments = split_target(target)[2]
    if isinstance(factory, tvm.ir.transform.Pass) and not arguments:
        return factory  # a function under `@module_pass` is one
    try:
        built = eval(f"factory{arguments}", {**namespace(), "factory": factory}) if arguments else factory()
    except Exception as error:
        hint = f"; {HOW_TO_WRAP}" if isinstance(error, TypeError) and inspect.isfunction(factory) else ""
        raise PassReferenceError(f"'{target}' raised {type(error).__name__}: {error}{hint}") from error
    if not isinstance(built, tvm.ir.transform.Pass):
        raise PassReferenceError(f"'{target}' returned {kind_of(built)}, not a tvm.ir.transform.Pass")
    return built


def _importable(file: Path) -> tuple[Path, str]:
    """Return the directory from which a file is imported, and its name there; in a package, which has an
    ``__init__.py``, a dotted one.
    """
    root, names = file.parent, [file.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        root, names = root.parent, [root.name, *names]
    return root, ".".join(names)


def import_file(path: Path) -> ModuleType:
    """Import a file of the user's, once in a process; raises ``PassReferenceError`` and whatever it raises itself.

    A file of a package is imported as such, so that it can import what is beside it relatively.
    """
    if not path.is_file():
        raise PassReferenceError(f"'{path}' is not a file")
    root, dotted = _importable(resolved(path))
    if "." in dotted:
        sys.path += [str(root)] if str(root) not in sys.path else []
        spec = importlib.util.find_spec(dotted)
        if spec is not None and resolved(Path(spec.origin or "")) == resolved(path):  # no other package of its name
            return importlib.import_module(dotted)
    name = f"relaxfuzz_user_{path.stem}_{abs(hash(str(path.resolve())))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PassReferenceError(f"'{path}' cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if (beside := str(path.resolve().parent)) not in sys.path:
        sys.path.append(beside)  # as for `python FILE`
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def sources(place: str) -> set[tuple[str, str]]:
    """Hash the files that a loaded file or module of the user's is made of: itself, and what it imports from beside it.

    Each is named by its path from the directory that all of it is imported from.
    """
    root, files = own_files(place)
    return {(str(each.relative_to(root)), content_hash(each)) for each in files}


def content_hash(path: Path) -> str:
    """Return what tells a file's content from another one's."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def own_files(place: str) -> tuple[Path, set[Path]]:
    """Return the directory that a file or module of the user's was imported from, and all files loaded from there."""
    file = Path(place).resolve() if place.endswith(".py") else Path(sys.modules[place].__file__ or "")
    root = _importable(file)[0] if place.endswith(".py") or _root_of(place) == Path() else _root_of(place)
    loaded = {Path(name).resolve() for each in [*sys.modules.values()] if (name := getattr(each, "__file__", None))}
    mine = {each for each in loaded if each.is_relative_to(root) and not _installed_below(root, each)}
    return root, {each for each in {file, *mine} if each.is_file()}


def _installed_below(root: Path, file: Path) -> bool:
    """Say whether a file belongs to an environment that is kept in a project's own directory."""
    return any(each.is_relative_to(root) and file.is_relative_to(each) for each in _INSTALLED if each != root)


@dataclass(frozen=True, slots=True)
class Step:
    """One pass of a pipeline.

    Attributes:
        inserted: Whether it was put in because the next one needs it, and not drawn.
    """

    ref: PassRef
    contract: Contract
    inserted: bool = False
