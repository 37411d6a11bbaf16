"""The compiled trie's cache: its contents, and its lock under the thread sanitizer."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from sampler_parity.harness.llama_cpp.compiled import SOURCES
from sampler_parity.reference.trie import TrieCache
from studies.trie_threads import driver, nanoseconds
from tests.support.tries import payload

pytestmark = pytest.mark.nightly  # each compiles for seconds

GUARD = "        std::lock_guard<std::mutex> guard(mutex);\n"


def test_it_holds_the_payloads_that_the_references_cache_holds(tmp_path: Path) -> None:
    """In their order, through 3,000 random uses of 200 payloads, some 250 of them at a time."""
    rng = random.Random(1)
    reference: TrieCache[int] = TrieCache(lambda made: made.largest_token)
    used: list[int] = []
    requests, expected = [], []
    for _ in range(3000):
        if used and rng.random() < len(used) / 500:
            k = used.pop(rng.randrange(len(used)))
            reference.release(reference.key(payload([k])))
            requests.append(f"r {k}")
        else:
            k = rng.randrange(200)
            used.append(k)
            reference.acquire(payload([k]))
            requests.append(f"a {k}")
        expected.append([entry.value for entry in reference.entries.values()])
    assert max(map(len, expected)) > 128  # where more were in use
    done = subprocess.run(
        [driver(tmp_path), "script"],
        input="\n".join(requests), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [[*map(int, line.split())] for line in done.stdout.splitlines()] == expected


def sanitized(folder: Path, sources: Path) -> subprocess.CompletedProcess[str]:
    """Eight threads that take, clone and give back 200 payloads of one cache."""
    program = driver(folder, "-O1", "-g", "-fsanitize=thread", sources=sources)
    return subprocess.run(
        [program, "race", "8", "250"],
        capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
    )  # fmt: skip


def test_the_thread_sanitizer_sees_no_race(tmp_path: Path) -> None:
    done = sanitized(tmp_path, SOURCES)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("which", [0, 1, 2], ids=["taken", "cloned", "given-back"])
def test_the_thread_sanitizer_sees_every_lock_that_is_left_out(tmp_path: Path, which: int) -> None:
    sources = Path(shutil.copytree(SOURCES, tmp_path / "native"))
    parts = (SOURCES / "cache.h").read_text().split(GUARD)
    assert len(parts) == 4
    guards = [GUARD if i != which else "" for i in range(3)] + [""]
    (sources / "cache.h").write_text("".join(map("".join, zip(parts, guards, strict=True))))
    done = sanitized(tmp_path, sources)
    assert done.returncode != 0
    assert "WARNING: ThreadSanitizer: data race" in done.stderr


def test_both_ways_of_the_study_are_measured(tmp_path: Path) -> None:
    program = driver(tmp_path)
    for way in ("shared", "own"):
        assert nanoseconds(program, "span", 2, way) > nanoseconds(program, "cache", 2, way) > 0
