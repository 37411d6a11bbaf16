"""A worker's memory: its limit and the memory it keeps, tested in separate processes."""

import ctypes
import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no limit")
def test_the_memory_limit_holds_until_it_is_lifted() -> None:
    lines = (
        "import os, resource",
        "from sampler_parity.harness.protocol.environment import lift_memory_limit, limit_memory",
        "memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')",
        "before = resource.getrlimit(resource.RLIMIT_AS)",
        "limit_memory()",
        "assert 0 < resource.getrlimit(resource.RLIMIT_AS)[0] <= memory // 2",
        "lift_memory_limit()",
        "assert resource.getrlimit(resource.RLIMIT_AS) == (before[1], before[1])",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"),
    reason="only glibc has the setting",
)
def test_the_reference_as_a_process_makes_candidates_without_page_faults_once_warm() -> None:
    lines = (
        "import resource, numpy as np",
        "from sampler_parity.harness.backends.reference import Worker",
        "faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt",
        "row, worker = np.zeros(262_144, np.float32), Worker()",
        "def step(): return [worker.candidates(row) for _ in range(10)]",
        "step()",
        "step()  # where the first found zeros, fresh from the system, and wrote none",
        "before = faults()",
        "step()",
        "assert faults() - before < 100, faults() - before  # 7,680 pages are written",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
