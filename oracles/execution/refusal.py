"""How messages of short checks of arguments begin; apart from ``checker.py``, since scripts quote who looks for it."""

UNFIT = "unfit argument of a kernel: "
