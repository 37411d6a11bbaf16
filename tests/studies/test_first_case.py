"""studies/first_case.py: the processor time of every process is counted, and of none twice."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.command_line import ROOT

# It works for 0.1 s, as does a process that ends and one that stays; then it has judged its case.
RUN = textwrap.dedent(
    """
    import subprocess, sys, time
    WORK = "import time\\nwhile time.process_time() < 0.1: pass\\n"
    exec(WORK)
    subprocess.run([sys.executable, "-I", "-S", "-c", WORK])
    stays = WORK + "print('done', flush=True); input()"  # until we are gone
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", stays], **pipes)
    child.stdout.readline()
    open(sys.argv[1] + "/results.jsonl", "w").write("header\\ncase\\n")
    time.sleep(60)
    """
)


MEASURE = """
import json, sys
from pathlib import Path
from studies.first_case import first_case
print(json.dumps(first_case(sys.argv[2:], Path(sys.argv[1]))))
"""


def measured(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """In a process that has no other children."""
    program = [sys.executable, "-c", MEASURE, str(folder), sys.executable, "-I", "-S", *command]
    return subprocess.run(
        program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_each_process_of_a_run_is_counted_once(tmp_path: Path) -> None:
    done = measured(tmp_path, "-c", RUN, str(tmp_path))
    seconds = json.loads(done.stdout)
    # The system counts hundredths of a second: of user and system time, own and of what has ended.
    assert 0.16 <= seconds["run"] <= 0.25
    assert 0.08 <= seconds["worker"] <= 0.15
    assert sorted(seconds) == ["run", "worker"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_run_that_judges_no_case_has_no_time(tmp_path: Path) -> None:
    done = measured(tmp_path, "-c", "pass")
    assert done.returncode == 1
    assert done.stderr.startswith("no case was judged: ")
    assert done.stderr.endswith(" -c pass\n")
