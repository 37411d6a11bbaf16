import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.checks.stages.blocks.fuzz import Fuzz
from sampler_parity.harness.checks.stages.prepared import prepare, reference_trace

BLOCK = Fuzz(id="h", description="d", why="w", count=30, quick=12, seed=3)


@pytest.mark.slow
def test_fuzz_makes_the_same_cases_from_the_same_seed_and_the_quick_ones_first() -> None:
    full, quick = BLOCK.items(False), BLOCK.items(True)
    assert (len(full), full[:12]) == (30, quick)
    assert len({case.id for case in full}) == 30
    assert quick != BLOCK.items(True, 1)


@pytest.mark.slow
def test_fuzz_avoids_what_the_reference_refuses() -> None:
    assert all(reference_trace(prepare(case))[1] == "" for case in BLOCK.items(False))


# Prints two digests of the cases: with `seed_alone`, and without it.
DIGESTS = """
import contextlib, hashlib, sys
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "with":
    import constants
from sampler_parity.harness.checks.stages.blocks import fuzz
from sampler_parity.harness.checks.stages.blocks import fuzz_cases
for alone in (fuzz_cases.seed_alone, contextlib.nullcontext):
    fuzz_cases.seed_alone = alone
    cases = fuzz.Fuzz(id="h", description="d", why="w", count=60, quick=60, seed=3).items(True)
    print(hashlib.sha256("".join(case.model_dump_json() for case in cases).encode()).hexdigest())
"""


def digests(folder: Path, constants: str) -> list[str]:
    """Return two digests of the cases of a new process: with `seed_alone`, and without it."""
    (folder / "constants.py").write_text("A, B, C = 0.7734375, 117, 11.015625\n" * 3)
    command = [sys.executable, "-c", DIGESTS, str(folder), constants]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.nightly
def test_fuzz_cases_depend_on_the_seed_and_not_on_what_is_loaded(tmp_path: Path) -> None:
    """Without `seed_alone` they depend on what is loaded."""
    alone, seen = digests(tmp_path, "without")
    alone_beside, seen_beside = digests(tmp_path, "with")
    assert alone == alone_beside
    assert seen != seen_beside
