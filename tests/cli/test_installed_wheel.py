"""The wheel, installed into a new environment: every command works in an empty folder."""

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from sampler_parity.harness.cli.app import app
from tests.support.wheel import OFFLINE, PIP, build_wheel, outside

ROOT = Path(__file__).resolve().parent.parent.parent
TSAMPLER = "engines/tsampler"

CASE = "top_p/crossing-token-is-kept"
WRONG = "mutant/top_p/crossing-token-dropped"
POLICY = "schema_version = 1\npartial = true\n[[parity]]\n"

# Arguments, exit status, a part of the output. {model} and {python} are in the new environment.
COMMANDS: list[tuple[str, int, str]] = [
    ("demo", 0, "mine loses token 3"),
    ("vectors -o kit --suites parity/top_k --max-vocab 12", 0, "test vectors in "),
    ("backends", 0, "llama.cpp          v0.5.0"),
    ("list suites", 0, "parity/top_p"),
    ("init --lang c mine", 0, "check    sampler-parity adapter check -- mine/adapter"),
    (f"run parity/top_p --case {CASE} -o good -j 1", 0, "1/1 identical"),
    (f"run parity/top_p --case {CASE} -o wrong -j 1 -b {WRONG}", 1, "DIVERGED"),
    ("fuzz --for 0.1s -j 1 -o fuzzed", 0, "0 findings"),
    (f"explain wrong {CASE}", 0, "replay: sampler-parity run parity/top_p"),
    (f"repro wrong {CASE}", 2, "a program can be written for llama.cpp, "),
    (f"predict {CASE} --platform linux-arm64-gcc", 0, "as on linux-x64-gcc to the bit"),
    ("report good wrong -o report", 0, "report/parity.html"),
    ("gate good --policy gate.toml", 0, "gate     pass"),
    ("gate good", 2, "run without --case"),
    ("gate wrong --policy gate.toml", 1, f"FAILED parity   {CASE}"),
    ("compare good good -o report", 0, "report/compare.html"),
    ("why good 1", 2, "is not a recording"),
    ("history add good wrong", 0, "good  added"),
    ("history show -o report", 0, "report/history.html"),
    ("trie-bench --mode strict-guided --token-tree-descriptor enum:2 --rounds 1", 0, "tokens_per_"),
    ("capture --model {model} --prompts prompt.txt --max-rows 2 -o c.gguf", 0, "c.gguf"),
    ("record -o r -- {python} -c pass", 0, "nothing is recorded: the program never called"),
    ("check r", 2, "r: is not a recording: it has no file PID.events"),
    ("redact good -o redacted", 2, "good: is not a checked recording"),
    ("golden verify", 0, "equal to the reference to the bit"),
    ("builds list", 0, ""),
    ("builds make nothing", 2, "build 'nothing': no recipe"),
    ("builds newest", 0, "xllamacpp "),
    ("engines list", 0, "sampler-parity engines add rwkv"),
    ("engines add nothing", 2, "engine 'nothing': unknown"),
    ("engines exec rwkv -- python", 2, "sampler-parity engines add rwkv"),
    ("engines remove rwkv", 2, "rwkv"),
    ("server check http://example.com -d openai", 2, "example.com: is another machine"),
    ("server fingerprint http://example.com", 2, "example.com: is another machine"),
    ("server start nothing", 2, "server 'nothing': unknown"),
    ("upgrade reference reference --settings none.json", 2, "none.json: cannot be read"),
    ("builds add here={libllama} --release v0.5.0", 0, "here  v0.5.0"),
    ("adapter check -- {python} -m sampler_parity.harness.backends.worker null", 0, "run greedy"),
]
OF_A_USER = (
    "demo",
    "vectors",
    "init",
    "run",
    "explain",
    "report",
    "gate good --policy",
    "builds list",
    "adapter",
)
SHORT = [command for command in COMMANDS if command[0].startswith(OF_A_USER)]
# Commands that compute for seconds: every night, with all others.
LONG: list[tuple[str, int, str]] = [
    ("selftest top_p/crossing-token-dropped", 0, "1/1"),
    ("golden regenerate", 0, "equal"),
    ("calibrate --runs 50 --null-runs 300 -o calibration", 0, "15/15 claims"),
    ("timing-selfcheck --trials 10 -o selfcheck", 0, "alarms"),
    ("lint", 0, "no problems"),
]

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").is_file(), reason="not in a checkout")


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


def commands_of(group: Any, prefix: str = "") -> set[str]:
    names: set[str] = set()
    for name, command in group.commands.items():
        inner = hasattr(command, "commands")
        names |= commands_of(command, f"{name} ") if inner else {prefix + name}
    return names


def test_every_command_is_tried() -> None:
    every = commands_of(typer.main.get_command(app))
    tried = {name for name in every for text, _, _ in COMMANDS + LONG if text.startswith(name)}
    assert every - tried == set()


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(SHORT, marks=pytest.mark.slow, id="what a user types"),
        pytest.param(COMMANDS + LONG, marks=pytest.mark.nightly, id="all"),
    ],
)
def test_every_command_works_from_the_wheel_in_an_empty_folder(
    commands: list[tuple[str, int, str]], installed: Installed, tmp_path: Path
) -> None:
    (tmp_path / "gate.toml").write_text(POLICY)
    (tmp_path / "prompt.txt").write_text("one two three\n")
    names = {
        "model": str(installed.packages / "sampler_parity" / "golden" / "model" / "small.gguf"),
        "python": str(installed.python),
        "libllama": str(Path(sysconfig.get_paths()["purelib"]) / "llama_cpp" / "lib"),
    }
    asked = [text.format(**names).split() for text, _, _ in commands]
    driver = ROOT / "tests" / "support" / "wheel_driver.py"
    done = installed.run(installed.python, driver, json.dumps(asked), folder=tmp_path)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"status"')]
    assert len(lines) == len(commands), done.stdout + done.stderr
    wrong = [
        (text, line)
        for (text, status, message), line in zip(commands, lines, strict=True)
        if line["status"] != status or message not in line["output"]
    ]
    assert wrong == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose own modules have the names of our five folders, and are none of ours."""
    for file in (
        "harness.py",
        "reports.py",
        "suites/__init__.py",
        "golden/__init__.py",
        "reference.py",
    ):
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
    for folder in (
        "suites",
        "golden",
        "reference",
        "harness",
        "programs",
        "functions",
        "maintenance",
    ):
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
