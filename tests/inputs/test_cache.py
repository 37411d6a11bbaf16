"""The cache of computed values: what it returns, and what it never returns."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sampler_parity.harness.bundle import machine
from sampler_parity.harness.inputs import cache
from sampler_parity.harness.inputs.cache import Cache
from tests.support.command_line import ROOT


def test_a_value_is_found_by_its_key_in_its_table_alone(tmp_path: Path) -> None:
    kept = Cache(tmp_path / "a.sqlite")
    assert kept.get("answers", b"k") is None
    kept.put("answers", {b"k": b"one", b"l": b"two"})
    kept.put("answers", {b"k": b"three"})
    assert [kept.get("answers", key) for key in (b"k", b"l", b"m")] == [b"three", b"two", None]
    assert kept.get("suites", b"k") is None


@pytest.mark.parametrize("content", [b"", b"no database" * 100, b"SQLite format 3\0" + b"x" * 90])
def test_a_damaged_file_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    kept = Cache(tmp_path / "a.sqlite")
    kept.path.write_bytes(content)
    assert kept.get("answers", b"k") is None
    kept.put("answers", {b"k": b"v"})  # raises nothing
    assert kept.get("answers", b"k") in (None, b"v")


def test_a_forked_process_reads_and_writes_it(tmp_path: Path) -> None:
    kept = Cache(tmp_path / "a.sqlite")
    kept.put("answers", {b"k": b"of the parent"})
    child = os.fork()
    if child == 0:
        found = kept.get("answers", b"k")
        kept.put("answers", {b"l": b"of the child"})
        os._exit(found != b"of the parent")
    assert os.waitpid(child, 0)[1] == 0
    assert kept.get("answers", b"l") == b"of the child"


def test_a_change_of_any_file_that_decides_a_value_names_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "package"
    changed = ["reference/top_p.py", "harness/judge.py", "suites/a.toml", "engines/e/engine.toml",
               "golden/manifest.toml"]  # fmt: skip
    for name in changed:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("a = 1\n", encoding="utf-8")
    monkeypatch.setattr(machine, "_ROOT", root)
    paths = {cache.of_this_code().path}
    assert paths == {cache.of_this_code().path}
    for name in changed:
        (root / name).write_text("a = 2\n", encoding="utf-8")
        paths.add(cache.of_this_code().path)
    monkeypatch.setattr(machine, "version_of", lambda package: "another")
    paths.add(cache.of_this_code().path)
    assert len(paths) == 2 + len(changed)


def test_the_files_of_the_last_states_of_the_code_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = cache.of_this_code()
    own.put("answers", {b"k": b"v"})
    for i in range(10):
        other = own.path.parent / f"{i}.sqlite"
        other.touch()
        os.utime(other, (1000 + i, 1000 + i))
    os.utime(own.path, (500, 500))
    assert cache.of_this_code() == own
    kept = {path.name for path in own.path.parent.iterdir()}
    assert kept == {own.path.name, *(f"{i}.sqlite" for i in range(3, 10))}
    assert own.get("answers", b"k") == b"v"


@pytest.mark.slow
def test_a_read_only_installation_of_a_user_without_a_home_runs(tmp_path: Path) -> None:
    """A file in the place of `__pycache__` keeps Numba from writing there, even as root."""
    package, temporary = tmp_path / "sampler_parity", tmp_path / "temporary"
    shutil.copytree(
        ROOT / "reference", package / "reference", ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "reference" / "__pycache__").touch()
    for name in ("__init__.py", "harness", "engines", "suites", "golden", "programs"):
        (package / name).symlink_to(ROOT / "sampler_parity" / name)
    temporary.mkdir()
    env = os.environ | {"HOME": "/dev/null", "TMPDIR": str(temporary), "PYTHONPATH": str(tmp_path)}
    env.pop("XDG_CACHE_HOME", None)
    sort = (
        "import numpy as np; from sampler_parity.reference import sorting;"
        "print(sorting.__file__, sorting.std_sort(np.float32([1, 3, 2])))"
    )
    run = "-m sampler_parity.harness.cli run --case greedy/all-masked -b reference -j 1 -o b"
    for arguments in (["-c", sort], run.split()):  # the first asks for no folder of ours
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith((str(package), "bundle   b"))
    assert not [*temporary.iterdir()]


def test_without_any_folder_to_write_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nothing")
    kept = cache.of_this_code()
    kept.put("answers", {b"k": b"v"})
    assert kept.get("answers", b"k") is None
