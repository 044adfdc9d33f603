"""Symptoms: what of a failure is the same however its cause came to light.

One cause shows under several oracles (a check fails in a first run, and in a run beside other functions) and in several
words (a call that does not fit its function is refused before the program runs, or while it does).  A symptom is the
part of the evidence that stays; docs/triage.md has the rules and what they were measured on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from fuzzer.core.text import first_line
from oracles.core.verdict import NOT_AS_DOCUMENTED, SYMBOL, Difference, Evidence
from relaxkit.passes.contract import OracleName


@dataclass(frozen=True, slots=True)
class Symptom:
    """A failure in words that do not depend on the oracle.

    Attributes:
        core: The words.
        place: The function of TVM that is to blame whichever pass calls it (``nn.py:_nn_pixel_shuffle``); empty when
            the pass is.
        mute: Whether the words tell nothing of the cause: another result, a dead process.
        laddered: Whether a more elementary pass may be what fails (``fuzzer.triage.traits`` looks).
        refused: Whether type inference of an operator raised it.
        dead: Whether the process died: by a signal or for want of memory, as it happened.
    """

    core: str
    place: str = ""
    mute: bool = False
    laddered: bool = False
    refused: bool = False
    dead: bool = False


# A legalization is one function an operator, called by LegalizeOps, FoldConstant, DecomposeOpsForTraining and others.
_LEGALIZATION = re.compile(r"^(?:relax/transform/legalize_ops|topi)/(?:[\w.]+/)*([\w.]+:\w+)$")
_HELPERS = frozenset({"utils.py:gen_call_tir_inputs", "utils.py:convert_to_expr", "object_generic.py:const"})

_CHECK = re.compile(
    r"Check failed: ?(?P<check>\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|[^:]*?)(?: is false| \(<n>|:|$)"
)
# Type inference of a call, before and at run time.
_UNFIT_ARGUMENT = re.compile(r"Argument <n> type mismatch|\(is_func\) is false")
_UNFIT_NUMBER = re.compile(r"Number of arguments and parameters mismatch|gfunc\.num_args\) == args\.size")
# What a message says that it was given; before it normalisation takes types away.
_UNTYPED = re.compile(
    r"(?:given|received|of type|has type|with type|given one is) (?:T\.Tuple\()?(?:R\.Any\b|relax\.AnyType)"
    r"|Call->op must contains a function type"
)
_UNFIT_TENSOR = re.compile(r"(?:Mismatched|Invalid) [\w<>]+\.(?P<field>\w+)[^ ]* on argument")
_UNDEFINED = re.compile(r"^(?P<what>Var|DataflowVar|GlobalVar) .*? is not defined")
_NOTHING_DEFINES = {"Var": "a value", "DataflowVar": "a value", "GlobalVar": "a function"}  # of whichever block
# An operator's rules name themselves; the pass that made the call is to blame for any.
_RULES_OF_OPERATORS = re.compile(r"src/relax/op/")
_OPERATOR_NAME = re.compile(r"Op\(relax\.[\w.]+\)|\brelax\.op\.[\w.]+\b")
_INFERENCE = re.compile(r"^InferType(?=[A-Z])\w+")
_INSTEAD = re.compile(r"( has no attribute) \w+$| became \w+$")
_BOXED = re.compile(r"\b(?:String|Int|Float)Imm\b")
_SAME_RUN = re.compile(r"during (?:prepare|environment)\b")
_OUTSIDE = re.compile(r"^DataflowVar .* is used outside DataflowBlock")
_ATTRIBUTE = re.compile(r"^\w+ (?:<name> |object )?has no attribute")
# Of the members that a visitor needs, which is missing first depends on the module; so do the place where a key is
# looked up, and the leaf of an expression that is met first.
_MEMBER = re.compile(r"^not \(\w+_\.defined\(\)\)")
_KEY = re.compile(r"^not \((\w+)\.count\(.*\)\)")
_LEAF = re.compile(r"(?<=^Do not have a default for )(?:relax\.expr\.(?:ExternFunc|DataTypeImm)|ir\.StringImm)")
# What a claim says of a tensor, a program that runs shows.
_CLAIMED = re.compile(r"in another (device)$|(other dims) than its call$")
_KILLED = re.compile(r"a variable is used after it was killed$|expect a \w+ but get None\b")
_SHARED = "src/relax/utils.cc:"  # functions that many passes call, of which any may meet the case that they refuse
_INFERRED = re.compile(r"\bHowever, (R\.[a-z][\w.]*)\(")

_ILL_FORMED = "ill-formed"
UNBUILT = frozenset({"does-not-build", "run-error"})
_WRONG = frozenset({"wrong-value", "wrong-dtype", "wrong-shape", "wrong-structure"})
_ENTRY = "ir/transform.py:__call__"
_DIFFERS = {"wrong-dtype": Difference.DTYPE.value, "wrong-shape": Difference.SHAPE.value}
_TYPES = frozenset(each.value for each in Difference)
_LOST = "a value has lost its type"
_FIELDS = {"dtype": Difference.DTYPE, "shape": Difference.SHAPE, "strides": Difference.SHAPE, "ndim": Difference.RANK,
           "device_id": Difference.DEVICE, "device_type": Difference.DEVICE}  # fmt: skip
LEFT = "an operator is left that nothing legalizes"
FEWER_DIMS = f"a value of {Difference.RANK}"
DIM = "symbolic dims that nothing defines, or that type inference refuses"
_DATA = re.compile(r"^a (?:tensor|tuple|shape)\b")  # for most causes one is as good as another
_AS_BEFORE = (DIM, "ill-formed: a function that nothing defines")
_CAST = re.compile(r"Cannot treat type")  # names what is there and what was expected
_UNFIT_VALUE = re.compile(r"src/runtime/vm/builtin\.cc:(?:\w+::)*Check\w+Info$")
"""What the virtual machine asks of the arguments of a function."""
_UNHOLDABLE = re.compile(r"value (?:==|>=) <n>")
_OF_A_PASS = re.compile(r"(?:src/)?relax/transform/")
_DEATHS = re.compile(r"signal \d+|hang|memory")
_RAISED = re.compile(r"[A-Z]\w*(?:Error|Exception|Iteration|Interrupt)$")


def is_of_another_type(found: Evidence) -> bool:
    """Say whether TVM's checker objects to a variable that is bound to a value of another type."""
    return "cannot be assigned to a variable of type" in found.message


def symptom_of(oracle: OracleName, found: Evidence, message: str) -> Symptom:
    """Return the symptom of a failure.

    Args:
        oracle: Who saw it.
        found: Its evidence.
        message: Its message, normalised (``fuzzer.findings.signature.normalise``).
    """
    about = found.details.subject
    if oracle is OracleName.ROUNDTRIP:
        # What stands there instead depends on the module, as does which attribute of a wrong object is missed first.
        said = _BOXED.sub("a boxed constant", _INSTEAD.sub(r"\1", message))
        return Symptom(f"{found.kind}: {said}")
    if _DEATHS.fullmatch(found.kind):
        # A pass dies in the same way where it prepares a module for another, or runs once more with instruments.
        stage = _SAME_RUN.sub("during crash", message[max(0, message.find("during")) :])
        return Symptom(f"{found.kind} {stage}", mute=True, laddered=True, dead=True)
    if _KILLED.search(message):
        return Symptom("a value is used after it was killed", laddered=True)
    if found.kind in UNBUILT:
        return _unbuilt(found, message)
    if (differs := _DIFFERS.get(found.kind, "")) or about in _TYPES:
        of = f" of {found.details.operator}" if found.details.operator else ""  # each kernel's fault is its own
        ranks = {len(re.findall(r"\d+", each)) for each in found.details.numbers[1:3] if differs == Difference.SHAPE}
        differs = Difference.RANK.value if len(ranks) == 2 else differs or about  # as its type says
        return Symptom(_LOST if about == Difference.TYPE else f"a value of {differs}{of}", laddered=True)
    if found.kind in _WRONG:
        return Symptom(f"another result: {found.kind}", mute=True)
    if found.kind == "signature":
        return Symptom(f"signature: {message}", mute=True)
    if found.kind == "wrong-gradient":
        return Symptom(f"wrong-gradient: {message.rpartition(': ')[2]}")  # the operator that is differentiated
    if found.kind == "not-done" and (claimed := _CLAIMED.search(message)):
        return Symptom(f"a value of {Difference.DEVICE if claimed[1] else Difference.SHAPE}", laddered=True)
    if oracle is OracleName.ENVIRONMENT or not (found.kind == _ILL_FORMED or _RAISED.fullmatch(found.kind)):
        which = f", {about}" if found.kind == NOT_AS_DOCUMENTED and about else ""  # lost digits, or another thing
        return Symptom(f"{oracle}: {found.kind}: {message}{which}")
    symptom = Symptom(_form(message, about), laddered=True) if found.kind == _ILL_FORMED else _raised(found, message)
    # A second run starts from what the first one made, which no first run is given: values that nothing defines then,
    # and what a function that others use refuses then, are of other causes.
    again = oracle is OracleName.IDEMPOTENCE and not (symptom.core in _AS_BEFORE or _own(found))
    return replace(symptom, core=f"{symptom.core}, in a second run") if again else symptom


def _own(found: Evidence) -> bool:
    """Say whether the source of passes raised it, or nobody can tell who."""
    return bool(found.frames) and (found.frames[0] == _ENTRY or _OF_A_PASS.match(found.frames[0]) is not None)


def _form(message: str, subject: str) -> str:
    """Tell what TVM's checker objects to."""
    if _OUTSIDE.search(message):
        message = "DataflowVar <name> is not defined"  # the block that would define it is another one
    if match := _UNDEFINED.search(message):
        if subject.startswith(SYMBOL):
            return DIM
        where = f", {_DATA.sub('data', subject)}" if subject else ""
        return f"ill-formed: {_NOTHING_DEFINES[match['what']]} that nothing defines{where}"
    if "is annotated as pure but contains an impure call" in message:
        return "ill-formed: an impure call in a pure function"
    return f"ill-formed: {message}"


def _unbuilt(found: Evidence, message: str) -> Symptom:
    """Return a program that came out well-formed and cannot be built or run."""
    if "CodeGenVM cannot emit" in message or any(map(_LEGALIZATION.match, found.frames[:1])):
        return Symptom(LEFT, laddered=True)
    if "unknown intrinsic" in message:
        return Symptom("an intrinsic is left that the code generator does not know", laddered=True)
    unfit = bool(found.frames) and _UNFIT_VALUE.match(found.frames[0])
    if unfit or _UNFIT_ARGUMENT.search(message) or _UNFIT_NUMBER.search(message):
        # Which of these depends on what the caller happens to pass.
        return Symptom("a call does not fit its function", laddered=True)
    if match := _UNFIT_TENSOR.search(message):
        field = match["field"]
        return Symptom(
            f"a value of {_FIELDS[field].value}" if field in _FIELDS else f"a kernel's tensor has another {field}"
        )
    return Symptom(_said(found, message), laddered=True)


def _raised(found: Evidence, message: str) -> Symptom:
    """Return an error that a pass raised."""
    for frame in found.frames:
        match = _LEGALIZATION.match(frame)
        if match and match.group(1) not in _HELPERS:
            said = "a constant that its dtype cannot hold" if _UNHOLDABLE.search(message) else _said(found, message)
            return Symptom(f"the legalization raises: {said}", place=match.group(1))
    if _UNTYPED.search(first_line(found.message)):
        return Symptom(_LOST, laddered=True)
    if _UNFIT_ARGUMENT.search(message):
        return Symptom("an argument of another type than its function's parameter", laddered=True)
    if _UNFIT_NUMBER.search(message):
        return Symptom("another number of arguments than its function has parameters", laddered=True)
    if found.frames and found.frames[0].endswith(":relax::InferBinaryBroadcastShape"):
        return Symptom(f"a value of {Difference.SHAPE}", laddered=True, refused=True)
    # An error of a container of C++, whose place TVM does not tell, says nothing of the cause.
    placeless = bool(found.frames) and found.frames[0] == _ENTRY and not _CAST.match(message)
    refused = bool(found.frames) and _RULES_OF_OPERATORS.match(found.frames[0]) is not None
    place = found.frames[0] if found.frames and found.frames[0].startswith(_SHARED) else ""
    return Symptom(_said(found, message), place, mute=placeless, laddered=True, refused=refused)


def _said(found: Evidence, message: str) -> str:
    """Return the condition of a check, or the message; with the function that says it."""
    check = _CHECK.search(message)
    text = f"not {check['check'].strip()}" if check else _ATTRIBUTE.sub("something has no attribute", message)
    where = found.frames[0].rsplit(":", 1)[-1].rsplit("::", 1)[-1] if found.frames else ""
    text = _LEAF.sub("a leaf", _MEMBER.sub("not (a member is defined)", text))
    if key := _KEY.search(text):
        text, where = f"not ({key[1]} has a key)", ""
    if found.frames and _RULES_OF_OPERATORS.match(found.frames[0]):
        text, where = _OPERATOR_NAME.sub("an operator", text), _INFERENCE.sub("InferType", where)
    if operator := _INFERRED.search(first_line(found.message)):
        text = f"{operator[1]}: {text}"  # whose type cannot be inferred
    return f"{text} in {where}" if where else text
