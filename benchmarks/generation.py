"""How fast modules are generated, and what is in them.

    python benchmarks/generation.py [--modules 500] [--seed 1] [--curve 100,1000,10000] [--max-bindings N]
                                    [--max-functions N] [--json]

A module's seconds are those of drawing and building it, on the processor's clock.  ``--curve`` says what the first so
many modules held and cost.  Whether modules can be executed is asked of a sample of those that were drawn for it;
``benchmarks/validity.py`` asks it of all.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from shared import arguments
from tabulate import tabulate

SAMPLE = 100
"""Modules that are built, to see whether they can be executed; most of the time goes into compiling kernels."""
WARM_UP = 50
"""Modules drawn before the clock runs: kernels, rows and LLVM's target are made once in a process."""


@dataclass(slots=True)
class Content:
    """What the modules so far held.

    Attributes:
        modules: How many there were.
        discarded: Draws that gave none.
        seconds: Processor time for drawing and building them.
        bindings: Bindings in all of them.
        well_formed: How many TVM's checker accepts.
        operators: Modules by operator.
        pairs: Distinct pairs of operators; see ``strategies.detect.profile``.
        features: Modules by feature.
    """

    modules: int = 0
    discarded: int = 0
    seconds: float = 0.0
    bindings: int = 0
    well_formed: int = 0
    operators: Counter[str] = field(default_factory=Counter)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    features: Counter[str] = field(default_factory=Counter)

    def add(self, module: Any) -> None:
        """Count a module."""
        from tvm import relax

        from strategies import features_of
        from strategies.detect.profile import profile_of

        profile = profile_of(module)
        self.modules += 1
        self.bindings += profile.bindings
        self.well_formed += bool(relax.analysis.check_well_formed(module))
        self.operators.update(profile.operators.keys())
        self.pairs |= profile.pairs
        self.features.update(str(feature.value) for feature in features_of(module))

    def row(self) -> dict[str, Any]:
        """The figures of a table."""
        return {
            "modules": self.modules,
            "modules_per_second_per_core": self.modules / self.seconds,
            "bindings_per_module": self.bindings / self.modules,
            "operators": len(self.operators),
            "operator_pairs": len(self.pairs),
            "discarded_share": self.discarded / (self.modules + self.discarded),
            "well_formed_share": self.well_formed / self.modules,
        }


def builds(module: Any) -> bool:
    """Whether the minimal reference pipeline and CodeGenVM take the module."""
    from relaxkit.runtime import ExecMode, session

    try:
        session().build(module, ExecMode.BYTECODE)
    except Exception:
        return False
    return True


def measure(count: int, seed: int, limits: dict[str, int], points: tuple[int, ...]) -> dict[str, Any]:
    """Generate ``count`` modules under the limits and describe them, also as far as each of ``points``."""
    from strategies.modules import described_modules
    from strategies.scope.from_bytes import draw_from_bytes

    source = random.Random(seed)
    strategy = described_modules(**limits)
    for number in range(WARM_UP):
        draw_from_bytes(strategy, random.Random(f"warm {number}").randbytes(8192))
    content, sample, curve = Content(), [], []
    while content.modules < count:
        data = source.randbytes(8192)
        start = time.process_time()
        drawn = draw_from_bytes(strategy, data)
        content.seconds += time.process_time() - start
        if drawn is None:
            content.discarded += 1
            continue
        content.add(drawn.module)
        if drawn.executable and len(sample) < SAMPLE:
            sample.append(drawn.module)
        if content.modules in points:
            curve.append(content.row())
    return {
        **content.row(),
        "executable_share": sum(builds(module) for module in sample) / max(1, len(sample)),
        "features": {name: number / count for name, number in sorted(content.features.items())},
        "operator_share": {name: number / count for name, number in content.operators.most_common()},
        "curve": curve,
    }


def main() -> None:
    parser = arguments.Parser(__doc__)
    parser.add_argument("--modules", type=arguments.count, default=500)
    parser.add_argument("--seed", type=arguments.whole, default=1)
    parser.add_argument(
        "--max-bindings", type=arguments.count, metavar="N", help="as of ir_modules, whose default this is"
    )
    parser.add_argument(
        "--max-functions", type=arguments.count, metavar="N", help="as of ir_modules, whose default this is"
    )
    parser.add_argument(
        "--curve", type=arguments.numbers, default=(), metavar="N,N", help="say what was reached after so many modules"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    limits = {"max_bindings": options.max_bindings, "max_functions": options.max_functions}
    chosen = {name: value for name, value in limits.items() if value is not None}
    result = measure(max(options.modules, *options.curve, 1), options.seed, chosen, options.curve)
    if options.json:
        print(json.dumps(result))
        return
    print(
        tabulate([(key, value) for key, value in result.items() if not isinstance(value, (dict, list))], floatfmt=".3f")
    )
    print(tabulate(result["features"].items(), headers=("feature", "share of modules"), floatfmt=".3f"))
    if result["curve"]:
        print(tabulate(result["curve"], headers="keys", floatfmt=".3f"))


if __name__ == "__main__":
    main()
