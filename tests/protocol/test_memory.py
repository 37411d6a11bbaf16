"""The limit on a worker's memory, tried in a process of its own."""

import subprocess
import sys

import pytest


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no limit")
def test_the_memory_limit_holds_until_it_is_lifted() -> None:
    lines = (
        "import os, resource",
        "from sampler_parity.harness.protocol.memory import lift_memory_limit, limit_memory",
        "memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')",
        "before = resource.getrlimit(resource.RLIMIT_AS)",
        "limit_memory()",
        "assert 0 < resource.getrlimit(resource.RLIMIT_AS)[0] <= memory // 2",
        "lift_memory_limit()",
        "assert resource.getrlimit(resource.RLIMIT_AS) == (before[1], before[1])",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
