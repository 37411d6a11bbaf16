"""The adapters in examples/: small, self-contained, and correct on all that they claim."""

import ast
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.run.adapter_check import check_adapter
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.harness.verdicts import Verdict
from tests.support.inside import result_of

TSAMPLER = engines_folder() / "tsampler"

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PYTHON = EXAMPLES / "adapter.py"
TYPESCRIPT = EXAMPLES / "adapter.mts"
TSC = TSAMPLER / "node_modules" / ".bin" / "tsc"


def compiled(source: Path, folder: Path) -> Path:
    """Skips without Node.js or the compiler that `make tsampler` installs."""
    if shutil.which("node") is None or not TSC.exists():
        pytest.skip("needs Node.js and `make tsampler`, which installs the TypeScript compiler")
    options = ["--module", "nodenext", "--target", "es2023", "--strict", "--types", "node"]
    options += ["--skipLibCheck"]  # Node.js's own types
    options += ["--typeRoots", str(TSAMPLER / "node_modules" / "@types"), "--outDir", str(folder)]
    done = subprocess.run([str(TSC), *options, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return folder / source.with_suffix(".mjs").name


def verdicts(command: list[str], suite: str) -> set[Verdict]:
    """Return the verdicts of the suite's cases that have only temp and greedy."""
    path = find_suites([suite])[0]
    cases = [c for c in expand(path, "quick") if set(c.samplers) <= {"temp", "greedy"}]
    with closing(BackendProcess("mine", command)) as backend:
        return {result_of(case, backend).verdict for case in cases[:40]}


def test_the_python_example_needs_only_the_standard_library() -> None:
    imports = [
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(ast.parse(PYTHON.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    assert [name for name in imports if name not in sys.stdlib_module_names] == []


@pytest.mark.slow
def test_the_python_example_passes_the_check_and_is_identical_where_it_says() -> None:
    command = [sys.executable, str(PYTHON)]
    assert [c for c in check_adapter(command) if c.passed is False] == []
    assert verdicts(command, "parity/temp") == {"identical"}
    assert verdicts(command, "parity/greedy") == {"identical"}


def test_the_python_example_with_a_fault_is_diverged(tmp_path: Path) -> None:
    faulty = tmp_path / "adapter.py"
    faulty.write_text(PYTHON.read_text().replace("x / self.temp", "x * self.temp"))
    assert "diverged" in verdicts([sys.executable, str(faulty)], "parity/temp")


@pytest.mark.slow
def test_the_python_example_draws_the_tokens_of_llama_cpp() -> None:
    path = find_suites(["parity/dist"])[0]
    candidates = [c for c in expand(path, "quick") if c.samplers == ["dist"] and c.logits.n < 2000]
    cases = [case for case in candidates if np.isfinite(case.logits.row(0)).all()]
    with closing(BackendProcess("mine", [sys.executable, str(PYTHON)])) as backend:
        results = [result_of(case, backend) for case in cases[:40]]
    assert len(results) > 10
    assert {(r.verdict, r.what) for r in results} <= {("identical", ""), ("close", "p")}


@pytest.mark.slow
def test_the_typescript_example_passes_the_check_and_is_identical_where_it_says(
    tmp_path: Path,
) -> None:
    command = ["node", str(compiled(TYPESCRIPT, tmp_path))]
    checks = {c.name: c.passed for c in check_adapter(command)}
    assert [name for name, passed in checks.items() if passed is False] == []
    assert checks["draws"] is True
    assert verdicts(command, "parity/temp") == {"identical"}
    assert verdicts(command, "parity/greedy") == {"identical"}
