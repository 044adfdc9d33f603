"""When TVM is adopted: as soon as it is imported, and not before."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def said(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


def test_rooms_that_are_imported_lazily_do_not_load_tvm() -> None:
    assert said("import relaxkit.compat, oracles, corpus, fuzzer, sys; print('tvm' in sys.modules)") == "False"


def test_tvm_is_adopted_once_whoever_imports_it() -> None:
    program = """
        import sys
        import relaxkit.compat, relaxkit.compat.hook
        from relaxkit.compat import adoption
        calls = []
        inner, adoption.adopt = adoption.adopt, lambda: calls.append(1) or inner()
        from tvm import relax
        import tvm, importlib
        relaxkit.compat.install()
        print(len(calls), hasattr(tvm, "sym"), type(tvm.__spec__.loader).__name__, type(tvm.__loader__).__name__,
              any(isinstance(each, relaxkit.compat.hook._Finder) for each in sys.meta_path))
    """
    calls, sym, *loaders, waiting = said(program).split()
    assert (calls, sym, waiting) == ("2", "True", "False")  # the second is `install` with TVM at hand
    assert loaders == ["SourceFileLoader", "SourceFileLoader"]


def test_tvm_that_was_imported_before_is_adopted_at_once() -> None:
    assert (
        said("import tvm, relaxkit.compat; print(hasattr(tvm, 'sym'), hasattr(tvm.ir, 'GenericConst'))") == "True True"
    )


def test_a_missing_tvm_is_reported_as_python_does() -> None:
    program = """
        import sys
        import relaxkit.compat
        sys.path[:] = [path for path in sys.path if "site-packages" not in path]
        try:
            import tvm
        except ModuleNotFoundError as error:
            print(error.name)
    """
    assert said(program) == "tvm"
