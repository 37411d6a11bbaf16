"""Accepting ties hides no planted fault except another sort."""

from collections.abc import Iterator

import pytest

from sampler_parity.harness.faults import MUTANTS
from sampler_parity.harness.faults.in_process import InProcess
from sampler_parity.maintenance.selftest import selftest
from sampler_parity.reference.registry import ROWS

SORTING = {name for name, row in ROWS.items() if row.sorts}

# Another order of equal logits, and nothing else: what `tied` is there to accept.
ANOTHER_SORT = {"top_p/always-sorts-in-place", "top_k/zeros-in-order"}

AT_TIES = [
    "top_k/keeps-ties-of-the-last",
    "top_k/ties-that-do-not-fit-go",
    "top_p/ties-of-the-last-stay",
    "top_p/ties-that-do-not-fit-go",
    "top_p/lower-one-among-ties",
    "greedy/last-of-equal-wins",
]


@pytest.fixture
def in_process(request: pytest.FixtureRequest) -> Iterator[InProcess]:
    backend = InProcess(request.param)
    yield backend
    backend.close()


@pytest.mark.parametrize("in_process", AT_TIES, indirect=True)
def test_a_fault_that_shows_only_at_ties_is_caught_where_ties_are_accepted(
    in_process: InProcess,
) -> None:
    mutant = in_process.worker.mutant
    result = selftest.try_mutant(mutant, in_process, accept="tied")
    assert (result.caught, result.stage) == (True, mutant.stage)
    assert result.verdict in ("diverged", "boundary")
    assert result.case.startswith(mutant.case), "not by the case that names it"


@pytest.mark.parametrize("in_process", ["top_p/always-sorts-in-place"], indirect=True)
def test_another_sort_is_caught_as_a_tie_where_ties_are_not_accepted(in_process: InProcess) -> None:
    result = selftest.try_mutant(in_process.worker.mutant, in_process)
    assert (result.caught, result.verdict, result.stage) == (True, "tied", "top_p")


@pytest.mark.nightly
@pytest.mark.parametrize(
    "in_process",
    [name for name, m in MUTANTS.items() if m.sampler in {*SORTING, "dist"}],  # dist: by its draws
    indirect=True,
)
def test_all_that_was_caught_is_caught_where_ties_are_accepted_but_another_sort(
    in_process: InProcess,
) -> None:
    mutant = in_process.worker.mutant
    result = selftest.try_mutant(mutant, in_process, accept="tied")
    assert result.caught == (mutant.name not in ANOTHER_SORT)
