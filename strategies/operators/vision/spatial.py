"""Images and volumes: layouts, operands of a layout's rank, and windows that slide over them."""

from __future__ import annotations

from typing import Any

from strategies.operators.adapt import adapted
from strategies.scope.scope import Scope
from strategies.scope.values import Dim, Value

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""Letters of the spatial axes by their number."""


MOST = 16
"""Extents of images are at most this."""


def letters(layout: str) -> str:
    """Return the axes of a layout, the size of a block left out: ``NCHWc`` for ``NCHW4c``."""
    return "".join(letter for letter in layout if not letter.isdigit())


def block(layout: str) -> int:
    """Return the size of a layout's block of channels, 0 without one."""
    digits = "".join(letter for letter in layout if letter.isdigit())
    return int(digits) if digits else 0


def sizes_of(layout: str, value: Value) -> dict[str, Dim]:
    """Return extents of a tensor by the letter of its layout."""
    return dict(zip(letters(layout), value.shape, strict=True))


def arranged(layout: str, sizes: dict[str, Any]) -> tuple[Any, ...]:
    """Return extents in the order of a layout."""
    return tuple(sizes[letter] for letter in letters(layout))


def spatial_tensor(scope: Scope, layout: str, dtypes: tuple[str, ...], numbers: str = "") -> Value:
    """Draw a moderate tensor of a layout's rank, no extent 0; ``numbers`` are the letters that must be static."""
    places = [place for place, letter in enumerate(letters(layout)) if letter in numbers]
    size = block(layout)

    def fits(value: Value) -> bool:
        dims = value.shape
        if size and dims[-1] != size:
            return False
        if any(not isinstance(dims[place], int) for place in places):
            return False
        ranges = [scope.dim_range(dim) for dim in dims]
        return all(low > 0 and high <= MOST for low, high in ranges) and scope.most_elements(dims) <= 2048

    if size:
        # A block is a shape that seldom occurs: it is drawn, not waited for.
        shape = [scope.integer(1, 4) for _ in letters(layout)[:-1]] + [size]
        return adapted(scope, dtypes=dtypes, shape=shape)
    static = not scope.index(2) or len(places) > 1
    return adapted(scope, dtypes=dtypes, ranks=(len(layout),), static=static, where=fits)


def pads(scope: Scope, dimensions: int, most: int = 2) -> list[int]:
    """Return padding, first of all near and then of all far sides: none, the same, or each its own."""
    way = scope.index(5)
    if way < 2:
        return [0] * (2 * dimensions)
    if way == 2:
        return [scope.integer(1, most)] * (2 * dimensions)
    if way == 3:
        return [scope.index(most + 1) for _ in range(dimensions)] * 2
    return [scope.index(most + 1) for _ in range(2 * dimensions)]


def extent_of(extent: int, window: int, stride: int, dilation: int, before: int, after: int, ceil: bool) -> int:
    """Say how many windows there are, as type inference counts them."""
    room = extent + before + after - dilation * (window - 1) - 1
    count = (room + (stride - 1 if ceil else 0)) // stride + 1
    return count - 1 if ceil and (count - 1) * stride >= extent + before else count


def covered(extent: int, window: int, stride: int, dilation: int, before: int, after: int, ceil: bool) -> bool:
    """Say whether there is a window, and each meets an element and not padding alone."""
    count = extent_of(extent, window, stride, dilation, before, after, ceil)
    return count > 0 and all(
        any(0 <= number * stride - before + tap * dilation < extent for tap in range(window)) for number in range(count)
    )
