"""What an error of TVM's says of the program: its message without the words of C++."""

from __future__ import annotations

import contextlib
import re

from tvm_ffi.core import _lookup_or_register_type_info_from_type_key

from fuzzer.core.text import plain
from fuzzer.repro.checks.check import PRINTED
from oracles.core.verdict import Evidence

_MOST_READ = 10_000
"""Characters of a message: some rules look at what follows again and again."""
LEAVES = "leaves a variable in "
_OF_TYPE = r"Expression of type (.*?) cannot be assigned to"
_WRONG_TYPE = r"All information in Type annotations.*?the expression (R\.[\w.]+)\("
_TYPE = r"R\.\w+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?"
_CHECK = r"\A.*?Check failed: (?:\((.*?)\) is false|(.*?\([^()]* vs\. [^()]*\)))\s*:?\s*"
_PLAINER: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), plain)
    for pattern, plain in (
        (r"# Metadata omitted.*?show it\.", ""),
        (r"\A.*true for relax\.force_pure but false for is_pure.*", "relax.force_pure is left on an impure function"),
        (r"Operator-specific validation \(FValidate\) for (\S+) identified error:\s*", r"call to \1: "),
        (rf"{_OF_TYPE} a variable of type \1\Z", "a variable is on another device than its value"),
        (r"\A.*schedule primitive.* type T\.(\w+), but .* is of type (\w+).*", r"a \1 buffer is padded with \2"),
        (r"\A.*Mismatched type .*? calling: `([\w.]+)\(.*Expected `(.*?)` but got `(.*?)`.*", r"\1 is given \3 for \2"),
        (_OF_TYPE, r"a value of type \1 is bound to"),
        (rf"{_WRONG_TYPE}.* as (R\..*), the expression outputs \2\Z", r"\1 is on another device than its type says"),
        (rf"{_WRONG_TYPE}.*", r"the type of \1 is not the one that is inferred"),
        (r"Function 0x[0-9a-f]+ is\b", "a function is"),
        (r"\b[IRT]\.GlobalVar\(\"(\w+)\"\)", r"\1"),
        (r"\bPrimExpr (.*?) in function (\w+)", r"the dim \1 of \2"),
        (
            r"Number of arg.* Function (\w+) .* (\d+) par.* (\d+) arg\w+ \((.*)\)",
            r"\1 takes \2 arguments, but is given \3: \4",
        ),
        (r"Invoking function (\w+) expects (\d+) arguments.* (\d+) arguments.*", r"\1 takes \2, but is given \3"),
        (r"Binary op.*? R\.([\w.]+)\(.* T\.(\w+) on the .* T\.(\w+) on the .*", r"relax.\1 of \2 and \3 is ill-typed"),
        (
            r"Matmul req.*?shape\(\[(.*?)\]\).*shape\(\[(.*?)\]\).*",
            r"relax.matmul of shapes (\1) and (\2) is ill-typed",
        ),
        (
            rf"The `out_ty` argument.*output should be ({_TYPE}), but the `out_ty` argument was T\.Tuple.*",
            r"out_ty of relax.call_tir is a tuple, but its PrimFunc returns \1",
        ),
        (r"Expected TensorType, but got R\.Callable.*", "a function is taken for a tensor"),
        # Two variables of one place in a module and its copy are the same where something defines them.
        (r"\A(\w+\.\w+): Var became Var\Z", rf"{LEAVES}\1 that nothing defines"),
        (r"The type is not populated.*", "an expression has no type"),
        (r"The argument of relax\.op\.([\w.]+) should be a Var", r"relax.\1 is given no variable"),
        (r"'TupleType' object has no attribute '(?:dtype|shape|ndim)'", "a tuple is taken for a tensor"),
        (r"Check not null: \w+", "a null reference is read"),
        (r"Tensor dimension mismatch in read ndim = (\d+), .*=(\d+)", r"a \1-D tensor is read at \2 indices"),
        (r"The signature of target buffer.* independent Var, but got (.*?)\.?\Z", r"a buffer has the dim \1"),
        (r"Expected mapping function.* received (\S+) of type.*'(\w+)'.*", r"an index map gives \1 of type \2"),
        (r"\Atype of (\w+): TensorType\.(\w+): \w+ became NoneType\Z", r"the type of a \1 loses its \2"),
        (r"\Atype of ExternFunc: EnvFunc\.name: .*", "the derive_func in the type of an ExternFunc changes"),
        (r"\A(\w+): other operands\Z", r"the operands of an arithmetic expression (\1) change"),
        (r"emit_te now only supports Tensor that has ShapeExpr shape", "emit_te needs a known shape"),
        (r"Mismatched (\w+)\.(\w+) on argument.* match (\w+)\.\2.*", r"\1 and \3 of a kernel differ in \2"),
        (r"\ABack optional access\Z", "an empty Optional is read"),
        (r"\A'key is not in Map'\Z", "a Map lacks a key"),
        (r"Cannot convert when exactly one of the layouts is unknown", "one of two layouts is unknown"),
        (r"Do not have a default for (?=[\w.]+)", "it has no case for "),
        (r"(?<=cannot emit) this Relax operator.*", " it"),
        (r"Cannot find underlying compiled tirx function of VMTIRFunc (\w+)", r"no kernel is compiled for \1"),
        (r"T\.u?int\d+\((-?\d+)\)", r"\1"),
        (r"(?<=type)T\.(?=\w+\Z)", " "),
        (r"(?<=mismatched)(?=\d)", ": "),
        (r'R\.Tensor\(\(([^()]*)\), dtype="(\w+)"\)', r"(\1) \2"),
        (r'R\.Tensor\(\(([^()]*)\), dtype="(\w+)", vdevice="[^"]*"\)', r"(\1) \2 on a vdevice"),
        (r'R\.Tensor\(dtype="(\w+)", ndim=(\d+)\)', r"\1 of rank \2"),
        (rf"{_CHECK}(?=[^\s:])", ""),  # what is said of it says more
        (rf"{_CHECK}\Z", r"the check `\1\2` fails"),
        (r"the check `.*CanProve\(floormod\(\w+->(\w+), (\w+)\) == 0\)` fails", r"an \1 is no multiple of the \2"),
        (r"the check `reg < \S+ \(18014398509481984 vs\. \d+\)` fails", "it writes to the void register"),
        (r"ErrorContext\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)\s*", ""),
        (r"^\s*Error: | when calling:.*|(?:(?<=[\w)\"'`])\.\s+(?=[A-Z])|\s*\n\s*\n).*", ""),  # the first sentence
        (r"In (relax[\w.]+), the first input shape.*? is (\w+) and the second.*? is (\w+).*", r"\1 of dims \2 and \3"),
        (r"\b(?:Data[fF]low)?[vV]ar(?:iable)? [lg]v\d*\b", "a variable"),
        (r"Argument (\d+) type mismatch: expected (.*), given (.*)", r"argument \1 is \3 instead of \2"),
        (r'(argument \d+) is R\.Tensor\(dtype="(\w+)"\) instead of \(.*\) \2', r"\1 lacks the shape of its parameter"),
        (r"argument (\d+) is (.*) instead of \2 on a vdevice", r"argument \1 lacks the vdevice of its parameter"),
        (r"\s+", " "),
        (r" :(?=\w)", ": "),
    )
)


_KINDS = {
    "ir.GenericConst": "a constant", "ir.Var": "a variable", "ir.GlobalVar": "a function",
    "ir.PrimType": "a scalar type", "relax.TensorType": "a tensor type", "ir.TupleType": "a tuple type",
}  # fmt: skip
_TAKEN = re.compile(r"Cannot treat type `([\w.]+)` as type `([\w.]+)`")


def _taken(found: re.Match[str]) -> str:
    """Say what is taken for what; TVM's own words where the one is a kind of the other."""
    info, (one, other) = _lookup_or_register_type_info_from_type_key, found.groups()
    with contextlib.suppress(ValueError):
        if info(other).type_index in info(one).type_ancestors:
            return found[0]
    return " is taken for ".join(_KINDS.get(each, each) for each in found.groups())


def is_bare(error: str) -> bool:
    """Say whether nothing is known of an error but the condition in C++ that does not hold."""
    return error.startswith("the check `") and " vs. " not in error


def essence(evidence: Evidence, message: str = "") -> str:
    """Reduce an error of TVM's to what it says of the program."""
    text = PRINTED.sub("", plain(message or evidence.message))[:_MOST_READ]
    for pattern, plainer in _PLAINER:
        text = pattern.sub(plainer, text)
    text = _TAKEN.sub(_taken, text)
    text = text.strip(" .:,")
    if text or not evidence.frames:
        return text
    return f"an assertion in {evidence.frames[0].rpartition(':')[2]} does not hold"
