from sampler_parity.harness.suite.blocks.fuzz import Fuzz
from sampler_parity.harness.suite.prepared import prepare, reference_trace

BLOCK = Fuzz(id="h", description="d", why="w", count=30, quick=12, seed=3)


def test_fuzz_makes_the_same_cases_from_the_same_seed() -> None:
    assert BLOCK.cases(True) == BLOCK.cases(True)


def test_fuzz_makes_other_cases_from_another_seed() -> None:
    assert BLOCK.cases(True) != BLOCK.cases(True, 1)


def test_fuzz_full_profile_begins_with_the_quick_one() -> None:
    full = BLOCK.cases(False)
    assert len(full) == 30
    assert full[:12] == BLOCK.cases(True)
    assert len({case.id for case in full}) == 30


def test_fuzz_avoids_what_the_reference_refuses() -> None:
    assert all(reference_trace(prepare(case))[1] == "" for case in BLOCK.cases(False))
