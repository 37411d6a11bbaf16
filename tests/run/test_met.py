"""harness/run/run.py: whether a run met its requirements."""

from pathlib import Path

from sampler_parity.harness.bundle.bundle import read
from sampler_parity.harness.run.run import FinishedRun
from tests.support.report_bundles import bundle_of, run_info
from tests.support.several_bundles import accuracy_in, invariance_in


def test_a_run_that_only_measures_how_far_a_batch_moves_logits_is_met(tmp_path: Path) -> None:
    assert FinishedRun(read(invariance_in(tmp_path / "invariance")), {}).met


def test_a_run_that_only_measures_accuracy_is_met(tmp_path: Path) -> None:
    assert FinishedRun(read(accuracy_in(tmp_path / "accuracy")), {}).met


def test_a_run_of_nothing_is_not_met(tmp_path: Path) -> None:
    assert not FinishedRun(bundle_of(tmp_path / "empty", run_info("a"), []), {}).met
    assert not FinishedRun(None, {}).met
