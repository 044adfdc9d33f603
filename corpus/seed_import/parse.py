"""Parse candidates, inside an isolated worker: a candidate becomes a seed, or a reason why not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.script.parser._core import parse
from tvm.script.parser.core.entry import _default_globals

from corpus.seed_import.extract import FoundScript
from corpus.seed_import.spellings import renamed
from fuzzer.worker.child import begin_case, breadcrumb
from oracles.measure.inputs import materialize
from relaxkit.ir.functions import attributes
from relaxkit.runtime import ExecMode, session
from strategies.scope.frame import ModuleFrame
from strategies.seeds.facts import describe
from strategies.seeds.file import Seed
from strategies.seeds.splice import splice

MOST_BINDINGS = 300
"""Longer modules cost more to judge than they teach; those of whole networks are the ones left out."""
MOST_BYTES = 1 << 20
"""Most bytes of JSON; the weights of a module count."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing a script.

    Attributes:
        seed: The seed, when it is one.
        reason: Why it is none: a short phrase, so that equal ones can be counted.
        parsed: Whether the parser took it.
        renamed: Whether it did so only after older names were renamed.
        well_formed: Whether TVM's checker has no objection.
    """

    seed: Seed | None = None
    reason: str = ""
    parsed: bool = False
    renamed: bool = False
    well_formed: bool = False


def parse_all(candidates: Sequence[FoundScript]) -> Iterator[Parsed]:
    """Yield one result a script, in order."""
    for candidate in candidates:
        begin_case()
        breadcrumb(f"parse: {candidate.file}:{candidate.line}")
        yield parse_one(candidate)


def run_all(seeds: Sequence[Seed]) -> Iterator[tuple[str, ...]]:
    """Yield, of each seed's functions that may be spliced with true bounds, those that build and run; in order."""
    for seed in seeds:
        begin_case()
        breadcrumb(f"run: {seed.file}:{seed.line}")
        yield tuple(name for name in seed.spliceable if _runs(seed, name))


def _runs(seed: Seed, name: str) -> bool:
    """Say whether a spliced copy of a function builds on the reference pipeline and takes drawn inputs."""
    try:
        frame = ModuleFrame(relax.BlockBuilder(), frozenset(), True)
        var = splice(frame, tvm.ir.load_json(seed.module_json), name).var
        module = frame.builder.get()
        public = module[var].with_attr("global_symbol", var.name_hint)
        module = tvm.IRModule({**dict(module.functions.items()), var: public})
        program = session().build(module, ExecMode.BYTECODE)
        program.call(var.name_hint, materialize(module, var.name_hint, 0))
    except Exception:  # whatever it is, the function is none that a drawn module may rely on
        return False
    return True


def parse_one(candidate: FoundScript) -> Parsed:
    """Parse, check and describe one candidate; never raises for an error of TVM or of the script."""
    module, was_renamed, reason = _module(candidate)
    if module is None:
        return Parsed(reason=reason)
    if complaint := ill_formed(module):
        return Parsed(reason=complaint, parsed=True, renamed=was_renamed)
    if (module := with_inferred_results(module)) is None:
        return Parsed(reason="declares another result than a called function's body gives", parsed=True,
                      renamed=was_renamed, well_formed=True)  # fmt: skip
    seed, reason = _seed(candidate, module)
    return Parsed(seed, reason, True, was_renamed, True)


def _module(candidate: FoundScript) -> tuple[tvm.IRModule | None, bool, str]:
    """Return the script's module, whether names had to be renamed, and else why there is none."""
    module, reason = _attempt(candidate, candidate.source, candidate.preamble)
    if module is not None:
        return module, False, ""
    source = renamed(candidate.source)
    preamble = tuple(renamed(text) for text in candidate.preamble)
    if (source, preamble) != (candidate.source, candidate.preamble):
        module, reason = _attempt(candidate, source, preamble)
    return module, module is not None, reason


def _attempt(candidate: FoundScript, source: str, preamble: Sequence[str]) -> tuple[tvm.IRModule | None, str]:
    names = environment(preamble)
    try:
        found = parse(source, names, check_well_formed=False)
    except Exception as error:
        return None, parser_reason(error)
    if isinstance(found, relax.Function):
        name = candidate.name.rpartition(".")[2]
        try:
            found = tvm.IRModule({tvm.ir.GlobalVar(name): found})
        except Exception as error:
            return None, parser_reason(error)
    if not isinstance(found, tvm.IRModule):
        return None, f"is a {type(found).__name__}, not a module"
    return found, ""


def environment(preamble: Sequence[str]) -> dict[str, Any]:
    """Collect what a script may refer to: names that TVM's parser gives, and those that statements before it define."""
    names: dict[str, Any] = dict(_default_globals())
    for text in preamble:
        try:
            if text.lstrip().startswith("@"):
                names[_defined(text)] = parse(text, dict(names), check_well_formed=False)
            else:
                exec(compile(text, "<preamble>", "exec"), names)  # imports and constants, as extract.py takes them
        except Exception:  # the parser then misses the name and says so
            continue
    names.pop("__builtins__", None)
    return names


def _defined(text: str) -> str:
    found = re.search(r"^\s*def (\w+)", text, re.MULTILINE)
    return found.group(1) if found else ""


def parser_reason(error: Exception) -> str:
    """Write the parser's complaint as a phrase that can be counted: no numbers, no quoted names but undefined ones."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = (lines[0] if lines else type(error).__name__).removeprefix("error: ")
    if (name := re.search(r"(?:Undefined variable:|name) '?(\w+)'?", text)) is not None:
        return f"a name of the file that is not a constant: {name.group(1)}"
    text = re.sub(r"0x[0-9a-f]+", "…", re.sub(r"(?<![\w.])\d+", "#", text))
    return f"parser: {text[:90]}"


def ill_formed(module: tvm.IRModule) -> str:
    """Return TVM's objection to a module as a phrase; empty when it has none."""
    if not relax.analysis.check_well_formed(module):
        return "ill-formed: Relax"
    try:
        tvm.s_tir.analysis.verify_well_formed(module)
        for function in module.functions.values():
            if isinstance(function, tirx.PrimFunc) and not attributes(function).get("s_tir", False):
                tirx.analysis.verify_tirx_well_formed(function)
    except Exception:
        return "ill-formed: a kernel"
    return ""


def bounds_are_numbers(module: tvm.IRModule) -> bool:
    """Say whether upper bounds of symbolic dims are numbers, as passes and the oracles' inputs take them."""
    bounds = [attributes(function).get("tir_var_upper_bound") for function in module.functions.values()]
    return all(isinstance(bound, int) for each in bounds if each is not None for bound in each.values())


def with_inferred_results(module: tvm.IRModule) -> tvm.IRModule | None:
    """Return the module with results as the bodies have them; ``None`` where a caller relies on others.

    TVM's checker does not compare the two. A test may declare less than the body gives, or something else altogether;
    a pass that infers the type anew then changes a signature, and rightly so.
    """
    functions = dict(module.functions.items())
    relaxed = {var: each for var, each in functions.items() if isinstance(each, relax.Function)}
    called = {var for each in relaxed.values() for var in relax.analysis.all_global_vars(each)}
    changed = {}
    for var, each in relaxed.items():
        if tvm_ffi.structural_equal(each.ret_ty, each.body.ty):
            continue
        if var in called:
            return None
        made = relax.Function(list(each.params), each.body, each.body.ty, bool(each.is_pure))
        made = made.with_attrs(attributes(each)) if attributes(each) else made
        changed[relax.BlockBuilder().add_func(made, var.name_hint)] = made
        del functions[var]
    if not changed:
        return module
    made = tvm.IRModule({**functions, **changed}, attrs=module.attrs, global_infos=module.global_infos)
    return made if relax.analysis.check_well_formed(made) else None


def _seed(candidate: FoundScript, module: tvm.IRModule) -> tuple[Seed | None, str]:
    if getattr(module, "pyfuncs", None):
        return None, "has Python functions"
    try:
        seed = describe(module)
    except Exception as error:
        return None, f"cannot be described: {type(error).__name__}: {str(error)[:60]}"
    if not seed.functions:
        return None, "no Relax function"
    if not bounds_are_numbers(module):
        return None, "an attribute tir_var_upper_bound that holds no numbers"
    if seed.bindings > MOST_BINDINGS:
        return None, f"more than {MOST_BINDINGS} bindings"
    try:
        text = str(tvm.ir.save_json(module))
        if len(text) > MOST_BYTES:
            return None, f"more than {MOST_BYTES >> 10} KiB of JSON"
        again = tvm.ir.load_json(text)
        if not tvm_ffi.structural_equal(again, module):
            return None, "does not equal its own reload"
        fingerprint = f"{tvm_ffi.structural_hash(module) & (1 << 64) - 1:016x}"
    except Exception as error:
        return None, f"cannot be saved: {type(error).__name__}"
    found, line, name = candidate.file, candidate.line, candidate.name
    return replace(seed, fingerprint=fingerprint, file=found, line=line, name=name, module_json=text), ""
