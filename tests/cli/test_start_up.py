"""Modules that a process loads before it knows its task: every worker and command pays for them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """
name = "one"
sampler = "top_k"

[[case]]
id = "one"
description = "k = 1 keeps the argmax"
why = "The first token kept instead of the largest."
chain = [{ top_k = { k = 1 } }]
logits = { values = [1.0, 2.0, 0.0] }
expect = { ids = [1] }
"""


def ran(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("sampler_parity.reference", ["numba", "scipy", "numpy", "sampler_parity.reference.chain"]),
        ("sampler_parity.reference.registry", ["numba", "scipy"]),
        ("sampler_parity.harness.backends.null", ["numba", "scipy.stats", "gguf"]),
        (
            "sampler_parity.harness.trie.llama_cpp",  # the worker of llama.cpp
            [
                *("numba", "scipy", "numpy.random", "matplotlib", "rich", "typer"),
                *("sampler_parity.harness.bundle", "sampler_parity.reference.registry"),
            ],
        ),
        (
            "sampler_parity.harness.run.judging",
            ["numba", "scipy.stats", "matplotlib", "hypothesis", "sampler_parity.harness.faults"],
        ),
        (
            "sampler_parity.functions.subject",  # the first answer of check
            [
                *("numba", "scipy.stats", "sampler_parity.harness.backends.registry"),
                *("sampler_parity.harness.checks.cases", "sampler_parity.harness.suite.items"),
            ],
        ),
        (
            "sampler_parity.harness.cli.app",
            [
                *("numba", "scipy", "matplotlib", "hypothesis", "numpy", "pydantic", "logging"),
                *("rich", "sampler_parity.reference", "sampler_parity.reports.write"),
                *("tempfile", "json", "importlib.resources", "importlib.metadata"),
            ],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.slow
def test_start_up_leaves_libraries_for_later(module: str, unwanted: list[str]) -> None:
    code = f"import sys, {module}; print(*sorted(set({unwanted!r}) & sys.modules.keys()))"
    assert ran(code).stdout.strip() == ""


@pytest.mark.slow
def test_the_help_loads_no_command_and_no_library_but_typer() -> None:
    code = (
        "import sys; from sampler_parity.harness.cli.__main__ import main; sys.argv[1:] = ['-h']\n"
        "try: main()\nfinally: print(*sorted(sys.modules), file=sys.stderr)"
    )
    loaded = set(ran(code).stderr.split())
    assert "typer" in loaded
    commands = "sampler_parity.harness.cli."
    assert {name.removeprefix(commands) for name in loaded if name.startswith(commands)} == {
        *("__main__", "app", "colour", "commands", "output", "rows"),
    }
    heavy = {"numpy", "pydantic", "numba", "scipy", "hypothesis", "rich", "markdown_it", "sqlite3"}
    assert heavy.isdisjoint(loaded)


@pytest.mark.slow
def test_code_from_the_cache_loads_nothing_that_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    code = (
        "import sys, numpy; from sampler_parity.reference import floats\n"
        "print(floats.total(numpy.ones(3)), 'numba.cpython.setobj' in sys.modules)"
    )
    assert [ran(code).stdout for _ in range(2)] == ["3.0 True\n", "3.0 False\n"]


@pytest.mark.slow
def test_start_up_compiled_function_calls_another_and_loads_numba_then() -> None:
    code = (
        "import sys, numpy as np; from sampler_parity.reference import sorting;"
        "before = 'numba' in sys.modules;"
        "print(before, sorting.std_sort(np.float32([1, 3, 2])).tolist(), 'numba' in sys.modules)"
    )
    assert ran(code).stdout.strip() == "False [1, 2, 0] True"


@pytest.mark.slow
def test_start_up_numba_loads_no_linear_algebra_and_still_has_it() -> None:
    code = (
        "import sys, numpy as np; from sampler_parity.reference import floats, sorting;"
        "floats.exp(np.float32([1])), sorting.std_sort(np.float32([1, 3, 2]));"
        "print('numba' in sys.modules, 'scipy.linalg' in sys.modules);"
        "import scipy.linalg; from numba.np import arraymath; print(arraymath._HAVE_BLAS)"
    )
    assert ran(code).stdout.splitlines() == ["True False", "True"]


# Prints the modules of a run: in its process when a case is in the bundle, and in the judging one.
# Kept answers are not computed again.
RUN = """
import contextlib, sys
from sampler_parity.harness.cli import app, run

def say(process):
    print(process, *sys.modules, file=sys.stderr)

@contextlib.contextmanager
def watched():
    yield
    from sampler_parity.harness.bundle.writer import BundleWriter
    from sampler_parity.harness.checks import execute as cases
    from sampler_parity.harness.checks.stages.reference_cache import Answers
    execute, append = cases.execute, BundleWriter.append
    cases.execute = lambda *arguments: (execute(*arguments), say("judge"))[0]
    BundleWriter.append = lambda *arguments: (append(*arguments), say("run"))[0]
    Answers.is_drawn = lambda *arguments: False

run.collection_paused = watched
app.main()
"""


def loaded_by(folder: Path, bundle: str, *options: str) -> dict[str, set[str]]:
    """Return the modules that each process of a run had loaded at its first verdict."""
    command = ["run", str(folder / "one.toml"), "-b", "llama.cpp", *options]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *command, "-o", str(folder / bundle)],
        capture_output=True,
        text=True,
        env=os.environ | {"XDG_CACHE_HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in reversed(done.stderr.splitlines())]  # the first one stays
    of_processes = [line for line in lines if line[0] in ("run", "judge")]  # others are of progress
    return {name: set(modules) for name, *modules in of_processes}


what_judges = "elsewhere what judges is no copy of the run"
linux = pytest.mark.skipif(sys.platform != "linux", reason=what_judges)


@linux
@pytest.mark.slow
def test_a_run_loads_what_its_first_case_needs(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SUITE)
    loaded = loaded_by(tmp_path, "b", "--no-cache")
    assert loaded.keys() == {"run", "judge"}
    never = {"rich", "matplotlib", "hypothesis", "gguf", "scipy.stats", "scipy.special", "dask"}
    never |= {"numpy.ma", "scipy.linalg", "sampler_parity.reports.write"}
    ours = ("faults", "failures.shrink", "run.shrinking")
    never |= {f"sampler_parity.harness.{name}" for name in ours}
    assert not never & (loaded["run"] | loaded["judge"])
    assert "numba" in loaded["judge"] - loaded["run"]  # of the two, the one that needs it


@linux
@pytest.mark.slow
def test_a_kept_answer_to_probabilities_needs_no_numba(tmp_path: Path) -> None:
    probs = SUITE.replace("values = [1.0, 2.0, 0.0]", "probs = [0.25, 0.5, 0.25]")
    (tmp_path / "one.toml").write_text(probs)
    (tmp_path / "sampler-parity").mkdir(mode=0o700)
    first, second = loaded_by(tmp_path, "a"), loaded_by(tmp_path, "b")
    assert "numba" in first["judge"]
    assert "numba" not in second["judge"] | second["run"]
