"""Records for the tests of the store."""

from __future__ import annotations

from collections import Counter

from fuzzer.core.case import Case
from fuzzer.core.coverage import Coverage
from fuzzer.findings.signature import signature
from fuzzer.store.records import ShardResult, SignatureHits
from oracles.core.verdict import Evidence, Outcome, Verdict
from relaxkit.passes.contract import OracleName
from relaxkit.passes.pass_ref import PassRef

META = {
    "seed": "7",
    "passes": '["FuseOps"]',
    "oracles": '["crash", "numeric"]',
    "workers": "2",
    "budget": "10 s",
    "tvm_version": "0.27.0.post1",
    "ffi_version": "0.1.14.post1",
}


def verdict(message: str) -> Verdict:
    evidence = Evidence("InternalError", message, ("src/a.cc:F",), "a module", "an error")
    return Verdict(OracleName.CRASH, Outcome.FAIL, "FuseOps", evidence=evidence)


def hit(message: str, index: int, count: int = 1, module: str = "{}") -> SignatureHits:
    failed = verdict(message)
    return SignatureHits.of(
        signature(failed), failed, Case(module, (PassRef("FuseOps", "relax.transform.FuseOps()"),), 3), index, count
    )


def shard(number: int, *hits: SignatureHits, first: int = 0, stop: int = 64) -> ShardResult:
    """A shard of 64 passes of the crash oracle, and the failures."""
    failed = sum(each.count for each in hits)
    tallies = Counter(
        {("crash", "FuseOps", "pass", ""): stop - first - failed, ("crash", "FuseOps", "fail", ""): failed}
    )
    found = {each.signature.id: each for each in hits}
    coverage = Coverage(
        bindings=(stop - first) // 2,
        features=Counter({"if": 3, "tuples": 1}),
        idioms=Counter({"matmul_chain": 2, "matmul_chain!mixed_dtype": 1}),
        operators=Counter({"relax.add": 2, "relax.call_tir": 1}),
        operands=Counter({("relax.add", "float32", 2): 2, ("relax.add", "float32", -1): 1}),
        pairs=Counter({("relax.add", "relax.add"): 2, ("relax.add", "relax.call_tir"): 1}),
        judged=Counter({"FuseOps": stop - first}),
        changed=Counter({"FuseOps": (stop - first) // 4}),
        rewrites=Counter({("FuseOps", "+call +function"): (stop - first) // 4}),
    )
    return ShardResult(number, first, stop, stop - first, (stop - first) // 8, 0, +tallies, found, coverage)
