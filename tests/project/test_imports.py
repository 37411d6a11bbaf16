"""Every import of the core can be resolved by a static tool, as an editor has it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.import_graph import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
TY = Path(sys.executable).with_name("ty")


def unresolved(root: Path, *folders: str) -> list[str]:
    """Return a line for each import of our modules that ty cannot resolve in these folders. An
    import of a package is none, because a clone has them only after `make setup`."""
    options = ["--output-format", "concise", "--ignore", "all", "--error", "import-not-found"]
    ran = subprocess.run(
        [str(TY), "check", *options, *folders], cwd=root, capture_output=True, encoding="utf-8"
    )
    assert ran.returncode in (0, 1), ran.stderr
    return [line for line in ran.stdout.splitlines() if "`sampler_parity" in line]


@pytest.mark.slow
def test_an_editor_resolves_every_import_of_the_core_in_a_clone_without_packages(
    tmp_path: Path,
) -> None:
    for folder in ("sampler_parity", *PACKAGES, "engines", "suites", "golden"):
        ignored = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=ignored)
    assert unresolved(tmp_path, *PACKAGES) == []
    missing = "from sampler_parity.harness.run.missing import x\n"
    (tmp_path / "harness" / "run" / "planted.py").write_text(missing)
    (line,) = unresolved(tmp_path, "harness/run")
    assert line.startswith("harness/run/planted.py:1:")


@pytest.mark.slow
def test_an_editor_resolves_every_import_of_the_core_where_all_is_installed() -> None:
    assert unresolved(ROOT, *PACKAGES) == []


def test_tests_of_a_user_in_a_folder_of_a_clone_need_no_package_of_our_tests(
    tmp_path: Path,
) -> None:
    """The first commands of the README make a folder and an environment inside the clone."""
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    mine, support = tmp_path / "my-sampler", tmp_path / "tests" / "support"
    support.mkdir(parents=True)
    mine.mkdir()
    for folder in (support, support.parent):
        (folder / "__init__.py").touch()
    (support / "fixtures.py").write_text("raise ImportError('hypothesis')\n")
    (mine / "test_mine.py").write_text("def test_mine():\n    pass\n")
    for folder, arguments, works in (
        (mine, [], True),
        (tmp_path, ["my-sampler/test_mine.py::test_mine"], True),
        (tmp_path, [], False),
        (mine, ["../tests"], False),
    ):
        command = [sys.executable, "-m", "pytest", *arguments]
        ran = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")
        assert (ran.returncode == 0) == works, ran.stdout + ran.stderr
        assert ("ImportError" in ran.stdout + ran.stderr) != works
