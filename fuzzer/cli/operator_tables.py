"""The output of ``relaxfuzz ops --campaign``: a campaign's coverage as objects, and as tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType

from fuzzer.core.coverage import Coverage
from fuzzer.core.terminal import listed, prose, table
from fuzzer.store.records import CampaignInfo

LEAST_SHARE = 0.03
"""Every feature is wanted in so many of the modules."""
ENDS = 20
"""Pairs shown from either end."""
MISS = "!"
"""Between the name of an idiom and that of its near miss."""

Row = dict[str, Any]


def operator_rows(coverage: Coverage, modules: int) -> list[Row]:
    """Return one object an operator that can be generated, or that occurred."""
    from strategies.operators import OPERATORS

    known = {row.name: row for row in OPERATORS}
    operands: dict[str, set[tuple[str, int]]] = {}
    for name, dtype, rank in coverage.operands:
        operands.setdefault(name, set()).add((dtype, rank))
    rows = []
    for name in (*known, *sorted(coverage.operators.keys() - known.keys())):
        row = known.get(name)
        found = operands.get(name, set())
        rows.append(
            {
                "name": name,
                "family": None if row is None else str(getattr(row.family, "value", row.family)),
                "modules": coverage.operators[name],
                "share": _share(coverage.operators[name], modules),
                "ranks": sorted({rank for _, rank in found}),
                "dtypes": sorted({dtype for dtype, _ in found}),
            }
        )
    return rows


def feature_rows(coverage: Coverage, modules: int) -> list[Row]:
    """Return one object a feature, the rarest first."""
    from strategies.scope.features import Feature

    names = [str(feature.value) for feature in Feature]
    rows = [_counted(name, coverage.features[name], modules) for name in names]
    return sorted(rows, key=lambda row: (row["modules"], row["name"]))


def idiom_rows(coverage: Coverage, modules: int) -> list[Row]:
    """Return one object an idiom with its near misses; what was counted and is no idiom comes last, without any."""
    from strategies.idioms import IDIOMS

    rows = []
    for idiom in IDIOMS:
        near = [
            _counted(miss.name, coverage.idioms[f"{idiom.name}{MISS}{miss.name}"], modules)
            for miss in idiom.near_misses
        ]
        rows.append({**_counted(idiom.name, coverage.idioms[idiom.name], modules), "near_misses": near})
    listed = {row["name"] for row in rows}
    others = sorted(name for name in coverage.idioms if name.partition(MISS)[0] not in listed)
    return rows + [{**_counted(name, coverage.idioms[name], modules), "near_misses": []} for name in others]


def pair_rows(coverage: Coverage) -> list[Row]:
    """Return one object a pair, the most frequent first."""
    ordered = sorted(coverage.pairs.items(), key=lambda item: (-item[1], item[0]))
    return [{"producer": first, "consumer": second, "modules": count} for (first, second), count in ordered]


def summary(info: CampaignInfo, coverage: Coverage, discarded: int) -> Row:
    """Return the campaign in a few figures."""
    modules = info.modules
    operators, features, idioms = (
        operator_rows(coverage, modules), feature_rows(coverage, modules), idiom_rows(coverage, modules)
    )  # fmt: skip
    named = [row for row in idioms if ":" not in row["name"]]
    near = [miss for row in named for miss in row["near_misses"]]
    drawn = modules + discarded
    return {
        "seed": info.seed, "state": info.state, "modules": modules, "bindings": coverage.bindings,
        "operators": _occurred(operators), "operators_known": len(operators),
        "operators_missing": [row["name"] for row in operators if not row["modules"]], "pairs": len(coverage.pairs),
        "operands": len(coverage.operands), "features": _occurred(features), "features_known": len(features),
        "features_rare": [row["name"] for row in features if row["share"] < LEAST_SHARE], "idioms": _occurred(named),
        "idioms_known": len(named), "near_misses": _occurred(near), "near_misses_known": len(near),
        "discarded": discarded, "discarded_share": discarded / drawn if drawn else 0.0,
    }  # fmt: skip


def summary_text(found: Row) -> RenderableType:
    """Return the summary as lines."""
    each = found["bindings"] / found["modules"] if found["modules"] else 0.0
    rare, missing = found["features_rare"], found["operators_missing"]
    common, wanted = found["features_known"] - len(rare), f"{LEAST_SHARE * 100:.0f}%"
    near = f"{found['near_misses']} of {found['near_misses_known']}"
    lines = [
        ("modules", f"{found['modules']}, with {each:.1f} bindings on average"),
        ("operators", f"{found['operators']} of {found['operators_known']}"),
        ("pairs", f"{found['pairs']} distinct pairs of an operator and one that uses its result"),
        ("operands", f"{found['operands']} distinct operators with dtype and rank of an operand"),
        ("features", f"{found['features']} of {found['features_known']}, {common} in {wanted} or more"),
        ("idioms", f"{found['idioms']} of {found['idioms_known']}, {near} near misses"),
        ("draws", f"{found['discarded_share'] * 100:.1f}% discarded"),
    ]
    _, *rows = listed(("", ""), lines)
    lists = (("rare", rare), ("never", [name.removeprefix("relax.") for name in missing]))
    left = [prose(f"{what}\n{' ' * 11}{', '.join(names)}") for what, names in lists if names]
    return Group(prose(f"Campaign with seed {found['seed']}, {found['state']}\n"), *rows, *left)


def operator_table(rows: Sequence[Row]) -> RenderableType:
    """Return the operators, without the prefix that all of them have."""
    cells = [
        (
            row["name"].removeprefix("relax."), row["family"] or "-", row["modules"],
            ranks_text(row["ranks"]), dtypes_text(row["dtypes"]),
        )
        for row in rows
    ]  # fmt: skip
    return table(("operator", "family", "modules", "ranks", "dtypes"), cells)


def feature_table(rows: Sequence[Row]) -> RenderableType:
    """Return the features with their shares."""
    cells = [(row["name"], row["modules"], _percent(row["share"])) for row in rows]
    return table(("feature", "modules", "share"), cells)


def idiom_table(rows: Sequence[Row]) -> RenderableType:
    """Return the idioms with their near misses and how often each occurred."""
    cells = [
        (
            row["name"], row["modules"], _percent(row["share"]),
            ", ".join(f"{miss['name']} {miss['modules']}" for miss in row["near_misses"]),
        )
        for row in rows
    ]  # fmt: skip
    return table(("idiom", "modules", "share", "near misses"), cells)


def pair_table(rows: Sequence[Row]) -> RenderableType:
    """Return the most frequent and the rarest pairs."""

    def part(chosen: Sequence[Row]) -> RenderableType:
        heads = ("producer", "consumer", "modules")
        return table(heads, [[str(row[head]).removeprefix("relax.") for head in heads] for row in chosen])

    if len(rows) <= 2 * ENDS:
        return part(rows)
    once = sum(row["modules"] == 1 for row in rows)
    between = prose(f"\nThe rarest of {len(rows)}; {once} occurred in one module only:\n")
    return Group(part(rows[:ENDS]), between, part(rows[-ENDS:]))


def ranks_text(ranks: Iterable[int]) -> str:
    """Return ranks as runs, ``0-4 ?``; the question mark stands for an unknown one."""
    known = sorted(rank for rank in ranks if rank >= 0)
    apart = itertools.groupby(enumerate(known), key=lambda pair: pair[1] - pair[0])  # equal within a run
    rows = [[rank for _, rank in run] for _, run in apart]
    runs = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in rows]
    return " ".join([",".join(runs)] * bool(runs) + ["?"] * any(rank < 0 for rank in ranks))


def dtypes_text(dtypes: Iterable[str]) -> str:
    """Return dtypes by kind, ``f16,32 i64 bool``."""
    kinds: dict[str, list[str]] = {}
    plain = []
    for dtype in dtypes:
        for prefix, short in (("float8_", "f8 "), ("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i")):
            if dtype.startswith(prefix):
                kinds.setdefault(short, []).append(dtype.removeprefix(prefix))
                break
        else:
            plain.append("?" if dtype == "unknown" else dtype)
    parts = [
        "f8" if short == "f8 " else short + ",".join(sorted(sizes, key=lambda size: (len(size), size)))
        for short, sizes in sorted(kinds.items())
    ]
    return " ".join(parts + sorted(plain))


def _counted(name: str, count: int, modules: int) -> Row:
    return {"name": name, "modules": count, "share": _share(count, modules)}


def _share(count: int, modules: int) -> float:
    return count / modules if modules else 0.0


def _occurred(rows: Iterable[Row]) -> int:
    return sum(row["modules"] > 0 for row in rows)


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%" if share else "-"
