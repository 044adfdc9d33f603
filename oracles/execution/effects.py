"""What a program prints: kept from the terminal, and compared, because an impure call is an effect to be kept.

``relax.print`` is a Python function of TVM's that prints to ``sys.stdout``, so a redirection sees all of it.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator

_NOT_WORDS = frozenset({"nan", "inf", "e", "True", "False"})
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_WORD = re.compile(r"[A-Za-z_]\w*")


@contextlib.contextmanager
def printed(into: list[str]) -> Iterator[None]:
    """Within it, what is printed goes to ``into``, as one text, instead of the terminal."""
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            yield
    finally:
        if text.tell():
            into.append(text.getvalue())


def trace(texts: list[str] | tuple[str, ...], exact: bool) -> tuple[str, ...]:
    """What must be the same of two runs' output: every line where numbers are ``exact``, else the words in order.

    Words are labels of format strings; numbers may differ by rounding, and line breaks of tensors with them.
    """
    whole = _ADDRESS.sub("", "".join(texts))
    if exact:
        return tuple(whole.splitlines())
    return tuple(word for word in _WORD.findall(whole) if word not in _NOT_WORDS)
