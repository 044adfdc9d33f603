"""Families of programs that differ only by legal reassociation: the same formula over the reals, other roundings.

Legal is what reorders sums and products, splits or merges reductions, moves a common factor into or out of a sum or a
matrix product, and what writes a function by another formula that cancels no more than the first does.  Not legal is
what cancels where the original does not (``E[x^2] - E[x]^2`` for the mean of ``(x - E[x])^2``): that is a loss of
accuracy without bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy_programs import Arithmetic, Array, Program

Draw = Callable[[np.random.Generator, int, int], tuple[Array, ...]]


@dataclass(frozen=True)
class Family:
    """Programs of one meaning.

    Attributes:
        name: For people.
        draw: Arguments for a number of rows and a length, in float64; rounded to the dtype afterwards.
        original: The program before the pass.
        others: The programs after it.
        sizes: Lengths to draw.
        elements: Elements of the largest tensor that a kernel of one row gets, by length.
        decides: Whether it decides on floats.
    """

    name: str
    draw: Draw
    original: Program
    others: tuple[Program, ...]
    sizes: tuple[int, ...] = (3, 16, 65)
    elements: Callable[[int], int] = lambda size: size
    decides: bool = False


def both_signs(random: np.random.Generator, *shape: int) -> Array:
    return random.uniform(-2.0, 2.0, shape)


def uneven(random: np.random.Generator, *shape: int) -> Array:
    """Magnitudes over three powers of ten, so that large terms swallow small ones."""
    return random.choice((-1.0, 1.0), shape) * 10.0 ** random.uniform(-2.5, 0.3, shape)


def cancelling(random: np.random.Generator, rows: int, size: int) -> Array:
    """Rows of which the sum is far smaller than the terms."""
    half = both_signs(random, rows, (size + 1) // 2)
    whole = np.concatenate([half, -half * (1.0 + random.uniform(-1e-3, 1e-3, half.shape))], axis=1)[:, :size]
    return np.asarray(random.permuted(whole, axis=1))


def of_the_domain(random: np.random.Generator, *shape: int) -> Array:
    """What inputs of the default domain are, among them equal and opposite ones."""
    return np.asarray(random.integers(-128, 129, shape) / 64.0)


def near_equal(random: np.random.Generator, rows: int, size: int) -> Array:
    """Rows with a large mean and a small variance."""
    return np.asarray(random.uniform(1.0, 2.0, (rows, 1)) + random.uniform(-1.0, 1.0, (rows, size)) * 2.0**-8)


def positive(random: np.random.Generator, *shape: int) -> Array:
    return random.uniform(0.5, 1.0, shape)


DISTRIBUTIONS = {"signs": both_signs, "uneven": uneven, "cancelling": cancelling, "domain": of_the_domain}


def _sums(r: Arithmetic, x: Array, how: str) -> Array:
    return r.kernel(getattr(r, how)(x))


STAGNATING = "sum, positive"
ORDERS = ("backwards", "pairwise", "in_lanes", "in_parts")


def _ordered(how: str) -> Program:
    return lambda r, x: _sums(r, x, how)


def sums() -> list[Family]:
    """Sums of each distribution, in every order."""
    return [
        Family(
            f"sum, {name}", lambda g, n, k, d=draw: (d(g, n, k),), _ordered("forwards"), tuple(map(_ordered, ORDERS))
        )
        for name, draw in DISTRIBUTIONS.items()
    ] + [
        # Once a term is less than half a unit of the sum, that stays as it is: in every perturbed run.
        Family(
            STAGNATING,
            lambda g, n, k: (positive(g, n, k),),
            _ordered("forwards"),
            tuple(map(_ordered, ORDERS)),
            (3, 700),
        )
    ]


def _mean(r: Arithmetic, x: Array, how: str = "forwards") -> Array:
    return r(getattr(r, how)(x) / r(x.shape[-1]))


def _mean_of_quotients(r: Arithmetic, x: Array) -> Array:
    return r.kernel(r.forwards(r.kernel(x / r(x.shape[-1]))))


def _mean_times_reciprocal(r: Arithmetic, x: Array) -> Array:
    return r.kernel(r.kernel(r.pairwise(x)) * r(1.0 / x.shape[-1]))


def _dot(r: Arithmetic, x: Array, w: Array, how: str = "forwards") -> Array:
    return np.asarray(getattr(r, how)(r(x * w)))


def _matvec(r: Arithmetic, a: Array, v: Array, how: str = "forwards") -> Array:
    """``a`` of (rows, m, k) times ``v`` of (rows, k)."""
    return _dot(r, a, v[:, None, :], how)


def _matmul(r: Arithmetic, a: Array, b: Array, how: str = "forwards") -> Array:
    """``a`` of (rows, m, k) times ``b`` of (rows, k, n)."""
    return _dot(r, a[:, :, None, :], np.swapaxes(b, 1, 2)[:, None, :, :], how)


def _chain_draw(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
    return both_signs(g, n, 3, k), both_signs(g, n, k, 4), both_signs(g, n, 4)


def linear() -> list[Family]:
    """Factors moved, products distributed, matrix products in another order."""

    def vectors(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        return uneven(g, n, k), both_signs(g, n, k), both_signs(g, n, 1)

    def triple(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        near = both_signs(g, n, k)
        return both_signs(g, n, k), near, -near * (1.0 + g.uniform(-1e-2, 1e-2, (n, k)))

    def folded(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        return uneven(g, n, k), both_signs(g, n, k), both_signs(g, n), both_signs(g, n), both_signs(g, n)

    def two_matrices(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        w = both_signs(g, n, k)
        return both_signs(g, n, k), w, -w * (1.0 + g.uniform(-1e-2, 1e-2, (n, k)))

    return [
        Family(
            "mean",
            lambda g, n, k: (both_signs(g, n, k),),
            lambda r, x: r.kernel(_mean(r, x)),
            (_mean_of_quotients, _mean_times_reciprocal, lambda r, x: r.kernel(_mean(r, x, "in_lanes"))),
        ),
        Family(
            "a * (b + c)",
            triple,
            lambda r, a, b, c: r.kernel(a * r.kernel(b + c)),
            (
                lambda r, a, b, c: r.kernel(r.kernel(a * b) + r.kernel(a * c)),
                lambda r, a, b, c: r.kernel(r(a * c) + r(a * b)),
            ),
        ),
        Family(
            "a * b + a * c",
            triple,
            lambda r, a, b, c: r.kernel(r.kernel(a * b) + r.kernel(a * c)),
            (lambda r, a, b, c: r.kernel(a * r(b + c)),),
        ),
        Family(
            "sum(c * x * w)",
            vectors,
            lambda r, x, w, c: r.kernel(r.forwards(r(r.kernel(x * c) * w))),
            (
                lambda r, x, w, c: r.kernel(r.kernel(_dot(r, x, w)) * c[:, 0]),
                lambda r, x, w, c: r.kernel(_dot(r, x, r.kernel(w * c), "pairwise")),
            ),
        ),
        Family(
            "(a * b) * c",
            triple,
            lambda r, a, b, c: r.kernel(r.kernel(a * b) * c),
            (lambda r, a, b, c: r.kernel(a * r.kernel(b * c)), lambda r, a, b, c: r.kernel(r(c * a) * b)),
        ),
        Family(
            "(a @ b) @ v",
            _chain_draw,
            lambda r, a, b, v: r.kernel(_matvec(r, r.kernel(_matmul(r, a, b)), v)),
            (
                lambda r, a, b, v: r.kernel(_matvec(r, a, r.kernel(_matvec(r, b, v)))),
                lambda r, a, b, v: r.kernel(_matvec(r, r.kernel(_matmul(r, a, b, "in_lanes")), v, "backwards")),
            ),
            (2, 5, 17),
            lambda size: 4 * size,
        ),
        Family(
            "a @ (b @ v)",
            _chain_draw,
            lambda r, a, b, v: r.kernel(_matvec(r, a, r.kernel(_matvec(r, b, v)))),
            (lambda r, a, b, v: r.kernel(_matvec(r, r.kernel(_matmul(r, a, b)), v)),),
            (2, 5, 17),
            lambda size: 4 * size,
        ),
        Family(
            "x @ (v + w)",
            two_matrices,
            lambda r, x, v, w: r.kernel(_dot(r, x, r.kernel(v + w))),
            (lambda r, x, v, w: r.kernel(r.kernel(_dot(r, x, v)) + r.kernel(_dot(r, x, w))),),
        ),
        Family(
            "batch norm folded into the product before it",
            folded,
            lambda r, x, w, mean, scale, bias: r.kernel(
                r.kernel(r.kernel(r.kernel(_dot(r, x, w)) - mean) * scale) + bias
            ),
            (
                lambda r, x, w, mean, scale, bias: r.kernel(
                    r.kernel(_dot(r, x, r.kernel(w * scale[:, None]))) + r.kernel(bias - r.kernel(mean * scale))
                ),
            ),
        ),
    ]


def _softmax(r: Arithmetic, x: Array) -> Array:
    powers = r.kernel(np.exp(r.kernel(x - r.kernel(x.max(-1, keepdims=True)))))
    return r.kernel(powers / r.kernel(r.forwards(powers))[:, None])


def _softmax_by_reciprocal(r: Arithmetic, x: Array) -> Array:
    powers = r.kernel(np.exp(r.kernel(x - x.max(-1, keepdims=True))))
    return r.kernel(powers * r.kernel(r(1.0) / r.pairwise(powers))[:, None])


def _softmax_unshifted(r: Arithmetic, x: Array) -> Array:
    powers = r.kernel(np.exp(x))
    return r.kernel(powers / r.kernel(r.in_lanes(powers))[:, None])


def _softmax_online(r: Arithmetic, x: Array) -> Array:
    """The sum in two halves, each shifted by its own maximum and scaled to the larger one."""
    halves = np.array_split(x, 2, axis=-1)
    tops = [half.max(-1, keepdims=True) for half in halves]
    top = np.maximum(*tops)
    parts = [
        r(r.forwards(r(np.exp(r(half - own))))[:, None] * r(np.exp(r(own - top))))
        for half, own in zip(halves, tops, strict=True)
    ]
    return r.kernel(r(np.exp(r(x - top))) / r.kernel(parts[0] + parts[1]))


def _log_softmax(r: Arithmetic, x: Array, shifted_first: bool) -> Array:
    top = r.kernel(x.max(-1, keepdims=True))
    logarithm = r.kernel(np.log(r.kernel(r.forwards(r.kernel(np.exp(r.kernel(x - top)))))))[:, None]
    return r.kernel(r.kernel(x - top) - logarithm) if shifted_first else r.kernel(x - r.kernel(top + logarithm))


def _variance(r: Arithmetic, x: Array, how: str = "forwards") -> Array:
    mean = r.kernel(_mean(r, x, how))[:, None]
    distance = r.kernel(x - mean)
    return r.kernel(_mean(r, r.kernel(distance * distance), how))


def _variance_in_one_kernel(r: Arithmetic, x: Array) -> Array:
    """E[x^2] - E[x]^2 without a store: what moving stored results does not show to cancel."""
    mean = _mean(r, x)
    return r.kernel(r(_mean(r, r(x * x)) - r(mean * mean)))


def _normalised(r: Arithmetic, x: Array, scale: Array, shift: Array, variance: Array, scaled_first: bool) -> Array:
    distance = r.kernel(x - r.kernel(_mean(r, x))[:, None])
    inverse = r.kernel(r(1.0) / r(np.sqrt(r(variance + r(2.0**-10)))))[:, None]
    if scaled_first:
        return r.kernel(r.kernel(distance * r.kernel(inverse * scale)) + shift)
    return r.kernel(r.kernel(r.kernel(distance * inverse) * scale) + shift)


def _horner(r: Arithmetic, x: Array, factors: Array) -> Array:
    total = factors[:, -1]
    for index in range(factors.shape[1] - 2, -1, -1):
        total = r.kernel(r.kernel(total * x) + factors[:, index])
    return total


def _by_powers(r: Arithmetic, x: Array, factors: Array) -> Array:
    power, terms = r(np.ones_like(x)), []
    for index in range(factors.shape[1]):
        terms.append(r.kernel(power * factors[:, index]))
        power = r.kernel(power * x)
    return r.kernel(r.forwards(np.stack(terms, axis=-1)))


def nonlinear() -> list[Family]:
    """Softmax, variance, normalisation, polynomials, products, and amplification behind a reduction."""

    def one(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        return (both_signs(g, n, k),)

    def spread_and_near(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        return (np.concatenate([both_signs(g, n // 2, k), near_equal(g, n - n // 2, k)]),)

    def affine(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        return (*spread_and_near(g, n, k), both_signs(g, n, k), both_signs(g, n, k))

    def polynomial(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        return g.uniform(-1.25, 1.25, n), both_signs(g, n, k)

    def product(r: Arithmetic, x: Array, order: slice) -> Array:
        turned, total = x[:, order], r(np.ones(len(x)))
        for index in range(x.shape[1]):
            total = r(total * turned[:, index])
        return r.kernel(total)

    def amplified(r: Arithmetic, x: Array, how: str) -> Array:
        centred = r.kernel(r.kernel(getattr(r, how)(x)) - r.kernel(getattr(r, how)(r.kernel(np.abs(x)))))
        return r.kernel(np.exp(r.kernel(np.tanh(r.kernel(centred * r(0.125))))))

    return [
        Family("softmax", one, _softmax, (_softmax_by_reciprocal, _softmax_unshifted, _softmax_online)),
        Family("log softmax", one, lambda r, x: _log_softmax(r, x, True), (lambda r, x: _log_softmax(r, x, False),)),
        Family(
            "variance", spread_and_near, _variance, tuple(lambda r, x, how=how: _variance(r, x, how) for how in ORDERS)
        ),
        Family("variance, cancelling in its kernel", spread_and_near, _variance_in_one_kernel, (_variance,)),
        Family(
            "layer norm",
            affine,
            lambda r, x, a, b: _normalised(r, x, a, b, _variance(r, x), False),
            (lambda r, x, a, b: _normalised(r, x, a, b, _variance(r, x, "pairwise"), True),),
        ),
        Family(
            "layer norm, cancelling in its kernel",
            affine,
            lambda r, x, a, b: _normalised(r, x, a, b, _variance_in_one_kernel(r, x), False),
            (lambda r, x, a, b: _normalised(r, x, a, b, _variance(r, x), False),),
        ),
        Family("polynomial", polynomial, _horner, (_by_powers,), (3, 6)),
        Family("polynomial by powers", polynomial, _by_powers, (_horner,), (3, 6)),
        Family(
            "product",
            lambda g, n, k: (g.choice((-1.0, 1.0), (n, k)) * g.uniform(0.8, 1.25, (n, k)),),
            lambda r, x: product(r, x, slice(None)),
            (lambda r, x: product(r, x, slice(None, None, -1)),),
            (3, 16),
        ),
        Family(
            "amplified",
            one,
            lambda r, x: amplified(r, x, "forwards"),
            tuple(lambda r, x, how=how: amplified(r, x, how) for how in ORDERS),
        ),
    ]


def deciding() -> list[Family]:
    """Near ties: a decision on a sum, which another order of the sum may turn."""

    def halves(g: np.random.Generator, n: int, k: int) -> tuple[Array, ...]:
        x = of_the_domain(g, n, k) / 3.0
        return x, np.asarray(g.permuted(x, axis=1))

    def picked(r: Arithmetic, x: Array, y: Array, how: str) -> tuple[Array, Array]:
        left, right = _sums(r, x, how), _sums(r, y, how)
        greater = left > right
        return greater, r.kernel(np.where(greater, r(1.0), r(-1.0)) * left)

    def floored(r: Arithmetic, x: Array, y: Array, how: str) -> Array:
        return np.floor(r.kernel(_sums(r, r(x + y), how) * r(192.0))).astype("int32")

    def largest(r: Arithmetic, x: Array, y: Array, how: str) -> Array:
        return np.argmax(np.stack([_sums(r, x, how), _sums(r, y, how), _sums(r, x, "forwards")], axis=-1), axis=-1)

    return [
        Family(
            name,
            halves,
            lambda r, x, y, body=body: body(r, x, y, "forwards"),
            tuple(lambda r, x, y, body=body, how=how: body(r, x, y, how) for how in ("backwards", "pairwise")),
            (5, 24),
            decides=True,
        )
        for name, body in (("greater", picked), ("floor", floored), ("argmax", largest))
    ]


def continuous() -> list[Family]:
    return [*sums(), *linear(), *nonlinear()]
