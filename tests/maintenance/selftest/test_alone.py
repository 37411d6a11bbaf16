"""Adapters without dist, which has llama.cpp's random numbers: their faults still show.

One has a sampler that remembers and greedy, one has filters alone.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.faults import MUTANTS, Mutant
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.suite.file import expand, find_suites

# Faults that show after a filter, with breakers, with ids that no candidate has, or at sizes that
# `capacities` climbs.
NEED_MORE = {
    "penalties": {
        *("flag-stays-sorted", "flag-cleared-only-if-seen", "by-position"),
        *("occurrences-of-8-bits", "window-at-most-512", "256-distinct-tokens"),
        *("counts-by-16-bits", "forgets-after-65536", "window-of-1024"),
        "negative-ids-take-no-place",
    },
    "dry": {
        *("all-breaker-heads-exempt", "flag-stays-sorted", "window-at-most-512"),
        *("tokens-of-16-bits", "8-breakers", "tails-ignored"),
        *("breaker-of-40-characters", "reset-drops-the-breakers", "ends-at-a-missing-token"),
        *("clone-without-window", "shortest-of-two-breakers"),
    },
}


def undetected(sampler: str) -> Iterator[Mutant]:
    """Yield the sampler's faults that no case with it and greedy alone shows."""
    paths = find_suites([f"parity/{sampler}", "parity/scripts", "parity/pairs"])
    every = [case for path in paths for case in expand(path, "quick")]
    cases = [case for case in every if {*case.samplers} <= {sampler, "greedy"}]
    few = [case for case in cases if case.logits.n <= 150]
    for mutant in MUTANTS.values():
        if mutant.sampler == sampler:
            with closing(InProcess(mutant.name)) as backend:
                results = (execute(case, [backend]).backends[backend.name] for case in few)
                if all(result.verdict == "identical" for result in results):
                    yield mutant


@pytest.mark.slow
@pytest.mark.parametrize("sampler", NEED_MORE)
def test_an_adapter_without_dist_is_asked_what_shows_the_faults(sampler: str) -> None:
    assert {mutant.name for mutant in undetected(sampler)} == {
        f"{sampler}/{name}" for name in NEED_MORE[sampler]
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["temperature-first", "temperature-last", "filters-last", "top-p-before-top-k"]
)
def test_chains_alone_show_another_order_to_an_adapter_without_dist(fault: str) -> None:
    claimed = {"penalties", "top_k", "top_p", "min_p", "temp"}
    (path,) = find_suites(["parity/chains"])
    asked = [case for case in expand(path, "quick") if {*case.samplers} <= claimed]
    with closing(InProcess(f"chain/{fault}")) as backend:
        results = [execute(case, [backend]).backends[backend.name] for case in asked]
    assert [result for result in results if result.verdict == "diverged"]
