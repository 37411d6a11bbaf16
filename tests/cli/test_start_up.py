"""What a process loads before it knows what it has to do: every worker and command pays for it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("sampler_parity.reference", ["numba", "scipy"]),
        ("sampler_parity.harness.backends.null", ["numba", "scipy.stats", "gguf"]),
        (
            "sampler_parity.harness.backends.llama_cpp.worker",
            ["numba", "scipy.stats", "matplotlib", "sampler_parity.harness.bundle"],
        ),
        (
            "sampler_parity.harness.run.cases",
            ["numba", "scipy.stats", "matplotlib", "hypothesis", "sampler_parity.harness.mutants"],
        ),
        (
            "sampler_parity.harness.cli.app",
            [
                *("numba", "scipy", "matplotlib", "hypothesis", "numpy", "pydantic", "logging"),
                *("rich", "sampler_parity.reference", "sampler_parity.reports"),
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.slow
def test_start_up_leaves_libraries_for_later(module: str, unwanted: list[str]) -> None:
    code = f"import sys, {module}; print(*sorted(set({unwanted!r}) & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.slow
def test_start_up_compiled_function_calls_another_and_loads_numba_then() -> None:
    code = (
        "import sys, numpy as np; from sampler_parity.reference import sorting;"
        "before = 'numba' in sys.modules;"
        "print(before, sorting.std_sort(np.float32([1, 3, 2])).tolist(), 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False [1, 2, 0] True"


@pytest.mark.slow
def test_start_up_numba_loads_no_linear_algebra_and_still_has_it() -> None:
    code = (
        "import sys, numpy as np; from sampler_parity.reference import floats, sorting;"
        "floats.exp(np.float32([1])), sorting.std_sort(np.float32([1, 3, 2]));"
        "print('numba' in sys.modules, 'scipy.linalg' in sys.modules);"
        "import scipy.linalg; from numba.np import arraymath; print(arraymath._HAVE_BLAS)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True False", "True"]
