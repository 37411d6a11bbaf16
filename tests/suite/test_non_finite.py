"""Every sampler of llama.cpp that is defined on NaN and +inf is tested with them."""

import math

from sampler_parity.harness.checks.stages.blocks.ladder import of_newest
from sampler_parity.harness.llama_cpp.signatures import SIGNATURES
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import Candidates, UndefinedInputError
from sampler_parity.reference.registry import ROWS

OF_GRAMMARS = {"grammar", "grammar_lazy_patterns"}  # they look at texts; logits pass through


def test_each_sampler_meets_infinity_and_those_that_sort_nothing_meet_nan() -> None:
    (path,) = find_suites(["parity/non_finite"])
    met: dict[str, set[str]] = {}
    for case in expand(path, "quick"):
        met.setdefault(case.id.split("/")[1], set()).update(case.samplers)
    names = set(of_newest()) & set(SIGNATURES) - OF_GRAMMARS
    assert names - met["infinite"] - met["infinite-bpe"] == set()
    assert {name for name in names if _takes_nan(name)} - met["nan"] == set()


def _takes_nan(name: str) -> bool:
    if ROWS[name].vocab:
        return False  # infill sorts
    values = dict(ROWS[name].smallest) | ({"n_vocab": 3} if name == "mirostat" else {})
    sampler, cand = ROWS[name].make(**values), Candidates.from_logits([0.0, math.nan, 1.0])
    try:
        for _ in range(4):  # xtc sorts only if its coin decides so
            sampler.apply(cand.copy())
    except UndefinedInputError:
        return False
    return True
