"""Expansions that earlier runs made: what is read, what never is, and the spot check."""

import inspect
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache import Cache, _connected, of_this_code
from sampler_parity.harness.run.plan import RunOptions, plan_of
from sampler_parity.harness.suite import expansion_cache as kept
from sampler_parity.harness.suite import file as suite
from sampler_parity.harness.suite.expansion_cache import Expansions, packed, unpacked
from sampler_parity.harness.suite.ids import shipped
from tests.support.command_line import cli, refused

SUITE = """
name = "one"
sampler = "top_k"

[[random_chains]]
id = "some"
description = "random"
why = "Random."
count = 3
quick = 2
seed = 5
families = ["normal"]
sizes = [5]
"""


@pytest.fixture(autouse=True)
def _each_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check each run's expansions, though conftest.py checks those of a suite once."""
    monkeypatch.setattr(Expansions, "spot_check", inspect.unwrap(Expansions.spot_check))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """An empty cache in a folder of its own; every file counts as a suite of the package."""
    (tmp_path / "private").mkdir(mode=0o700)
    monkeypatch.setattr(kept, "is_shipped", lambda path: True)
    return Cache(tmp_path / "private" / "a.sqlite")


def made(cache: Cache, path: Path, profile: Profile = "quick", seed: int = 0) -> tuple[bool, str]:
    """Expand a suite. Return whether the expansion was read, and its text."""
    expansions = Expansions(cache)
    checks = [*suite.checks_of(suite.read_unparsed(path), profile, seed, (), expansions)]
    return bool(expansions._read), repr(checks)


def written(tmp_path: Path, text: str = SUITE) -> Path:
    path = tmp_path / "one.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_second_run_reads_what_the_first_made(tmp_path: Path, cache: Cache) -> None:
    first, second = (made(cache, written(tmp_path)) for _ in range(2))
    assert first == (False, repr(suite.expand(written(tmp_path), "quick")))
    assert second == (True, first[1])


@pytest.mark.parametrize(
    ("old", "new"), [("seed = 5", "seed = 6"), ("quick = 2", "quick = 3"), ('"some"', '"other"')]
)
def test_a_changed_suite_is_expanded(tmp_path: Path, cache: Cache, old: str, new: str) -> None:
    before = made(cache, written(tmp_path))
    changed = written(tmp_path, SUITE.replace(old, new))
    assert made(cache, changed) == (False, repr(suite.expand(changed, "quick")))
    assert made(cache, changed)[1] != before[1]


def test_another_profile_or_seed_is_expanded(tmp_path: Path, cache: Cache) -> None:
    path = written(tmp_path)
    texts = [made(cache, path), made(cache, path, seed=1), made(cache, path, "full")]
    assert [was_read for was_read, _ in texts] == [False, False, False]
    assert len({text for _, text in texts}) == 3


@pytest.mark.parametrize("changed", ["extra", "library", "fixture"])
def test_other_surroundings_are_not_those_of_the_value(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    (tmp_path / "golden" / "model").mkdir(parents=True)
    (tmp_path / "golden" / "model" / "small.gguf").write_bytes(b"1")
    monkeypatch.setattr(kept, "files", lambda package: tmp_path / "golden")
    made(cache, written(tmp_path))
    assert made(cache, written(tmp_path))[0]
    if changed == "extra":
        monkeypatch.setattr(kept, "lacks", lambda extra: True)
    elif changed == "library":
        monkeypatch.setattr(kept, "version_of", lambda package: "another")
    else:
        (tmp_path / "golden" / "model" / "small.gguf").write_bytes(b"12")
    assert not made(cache, written(tmp_path))[0]


def test_a_suite_of_a_user_is_always_expanded(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir(mode=0o700)
    own = Cache(tmp_path / "private" / "a.sqlite")
    assert [made(own, written(tmp_path))[0] for _ in range(2)] == [False, False]
    assert not own.path.exists()


@pytest.mark.parametrize("damage", [b"", b"short", b"0" * 400])
def test_a_damaged_value_counts_as_absent(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch, damage: bytes
) -> None:
    right = made(cache, written(tmp_path))[1]
    monkeypatch.setattr(Cache, "get", lambda *_: damage)
    assert made(cache, written(tmp_path)) == (False, right)
    assert unpacked(packed([1])[:-1]) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes mean nothing")
@pytest.mark.parametrize(
    ("folder", "file"), [(0o755, 0o644), (0o770, 0o644), (0o777, 0o644), (0o700, 0o666)]
)
def test_a_file_that_another_user_could_write_is_not_read(
    tmp_path: Path, cache: Cache, folder: int, file: int
) -> None:
    made(cache, written(tmp_path))
    cache.path.chmod(file)
    cache.path.parent.chmod(folder)
    before = cache.path.read_bytes()
    _connected.cache_clear()
    assert not made(cache, written(tmp_path))[0]
    assert cache.path.read_bytes() == before
    cache.path.chmod(0o644)
    cache.path.parent.chmod(0o700)
    assert made(cache, written(tmp_path))[0]


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes mean nothing")
def test_a_folder_that_is_a_link_or_anothers_is_not_read(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(cache, written(tmp_path))
    (tmp_path / "link").symlink_to(cache.path.parent)
    assert not made(Cache(tmp_path / "link" / "a.sqlite"), written(tmp_path))[0]
    _connected.cache_clear()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not made(cache, written(tmp_path))[0]


def test_the_spot_check_names_the_file_with_another_value(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(cache, written(tmp_path))
    right = Expansions(cache)
    assert [*suite.checks_of(suite.read_unparsed(written(tmp_path)), "quick", 0, (), right)]
    right.spot_check("")
    get = Cache.get

    def planted(*asked: Any) -> bytes | None:
        checks, seconds = unpacked(get(*asked))
        return packed((checks[1:], seconds)) if checks else packed((["more"], seconds))

    monkeypatch.setattr(Cache, "get", planted)
    wrong = Expansions(cache)
    assert [*suite.checks_of(suite.read_unparsed(written(tmp_path)), "quick", 0, (), wrong)]
    with pytest.raises(InputError, match=r"a\.sqlite: its cases of suite .*/one .*delete the file"):
        wrong.spot_check("")


@pytest.mark.slow
def test_a_run_with_a_planted_value_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = ["run", "parity/unseeded", "-b", "reference", "-j", "1", "-q"]
    for name in "12":
        assert cli(*command, "-o", tmp_path / name).returncode == 0
    with sqlite3.connect(of_this_code().path) as database:
        for key, value in database.execute("SELECT key, value FROM suites").fetchall():
            checks, *seconds = unpacked(value)
            if isinstance(checks, list):  # and not the lines of engines
                wrong = packed((checks[:-1], *seconds))
                database.execute("UPDATE suites SET value = ? WHERE key = ?", (wrong, key))
    done = cli(*command, "-o", tmp_path / "3")
    assert f"{of_this_code().path}: its cases of suite parity/unseeded differ" in refused(done)
    assert cli(*command, "-o", tmp_path / "4", "--no-cache").returncode == 0


def test_a_plan_without_the_cache_reads_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert plan_of(RunOptions(["parity/greedy"], ["null"])).expansions is None
    assert not (tmp_path / "cache" / "sampler-parity" / "computed").exists()


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["quick", pytest.param("full", marks=pytest.mark.nightly)])
def test_the_expansion_of_each_suite_is_read_as_it_was_made(
    tmp_path: Path, profile: Profile
) -> None:
    assert [*other(tmp_path, profile)] == []


def other(folder: Path, profile: Profile) -> Iterator[str]:
    """Yield suites whose expansion is read other than it was made."""
    cache = Cache(folder / "a.sqlite")
    for name, path in shipped().items():
        file = suite.read_suite(path)
        Expansions(cache)
        fresh = [*suite.checks_of(file, profile, 0, (), Expansions(cache))]
        again = Expansions(cache)
        read = [*suite.checks_of(file, profile, 0, (), again)]
        kinds = [type(check) for check in fresh] == [type(check) for check in read]
        if len(again._read) != 2 or not kinds or repr(read) != repr(fresh):
            yield name


@pytest.mark.slow
def test_a_second_list_loads_no_numpy_and_no_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    code = (
        "import sys; from sampler_parity.harness.cli.app import main\n"
        "sys.argv[1:] = ['list', 'cases', 'parity/top_p']\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code]
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert done[0].stdout == done[1].stdout
    loaded = set(done[1].stderr.split())
    unwanted = {"numpy", "scipy", "numba", "rich", "sampler_parity.harness.suite.model"}
    assert unwanted < set(done[0].stderr.split()) | {"scipy", "numba", "rich"}
    assert unwanted.isdisjoint(loaded)
