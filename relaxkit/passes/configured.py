"""A pass together with options of the ``PassContext``; also copied into repro scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm


def configured(inner: Any, options: Mapping[str, Any]) -> Any:
    """Return a pass that runs another one with options added to the configuration of the ``PassContext``.

    Level, required and disabled passes and other options are those of the context in which it runs. Instruments of that
    context see it as one pass of the inner pass's name, and nothing of what runs inside: a second context with the same
    instruments would enter and leave them once more, and ``PassTimingInstrument`` forgets its stack when it is left.

    Args:
        options: Names and values, as ``PassContext.list_configs`` lists them.
    """

    def run(module: Any, context: Any) -> Any:
        with tvm.transform.PassContext(
            opt_level=int(context.opt_level),
            required_pass=list(context.required_pass),
            disabled_pass=list(context.disabled_pass),
            config={**dict(context.config or {}), **options},
        ):
            return inner(module)

    info = inner.info
    return tvm.transform.module_pass(
        run, opt_level=int(info.opt_level), name=str(info.name), required=[str(name) for name in info.required]
    )
