"""Names that a release lacks, as data: what each is called there, and how its messages are worded.

A row is applied where its new name is missing, so that on a release that has it nothing happens, and a build from
source is treated by what it has and not by what it is called. Rows of a release that is no longer supported can go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alias:
    """A name of the newest release for something that an older one calls otherwise.

    Attributes:
        new: Dotted path of the name, ``tvm.ir.GenericConst``; its parent is a module or a class.
        old: Dotted path of what it means.
        since: First release that has the new name.
        rebinds: The name exists in older releases with a meaning that nothing there uses any more, and is taken over.
    """

    new: str
    old: str
    since: str
    rebinds: bool = False


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of objects that older releases call otherwise.

    Attributes:
        owner: Dotted path of the class.
        new: The attribute's name.
        old: Its name in older releases.
        since: First release that has the new name.
    """

    owner: str
    new: str
    old: str
    since: str


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword argument that older releases call otherwise.

    Attributes:
        function: Dotted path of the function, or of the class whose constructor it is.
        new: The keyword's name.
        old: Its name in older releases.
        since: First release that has the new name.
    """

    function: str
    new: str
    old: str
    since: str


@dataclass(frozen=True, slots=True)
class Argument:
    """The last argument of a function, which older releases do not take: there it is left out, whatever was given.

    Attributes:
        function: Dotted path of the function.
        name: The argument.
        since: First release that takes it.
    """

    function: str
    name: str
    since: str


@dataclass(frozen=True, slots=True)
class Demand:
    """Arguments that older releases insist on: there they are empty mappings, when they are not given.

    Attributes:
        function: Dotted path of the function.
        names: The arguments, its last ones.
        until: Last release that asks for them.
    """

    function: str
    names: tuple[str, ...]
    until: str


ALIASES: tuple[Alias, ...] = (
    Alias("tvm.sym", "tvm.arith", "0.27"),
    Alias("tvm.ir.GenericConst", "tvm.relax.Constant", "0.27"),
    Alias("tvm.ir.StringImm", "tvm.relax.StringImm", "0.27"),
    Alias("tvm.ir.Call", "tvm.relax.Call", "0.26"),
    Alias("tvm.ir.Expr", "tvm.ir.BaseExpr", "0.26"),
    Alias("tvm.relax.distributed.DTensorType", "tvm.relax.distributed.DTensorStructInfo", "0.26"),
    Alias("tvm.s_tir.SBlock", "tvm.tirx.SBlock", "0.27"),
    Alias("tvm.s_tir.SBlockRealize", "tvm.tirx.SBlockRealize", "0.27"),
    Alias("tvm.s_tir.analysis.verify_well_formed", "tvm.tirx.analysis.verify_well_formed", "0.27"),
    Alias("tvm.relax.VDevice", "tvm.ir.VDevice", "0.27"),
    # Beside the StructInfo that 0.26 calls types, 0.25 has types without shapes that nothing uses any more; what still
    # is used of them, the type of a scalar, is in relaxkit.compat.shims.
    Alias("tvm.relax.Type", "tvm.relax.StructInfo", "0.26", rebinds=True),
    Alias("tvm.relax.AnyType", "tvm.relax.ObjectStructInfo", "0.26"),
    Alias("tvm.relax.TensorType", "tvm.relax.TensorStructInfo", "0.26", rebinds=True),
    Alias("tvm.relax.ShapeType", "tvm.relax.ShapeStructInfo", "0.26", rebinds=True),
    Alias("tvm.relax.TupleType", "tvm.relax.TupleStructInfo", "0.26", rebinds=True),
    Alias("tvm.relax.FuncType", "tvm.relax.FuncStructInfo", "0.26", rebinds=True),
    Alias("tvm.ir.TupleType", "tvm.relax.TupleStructInfo", "0.26", rebinds=True),
    Alias("tvm.relax.expr._update_type", "tvm.relax.expr._update_struct_info", "0.26"),
    Alias("tvm.relax.transform.UpdateParamType", "tvm.relax.transform.UpdateParamStructInfo", "0.26"),
    Alias("tvm.relax.dpl.TypePattern", "tvm.relax.dpl.StructInfoPattern", "0.26"),
    Alias("tvm.relax.analysis.derive_call_ret_type", "tvm.relax.analysis.derive_call_ret_struct_info", "0.26"),
    Alias("tvm.relax.analysis.type_base_check", "tvm.relax.analysis.struct_info_base_check", "0.26"),
    Alias("tvm.relax.analysis.type_lca", "tvm.relax.analysis.struct_info_lca", "0.26"),
    Alias("tvm.relax.analysis.tir_vars_in_type", "tvm.relax.analysis.tir_vars_in_struct_info", "0.26"),
    Alias(
        "tvm.relax.analysis.definable_tir_vars_in_type", "tvm.relax.analysis.definable_tir_vars_in_struct_info", "0.26"
    ),
    Alias("tvm.script.relax.Any", "tvm.script.relax.Object", "0.26"),
    Alias("tvm.script.relax.func_ret_type", "tvm.script.relax.func_ret_struct_info", "0.26"),
)

ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute("tvm.relax.Constant", "value", "data", "0.27"),
    Attribute("tvm.ir.RelaxExpr", "ty", "struct_info_", "0.26"),  # "struct_info" raises where there is none yet
    Attribute("tvm.relax.MatchCast", "ty", "struct_info", "0.26"),
    Attribute("tvm.relax.Call", "ty_args", "sinfo_args", "0.26"),
    Attribute("tvm.relax.Function", "ret_ty", "ret_struct_info", "0.26"),
    Attribute("tvm.relax.Var", "name", "name_hint", "0.26"),
)

KEYWORDS: tuple[Keyword, ...] = (
    Keyword("tvm.relax.BlockBuilder.match_cast", "ty", "struct_info", "0.26"),
    Keyword("tvm.relax.Call", "ty_args", "sinfo_args", "0.26"),
    Keyword("tvm.relax.Function", "ret_ty", "ret_struct_info", "0.26"),
    Keyword("tvm.relax.Var", "ty", "struct_info", "0.26"),
    Keyword("tvm.relax.DataflowVar", "ty", "struct_info", "0.26"),
    Keyword("tvm.relax.op.call_tir", "out_ty", "out_sinfo", "0.26"),
    Keyword("tvm.relax.op.call_tir_inplace", "out_ty", "out_sinfo", "0.26"),
    Keyword("tvm.relax.op.call_tir_with_grad", "out_ty", "out_sinfo", "0.26"),
    Keyword("tvm.relax.op.call_dps_packed", "out_ty", "out_sinfo", "0.26"),
    Keyword("tvm.relax.op.call_pure_packed", "ty_args", "sinfo_args", "0.26"),
    Keyword("tvm.relax.op.call_inplace_packed", "ty_args", "sinfo_args", "0.26"),
    Keyword("tvm.relax.op.call_builtin_with_ctx", "ty_args", "sinfo_args", "0.26"),
    Keyword("tvm.relax.op.invoke_closure", "ty_args", "sinfo_args", "0.26"),
    Keyword("tvm.relax.op.invoke_pure_closure", "ty_args", "sinfo_args", "0.26"),
)

ARGUMENTS: tuple[Argument, ...] = (
    Argument("tvm.relax.op.vision.multibox_transform_loc", "apply_softmax", "0.27"),
    Argument("tvm.relax.op.image.affine_grid", "align_corners", "0.26"),
    Argument("tvm.relax.backend.DispatchSortScan", "index_bits", "0.27"),
)

DEMANDS: tuple[Demand, ...] = (
    Demand("tvm.relax.transform.AlterOpImpl", ("op_buffer_axis_separators", "op_buffer_input_axis_separators"), "0.25"),
)


# What TVM says in words of an older release, in those of the newest: contracts know refusals by their words.


@dataclass(frozen=True, slots=True)
class Wording:
    """A message that was worded otherwise.

    Attributes:
        old: Regular expression of the older words.
        new: What the newest release says; may refer to groups.
        since: First release that says so.
    """

    old: str
    new: str
    since: str


WORDINGS: tuple[Wording, ...] = (
    # src/ir/module.cc, IRModule::Add of a name that is taken
    Wording(r"\(\*it\)\.second == var\b", r"(*it).second.same_as(var)", "0.26"),
    # src/relax/backend/vm/codegen_vm.cc, an operator that nothing legalized
    Wording(
        r"CodeGenVM cannot handle this intrinsic now:\s*ir\.Op\(.*?name=\"relax\.(?P<op>[\w.]+)\"",
        r"R.\g<op>: CodeGenVM cannot emit this Relax operator directly",
        "0.27",
    ),
    # the complaints of the checker, src/relax/analysis/well_formed.cc
    Wording(r"\bStructInfo annotations\b", "Type annotations", "0.26"),
)

VARYING = (
    # which condition fails, where the message says in words what it means
    r"Check failed: \([^\n]*\) is false:[ \t]*(?=\S[^\n]{11})"
    r"|\bSymbolic (?=Var\b)"
    r"|\bir\.Op\(span=[^\n]*?\bsupport_level=\d+\)"  # an operator with all its fields
    r"|\b\w*StructInfo(?:Node)?\b|\b(?:Tensor|Shape|Tuple|Func|Prim|Any|Object)Type(?:Node)?\b|\bstruct[_ ]info\b"
    r"|\bThe type\b|\bType(?= annotations\b)"
    r"|\b(?:ir|relax\.expr)\.(?:GenericConst|Constant|StringImm|Call|Var)\b|\bs_tir::"
    r"|\bR\.(?:Any|Object|Prim)\b|\bT\.(?:u?int|float|bool)\d*\b"
)
"""Regular expression of what a message may have in other words in another release: not to be told by."""


def newest(message: str) -> str:
    """Return the message in the words of the newest release."""
    for row in WORDINGS:
        message = re.sub(row.old, row.new, message, flags=re.DOTALL)
    return message
