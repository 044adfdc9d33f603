"""How fast modules are generated, and what is in them.

python benchmarks/generation.py [--modules 500] [--seed 1] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from typing import Any

from tabulate import tabulate


SAMPLE = 100
"""Modules that are built, to see whether they can be executed; most of the time goes into compiling kernels."""


def builds(module: Any) -> bool:
    """Whether the minimal reference pipeline and CodeGenVM take the module."""
    from oracles.execution import ExecMode, session

    try:
        session().build(module, ExecMode.BYTECODE)
    except Exception:
        return False
    return True


def measure(count: int, seed: int) -> dict[str, Any]:
    """Generate ``count`` modules and describe them."""
    from tvm import relax

    from strategies import features_of, ir_modules
    from strategies.drive import draw_from_bytes
    from strategies.profile import profile_of

    source = random.Random(seed)
    strategy = ir_modules()
    modules: list[Any] = []
    discarded = 0
    spent = 0.0
    while len(modules) < count:
        data = source.randbytes(8192)
        start = time.process_time()
        module = draw_from_bytes(strategy, data)
        spent += time.process_time() - start
        if module is None:
            discarded += 1
        else:
            modules.append(module)

    operators: Counter[str] = Counter()
    pairs: set[tuple[str, str]] = set()
    features: Counter[str] = Counter()
    for module in modules:
        profile = profile_of(module)
        operators.update(profile.operators.keys())
        pairs |= profile.pairs
        features.update(str(getattr(feature, "value", feature)) for feature in features_of(module))
    sample = modules[:SAMPLE]
    return {
        "modules": count,
        "modules_per_second_per_core": count / spent,
        "operators": len(operators),
        "operator_pairs": len(pairs),
        "discarded_share": discarded / (count + discarded),
        "well_formed_share": sum(bool(relax.analysis.check_well_formed(module)) for module in modules) / count,
        "executable_share": sum(builds(module) for module in sample) / len(sample),
        "features": {name: number / count for name, number in sorted(features.items())},
        "operator_share": {name: number / count for name, number in operators.most_common()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    result = measure(options.modules, options.seed)
    if options.json:
        print(json.dumps(result))
        return
    single = [(key, value) for key, value in result.items() if not isinstance(value, dict)]
    print(tabulate(single, floatfmt=".3f"))
    print(tabulate(result["features"].items(), headers=("feature", "share of modules"), floatfmt=".3f"))


if __name__ == "__main__":
    main()
