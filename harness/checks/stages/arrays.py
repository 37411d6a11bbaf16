"""Save the arrays of a stage that differs, next to the records of a run."""

from collections import Counter
from pathlib import Path

from sampler_parity.harness.bundle.artifacts import stage_file, write_arrays
from sampler_parity.harness.protocol.client import Got
from sampler_parity.reference import Candidates

MOST_ARRAYS = 20  # of a stage on a backend, in each process of a run
_saved: Counter[tuple[Path, str, str]] = Counter()


def room(folder: Path, backend: str, stage: str) -> bool:
    """Return whether the arrays of one more stage are kept. A fault in every case would otherwise
    take more time for saving than for judging."""
    _saved[folder, backend, stage] += 1
    return _saved[folder, backend, stage] <= MOST_ARRAYS


def save(folder: Path, case: str, backend: str, want: Candidates, got: Got) -> None:
    """Write the arrays of a stage that differs as artifacts/CASE.BACKEND.npz."""
    write_arrays(
        folder / stage_file(case, backend),
        ids=want.ids,
        logits=want.logits,
        p=want.p,
        got_ids=got.ids,
        got_logits=got.logits,
        got_p=got.p,
    )
