"""The names that the text of a pass may use."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def namespace() -> dict[str, Any]:
    """The names that a pass expression may use; repro scripts import or define the same ones."""
    import numpy as np
    import tvm
    from tvm import relax, tirx
    from tvm.relax.dpl import is_const, is_op, is_tuple, is_tuple_get_item, wildcard
    from tvm.script import ir
    from tvm.script import relax as script_relax
    from tvm.script import tirx as script_tirx

    from vocabulary.configured import configured

    return {
        "np": np, "tvm": tvm, "relax": relax, "tirx": tirx, "is_const": is_const, "is_op": is_op, "is_tuple": is_tuple,
        "is_tuple_get_item": is_tuple_get_item, "wildcard": wildcard, "I": ir, "R": script_relax, "T": script_tirx,
        "configured": configured,
    }  # fmt: skip
