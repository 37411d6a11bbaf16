"""The distribution cells of other engines catch a faulty engine, and pass the right one."""

import pytest

from sampler_parity.harness.checks.distribution.run import execute_cell
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.harness.statistics.plan import Budget
from sampler_parity.harness.suite.file import expand_kind, find_suites, read_suite

ERRORS = Budget(tests=10).each


def decision(suite: str, cell: str, mutant: str) -> str:
    """The decision of a cell of suites/draws/ on a mutant, in this process."""
    cells = expand_kind("distribution", read_suite(find_suites([f"draws/{suite}"])[0]), "full")
    chosen = next(c for c in cells if c.id == f"{suite}/{cell}")
    backend = InProcess(mutant)
    try:
        return execute_cell(chosen, [backend], ERRORS).backends[backend.name].decision
    finally:
        backend.scratch.remove()


@pytest.mark.parametrize(
    ("suite", "cell", "mutant"),
    [
        ("akunu", "filters-V64", "akunu/lost-renormalization"),
        ("akunu_gumbel", "float32-V32", "akunu_gumbel/exponential-noise"),
        ("akunu_gumbel", "positions-V32", "akunu_gumbel/same-for-every-position"),
        ("tsampler", "filtered", "tsampler_sample/not-renormalized"),
        ("tsampler", "strategy", "tsampler/temperature-first"),
    ],
)
@pytest.mark.slow
def test_a_faulty_engine_is_different(suite: str, cell: str, mutant: str) -> None:
    assert decision(suite, cell, mutant) == "different"


@pytest.mark.nightly
def test_a_fault_that_leaves_the_distribution_alone_is_equivalent() -> None:
    assert decision("tsampler", "filtered", "tsampler_sample/not-reset") == "equivalent"
