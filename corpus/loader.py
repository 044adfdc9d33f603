"""Find and load the cases of the corpus."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from corpus.case import CaseError, KnownCase, parse_case

CASES = Path(__file__).resolve().parent / "cases"


def load(slugs: Iterable[str] = (), root: Path = CASES) -> list[KnownCase]:
    """The named cases, or all, sorted by slug.

    Args:
        slugs: Names of case directories; none means all.
        root: Directory that holds one directory a case.

    Raises:
        CaseError: For an unknown slug (with near matches) or a malformed case, in one line.
    """
    known = sorted(path.parent.name for path in root.glob("*/case.toml"))
    wanted = list(slugs) or known
    for slug in wanted:
        if slug not in known:
            near = difflib.get_close_matches(slug, known, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise CaseError(f"no case '{slug}' in the corpus{hint}")
    return [parse_case(root / slug) for slug in wanted]


def load_module(case: KnownCase) -> Any:
    """The case's ``tvm.IRModule``, from ``module.py`` (its name ``Module``) or ``module.json`` (``tvm.ir.save_json``).

    Raises:
        CaseError: When neither file is there, or it does not load.
    """
    script, text = case.directory / "module.py", case.directory / "module.json"
    if script.is_file():
        return _import_module(script)
    if text.is_file():
        import tvm

        try:
            return tvm.ir.load_json(text.read_text(encoding="utf-8"))
        except Exception as error:
            raise CaseError(f"{text}: {type(error).__name__}: {error}") from error
    raise CaseError(f"{case.directory}: neither module.py nor module.json is there")


def _import_module(path: Path) -> Any:
    import tvm

    # TVMScript reads its own source through `inspect`, so the file has to be imported, not exec'ed.
    spec = importlib.util.spec_from_file_location(f"corpus_case_{path.parent.name.replace('-', '_')}", path)
    if spec is None or spec.loader is None:
        raise CaseError(f"{path}: cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # `inspect` looks the source up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise CaseError(f"{path}: {type(error).__name__}: {error}") from error
    finally:
        del sys.modules[spec.name]  # every load gives a module of its own: some passes edit theirs in place
    found = getattr(module, "Module", None)
    if not isinstance(found, tvm.IRModule):
        raise CaseError(f"{path}: 'Module' is not a tvm.IRModule")
    return found
