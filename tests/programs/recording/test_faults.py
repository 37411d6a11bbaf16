"""Faults between a real program and libllama: `check` names each at its stage."""

import subprocess
import sys
from pathlib import Path

import pytest

from sampler_parity.harness.inputs.models import GOLDEN, model_path
from sampler_parity.programs.recording.check import BACKEND
from sampler_parity.programs.recording.program import Options, record
from tests.support.command_line import COMMAND
from tests.support.examples import one_in
from tests.support.recorded_programs import between, judged

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the recorder is for Linux")

HERE = Path(__file__).parent
SLOTS = [sys.executable, str(HERE / "programs" / "slots.py"), str(model_path(GOLDEN)), "80"]
FAULTS = {
    "a bias is lost": "logit_bias",
    "penalties twice": "penalties",
    "an accept is dropped": "penalties",
    "the history is shifted by one": "penalties",
    "two slots are mixed": "penalties",
    "penalties keep their history": "penalties",
    "no breakers": "dry",
    "a clone has no history": "dry",
    "k plus one": "top_k",
    "a stage is skipped": "top_p",
    "the last survivor is lost": "min_p",
    "min_keep is another": "min_p",
    "temp is ignored": "temp",
    "one logit is off by a bit": "temp",
    "another seed": "xtc",
    "one more is drawn": "dist",
    "a stale seed after a reset": "dist",
    "a clone begins its stream anew": "dist",
}


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> Path:
    """Record the slots with a fault; "" for none."""
    monkeypatch.setenv("LD_PRELOAD", str(between("faults")))
    monkeypatch.setenv("FAULT", fault)
    status, problems = record(SLOTS, folder, Options())
    assert (status, problems) == (0, [])
    return folder


def stages_named(recording: Path) -> set[str]:
    """Return the stages that the chains of a recording first differ at."""
    checked, stages = judged(recording)
    assert checked.applies == 160
    assert "skipped" not in {result.backends[BACKEND].verdict for result in checked.results}
    return stages


@pytest.mark.slow
def test_a_right_library_is_identical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = recorded(tmp_path / "recording", monkeypatch, "")
    assert stages_named(folder) == set()


@pytest.mark.slow
@pytest.mark.parametrize("fault", one_in(4, FAULTS))
def test_a_fault_is_named_at_its_stage(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = recorded(tmp_path / "recording", monkeypatch, fault)
    assert stages_named(folder) == {FAULTS[fault]}


@pytest.mark.slow
def test_the_text_is_the_same_without_the_recorder(tmp_path: Path) -> None:
    alone = subprocess.run(SLOTS, capture_output=True, check=True).stdout
    words = [*COMMAND, "record", "-o", str(tmp_path / "r"), "--", *SLOTS]
    recorded = subprocess.run(words, capture_output=True, check=True).stdout
    assert recorded == alone
