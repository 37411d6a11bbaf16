"""`python -m studies.native.common FOLDER TEST`: a test of common_sampler, on the folder's driver.

The driver is that of tests/support/native_common; common/sampling.cpp and reasoning-budget.cpp are
compiled into it with gcov's counters, in front of those of the installed libllama-common.
"""

import functools
import sys
from pathlib import Path

import pytest

from studies.native import sources
from tests.support import native_common

TESTS = (
    "test_common_sampler",
    "test_common_sampler_grid",
    "test_common_sampler_native",
    "test_reasoning_budget",
    "test_speculative_native",
)


def build(folder: Path, files: list[Path], options: list[str], tree: Path) -> Path:
    """Build the driver and return its folder. Raises CalledProcessError."""
    objects = sources.compiled(folder, files, options, tree)
    (folder / native_common.DRIVER).unlink(missing_ok=True)
    native_common.compile_driver(folder, [*objects, "--coverage"])
    return folder


def main() -> int:
    folder, test = Path(sys.argv[1]), sys.argv[2]
    native_common.compile_driver = functools.partial(_of, folder)
    file = sources.ROOT / "tests" / "reference" / f"{test}.py"
    imported = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # before pytest begins
    # b11549 is another build, of which nothing is counted.
    return pytest.main([*imported, "-p", "no:cacheprovider", "-k", "not b11549", str(file)])


def _of(folder: Path, _instead: Path) -> Path:
    return folder / native_common.DRIVER


if __name__ == "__main__":
    sys.exit(main())
