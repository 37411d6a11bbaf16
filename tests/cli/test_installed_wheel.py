"""The wheel, installed into a new environment: every command works in an empty folder."""

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import COMMANDS as EVERY
from tests.support.wheel import OFFLINE, PIP, build_wheel, outside

ROOT = Path(__file__).resolve().parent.parent.parent
TSAMPLER = "engines/tsampler"

CASE = "top_p/crossing-token-is-kept"
WRONG = "mutant/top_p/crossing-token-dropped"
POLICY = "schema_version = 1\npartial = true\n[[parity]]\n"
COMMANDS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "installed_commands.toml").read_text(encoding="utf-8")
)["commands"]


@dataclass(frozen=True)
class Installed:
    """A virtual environment that holds the wheel, and reads all else from the one of the tests."""

    wheel: Path
    venv: Path

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def packages(self) -> Path:
        return next((self.venv / "lib").glob("python*")) / "site-packages"

    def run(self, *command: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
        return outside(*command, folder=folder)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("wheel")
    wheel, venv = build_wheel(folder), folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=120)
    made = Installed(wheel, venv)
    (made.packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    install = [*PIP, "--python", str(made.python), "install", *OFFLINE, "--no-compile", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    _copy_machine_code(ROOT / "reference", made.packages / "sampler_parity" / "reference")
    yield made
    shutil.rmtree(folder)


def _copy_machine_code(compiled: Path, installed: Path) -> None:
    """Copy the machine code that Numba compiled of the same sources: to compile it takes a dozen
    seconds.

    Numba also compares the time of a source file.
    """
    for source in compiled.rglob("*.py"):
        copy = installed / source.relative_to(compiled)
        if copy.is_file() and copy.read_bytes() == source.read_bytes():
            shutil.copystat(source, copy)
            for code in source.parent.glob(f"__pycache__/{source.stem}.*.nb*"):
                (copy.parent / "__pycache__").mkdir(exist_ok=True)
                shutil.copy(code, copy.parent / "__pycache__")


def test_every_command_is_tried() -> None:
    tried = {name for name in EVERY for row in COMMANDS if row["run"].startswith(name)}
    assert EVERY.keys() - tried == set()


@pytest.mark.parametrize(
    "users_alone",
    [
        pytest.param(True, marks=pytest.mark.slow, id="what a user types"),
        pytest.param(False, marks=pytest.mark.nightly, id="all"),
    ],
)
def test_every_command_works_from_the_wheel_in_an_empty_folder(
    users_alone: bool, installed: Installed, tmp_path: Path
) -> None:
    (tmp_path / "gate.toml").write_text(POLICY)
    (tmp_path / "prompt.txt").write_text("one two three\n")
    names = {
        "model": str(installed.packages / "sampler_parity" / "golden" / "model" / "small.gguf"),
        "python": str(installed.python),
        "libllama": str(Path(sysconfig.get_paths()["purelib"]) / "llama_cpp" / "lib"),
    }
    rows = [row for row in COMMANDS if row.get("of_a_user") or not users_alone]
    asked = [row["run"].format(**names).split() for row in rows]
    driver = ROOT / "tests" / "support" / "wheel_driver.py"
    done = installed.run(installed.python, driver, json.dumps(asked), folder=tmp_path)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"status"')]
    assert len(lines) == len(rows), done.stdout + done.stderr
    wrong = [
        (row["run"], line)
        for row, line in zip(rows, lines, strict=True)
        if line["status"] != row.get("status", 0) or row["prints"] not in line["output"]
    ]
    assert wrong == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose own modules have the names of our five folders, and are none of ours."""
    names = ("harness.py", "reports.py", "suites/__init__.py", "golden/__init__.py", "reference.py")
    for file in names:
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise ImportError('a module of the project')\n")
    return tmp_path


@pytest.mark.slow
def test_modules_of_a_project_that_have_our_names_are_not_loaded(
    installed: Installed, project: Path
) -> None:
    found = installed.run(installed.python, "-c", "import harness", folder=project)
    assert "a module of the project" in found.stderr
    plan = ["-m", "sampler_parity.harness.cli", "run", "parity/top_p", "--plan"]
    done = installed.run(installed.python, *plan, "-b", "reference", folder=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "suite    parity/top_p: stages 393" in done.stdout


@pytest.mark.nightly
def test_script_and_pytest_plugin_are_those_of_the_wheel(
    installed: Installed, project: Path
) -> None:
    done = installed.run(
        installed.venv / "bin" / "sampler-parity", "builds", "list", folder=project
    )
    assert (done.returncode, done.stderr) == (0, "")
    suite = installed.packages / "sampler_parity" / "suites" / "parity" / "top_p.toml"
    options = ["--sampler-backend", WRONG, "-k", "crossing-token-is-kept", "-p", "no:cacheprovider"]
    done = installed.run(installed.python, "-m", "pytest", *options, suite, folder=project)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"DIVERGED {CASE}" in done.stdout
    assert f"replay: sampler-parity run parity/top_p --case {CASE}" in done.stdout


@pytest.mark.slow
def test_wheel_carries_data_and_no_tests(installed: Installed) -> None:
    archive = zipfile.ZipFile(installed.wheel)
    names = archive.namelist()
    for needed in (
        "harness/py.typed",
        "reference/py.typed",
        "reports/py.typed",
        "harness/gate/default.toml",
        "harness/schemas/gate.schema.json",
        "suites/parity/top_p.toml",
        "suites/timing/samplers.toml",
        "golden/small.gguf",
        "reports/templates/page.html.j2",
        f"{TSAMPLER}/adapter.mjs",
        "harness/cli/templates/adapter.rs",
    ):
        assert f"sampler_parity/{needed}" in names
    for compiled in (ROOT / TSAMPLER / "dist").rglob("*.js"):
        assert f"sampler_parity/{compiled.relative_to(ROOT)}" in names
    ours = ("suites", "golden", "reference", "harness", "programs", "functions", "maintenance")
    for folder in ours:
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in (".toml", ".gguf", ".jsonl"):
                assert archive.read(f"sampler_parity/{path.relative_to(ROOT)}") == path.read_bytes()
    outside = [name for name in names if not name.startswith("sampler_parity")]
    assert outside == []
    assert not [name for name in names if "/tests/" in name or "node_modules" in name]
    tests = [name for name in names if Path(name).name.startswith("test_")]
    assert tests == ["sampler_parity/harness/timing/benchmarks/test_samplers.py"]


@pytest.mark.slow
def test_the_benchmarks_of_the_documentation_are_collected(
    installed: Installed, tmp_path: Path
) -> None:
    names = ("--pyargs", "sampler_parity.harness.timing.benchmarks", "--collect-only", "-q")
    done = installed.run(installed.python, "-m", "pytest", *names, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_samplers.py::test_sampler[" in done.stdout


@pytest.mark.skipif(
    not (ROOT / TSAMPLER / "dist").is_dir() or shutil.which("node") is None,
    reason="tsampler is not compiled (make tsampler), or there is no Node.js",
)
@pytest.mark.nightly
def test_tsampler_runs_from_the_wheel(installed: Installed, tmp_path: Path) -> None:
    adapter = installed.packages / "sampler_parity" / TSAMPLER / "adapter.mjs"
    done = installed.run(
        *(installed.venv / "bin" / "sampler-parity", "adapter", "check", "--"),
        *("node", adapter, "own"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
