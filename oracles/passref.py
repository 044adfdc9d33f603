"""References to passes: source text that builds a pass, so that it can be stored and pasted into a script."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from vocabulary.names import namespace

USER_PREFIX = "user:"
CODEGEN_PASS = "RunCodegen"
"""The pass that needs a registered code generator; built here, it has that of ``oracles.execution.external``."""

CUDA_GRAPH_PASS = "RewriteCUDAGraph"
"""The pass whose output calls builtins that a CPU lacks; built here, those of ``oracles.execution.cuda_graph`` are."""


class PassReferenceError(ValueError):
    """A pass reference that does not import, is not callable, raises, or does not give a pass."""


@dataclass(frozen=True, slots=True)
class PassRef:
    """A pass under test, by name and by the text that builds it.

    Attributes:
        name: Name of the pass, the key of its contract (``LiftTransformParams``).
        expression: A Python expression over the names of :func:`vocabulary.names.namespace`, for instance
            ``relax.transform.ToMixedPrecision(out_dtype="float16")``; or ``user:FILE.py:FACTORY`` or
            ``user:package.module:FACTORY`` for a pass that the user brings.
    """

    name: str
    expression: str

    @property
    def is_user(self) -> bool:
        """Whether the user brought this pass."""
        return self.expression.startswith(USER_PREFIX)

    def build(self) -> Any:
        """Build the ``tvm.ir.transform.Pass``; raises ``PassReferenceError`` for a user's pass that cannot be built."""
        if self.is_user:
            return _call_factory(self.expression)
        built = eval(self.expression, namespace())  # the text is our own strategy's or a stored case's
        if self.name == CUDA_GRAPH_PASS:
            from oracles.execution.cuda_graph import with_cuda_graph

            return with_cuda_graph(built)
        return _with_codegen(built) if self.name == CODEGEN_PASS else built


@dataclass(frozen=True, slots=True)
class GivenPass(PassRef):
    """A pass that exists already as an object, given to ``oracles.check``; it cannot be stored.

    Attributes:
        given: The ``tvm.ir.transform.Pass``.
    """

    given: Any = None

    def build(self) -> Any:
        """Return the pass."""
        return self.given


def _with_codegen(built: Any) -> Any:
    from oracles.execution import session
    from oracles.execution.external import with_codegen

    return with_codegen(built, lambda module: session().build(module))


def load_factory(target: str) -> Callable[[], Any]:
    """Import ``FILE.py:NAME`` or ``package.module:NAME`` and return the callable; raises ``PassReferenceError``."""
    where, separator, name = target.rpartition(":")
    if not separator or not where or not name:
        raise PassReferenceError(f"'{target}' is not FILE.py:FACTORY or package.module:FACTORY")
    try:
        module = import_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    except PassReferenceError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise PassReferenceError(f"'{where}' does not import: {type(error).__name__}: {error}") from error
    factory = getattr(module, name, None)
    if factory is None:
        raise PassReferenceError(f"'{where}' has no '{name}'")
    if not callable(factory):
        raise PassReferenceError(f"'{target}' is not callable: it is a {type(factory).__name__}")
    return factory  # type: ignore[no-any-return]  # callable() narrows to a callable of unknown result


def _call_factory(expression: str) -> Any:
    import tvm

    target = expression[len(USER_PREFIX) :]
    factory = load_factory(target)
    if isinstance(factory, tvm.ir.transform.Pass):
        return factory  # a function under `@module_pass` is one
    try:
        built = factory()
    except Exception as error:
        raise PassReferenceError(f"'{target}' raised {type(error).__name__}: {error}") from error
    if not isinstance(built, tvm.ir.transform.Pass):
        raise PassReferenceError(f"'{target}' gave a {type(built).__name__}, not a tvm.ir.transform.Pass")
    return built


def import_file(path: Path) -> ModuleType:
    """Import a file of the user's, once in a process; raises ``PassReferenceError`` and whatever it raises itself."""
    if not path.is_file():
        raise PassReferenceError(f"'{path}' is not a file")
    name = f"relaxfuzz_user_{path.stem}_{abs(hash(str(path.resolve())))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PassReferenceError(f"'{path}' cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
