"""Whole runs through the command line: results, resume after a kill, each kind of wrong input."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.records import CounterexampleResult
from sampler_parity.harness.bundle.writer import resume
from sampler_parity.harness.suite.file import expand
from tests.support.command_line import cli, refused
from tests.support.suites import SMALL


@pytest.mark.slow
def test_run_writes_a_bundle_and_counts(tmp_path: Path, suite: Path) -> None:
    counts = tmp_path / "counts.json"
    done = cli("run", suite, "-o", tmp_path / "b", "--json", counts, "-j", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    n = len(expand(suite, "quick"))
    summary = json.loads(counts.read_text())
    assert (summary["cases"], summary["steps"]) == (n, 4 * n)
    assert summary["backends"]["llama.cpp"]["verdicts"] == {"identical": n}
    assert summary["backends"]["llama.cpp"]["samplers"]["top_k"] == {"identical": n}
    assert summary["backends"]["llama.cpp"]["backend_s"] > 0
    info = bundle.read_finished(tmp_path / "b").info
    assert (info.profile, info.command[:2]) == ("quick", ["sampler-parity", "run"])


@pytest.mark.slow
def test_run_of_a_wrong_backend_fails_and_explains(tmp_path: Path, suite: Path) -> None:
    some = ["--case", "small/many/normal-V128-*"]  # each that fails is minimized
    done = cli("run", suite, *some, "-b", "null", "-o", tmp_path / "b", "-j", "1")
    assert done.returncode == 1
    small = bundle.read_finished(tmp_path / "b").of(CounterexampleResult)
    assert len({(record.backend, record.case) for record in small}) == len(small) > 0
    text = cli("explain", tmp_path / "b", small[0].case).stdout
    assert "DIVERGED" in text
    assert "shrunk counterexample on null" in text
    assert f"--case {small[0].case} -b null" in text
    assert done.stdout.startswith(cli("explain", tmp_path / "b").stdout.partition("\n")[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("top_k = {", "top_kk = {", ["many", "top_kk"]), ("[[matrix]]", "[[matrix]", ["line 3"])],
    ids=["parameter", "no TOML"],
)
def test_run_of_a_broken_suite_file_names_file_and_place(
    tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(SMALL.replace(old, new))
    line = refused(cli("run", path, "-o", tmp_path / "b"))
    assert all(word in line for word in [str(path), *words])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-b", "no-such-backend"], "no-such-backend"),
        (["-b", "mutant/none"], "mutant/none"),
        (["-b", "mine=/no/such/program"], "does not run here"),
        (["-b", "llama.cpp@/dev"], "no libllama"),
        (["--case", "x"], "no such case"),
    ],
    ids=["backend", "mutant", "program", "folder", "case"],
)
def test_run_on_what_is_not_there_says_so(
    tmp_path: Path, suite: Path, options: list[str], words: str
) -> None:
    assert words in refused(cli("run", suite, *options, "-o", tmp_path / "b"))
    assert not (tmp_path / "b").exists()


@pytest.mark.slow
def test_report_of_a_truncated_bundle_says_so(tmp_path: Path, suite: Path) -> None:
    cli("run", suite, "-o", tmp_path / "b", "-j", "1")
    path = tmp_path / "b" / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    line = refused(cli("report", tmp_path / "b", "-o", tmp_path / "r"))
    assert "results.jsonl" in line
    assert resume(tmp_path / "b", bundle.read_info(tmp_path / "b")).done


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("a small tmpfs can only be mounted by root")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=False
    )
    if done.returncode:
        pytest.skip("this system does not let a tmpfs be mounted")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
def test_run_on_a_full_disk_stops_and_keeps_what_was_recorded(
    small_disk: Path, suite: Path
) -> None:
    line = refused(cli("run", suite, "-o", small_disk / "b", "-j", "1"))
    assert "No space left on device" in line
    assert "--resume" in line
    assert len(bundle.read(small_disk / "b").cases) > 0
