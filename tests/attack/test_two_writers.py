"""Two runs write one folder at the same time: one of them is refused, and nothing is doubled."""

import subprocess
from pathlib import Path

import pytest

from sampler_parity.harness.suite.file import expand
from tests.support.command_line import COMMAND, ROOT
from tests.support.whole_bundle import results_of


@pytest.mark.slow
def test_two_that_resume_one_folder_record_no_case_twice(tmp_path: Path, suite: Path) -> None:
    some = ["--case", "small/many/normal-V128-*", "-b", "reference", "-j", "1"]
    command = [*COMMAND, "run", str(suite), *some, "-o", str(tmp_path / "b"), "--resume"]
    both = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    errors = [process.communicate(timeout=120)[1].decode() for process in both]
    statuses = sorted(process.returncode for process in both)
    # The one that comes to the folder last may find it finished: then there is nothing left for it.
    assert statuses in ([0, 2], [0, 0]), errors
    assert statuses == [0, 0] or "another process writes this bundle" in "".join(errors)
    ids = {case.id for case in expand(suite, "quick") if "normal-V128-" in case.id}
    assert {name for _, name in results_of(tmp_path / "b")} == ids
