"""The packages of the test vectors: each has the kit, and what its README shows runs."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from sampler_parity.vectors.written import Contents, write
from scripts.vector_packages import NAME, RUNNERS, TOOLS, USE, pack

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(any(shutil.which(t) is None for t in TOOLS), reason="no cargo, or no npm"),
]
SMALL = "sampler_vectors::small_sampler::SmallSampler::from_env()"


class Packages(NamedTuple):
    crate: Path
    npm: Path
    wheel: Path


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    folder = tmp_path_factory.mktemp("packages")
    write(Contents(["parity/top_k"], "quick", 12), folder / "kit")
    return Packages(*pack(folder / "kit", folder / "made"))


def shown(kind: str) -> str:
    """Return the code that the README of a package shows."""
    (code,) = re.findall(r"(?s)```\w+\n(.*)```", USE[kind])
    return str(code)


def run(command: list[str], folder: Path, **changed: str) -> tuple[int, str]:
    names = {**os.environ, **changed}
    for name in ("NODE_TEST_CONTEXT", "EXACT"):
        names.pop(name, None)
    done = subprocess.run(command, cwd=folder, env=names, capture_output=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


def passes_and_finds_a_fault(run_with: Callable[[Mapping[str, str]], tuple[int, str]]) -> None:
    status, text = run_with({"FAULT": ""})
    assert status == 0, text
    status, text = run_with({"FAULT": "ties"})
    assert status != 0
    assert "top_k/" in text, text


def test_the_test_of_the_crates_readme_runs_in_a_users_crate(
    packages: Packages, tmp_path: Path
) -> None:
    with tarfile.open(packages.crate) as archive:
        archive.extractall(tmp_path / "crate", filter="data")
    (crate,) = (tmp_path / "crate").iterdir()
    user = tmp_path / "user"
    (user / "src").mkdir(parents=True)
    (user / "tests").mkdir()
    (user / "src" / "lib.rs").touch()
    (user / "Cargo.toml").write_text(
        f'[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n'
        f'[dev-dependencies]\n{NAME} = {{ path = "{crate}" }}\n'
    )
    code = shown("crate").replace("top_p", "top_k").replace("&MySampler", f"&{SMALL}")
    (user / "tests" / "readme.rs").write_text(code)
    target = {"CARGO_TARGET_DIR": str(tmp_path / "target")}
    test = ["cargo", "test", "--quiet", "--offline", "--test", "readme"]
    passes_and_finds_a_fault(lambda fault: run(test, user, **target, **fault))


def test_the_commands_of_the_npm_packages_readme_run(packages: Packages, tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    shutil.copy(RUNNERS / "javascript" / "small_sampler.mjs", tmp_path / "my_sampler.mjs")
    install = f"npm install --silent --offline --save-dev {packages.npm}"
    commands = shown("npm").replace(f"npm install --save-dev {NAME}", install)
    assert install in commands
    passes_and_finds_a_fault(lambda fault: run(["sh", "-ec", commands], tmp_path, **fault))


def test_the_commands_of_the_wheels_readme_run(packages: Packages, tmp_path: Path) -> None:
    shutil.copy(RUNNERS / "python" / "small_sampler.py", tmp_path / "my_sampler.py")
    site, programs = str(tmp_path / "site"), str(Path(sys.executable).parent)
    install = (
        f"python -m pip install -q --upgrade --no-deps --no-index --target {site} {packages.wheel}"
    )
    commands = shown("wheel").replace(f"pip install {NAME} pytest", install)
    assert install in commands
    names = {"PYTHONPATH": site, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    passes_and_finds_a_fault(lambda fault: run(["sh", "-ec", commands], tmp_path, **names, **fault))
