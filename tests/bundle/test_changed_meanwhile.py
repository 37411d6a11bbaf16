"""A backend runs with our rights and may change the files of the bundle during the run."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sampler_parity.harness.bundle import bundle
from sampler_parity.harness.bundle.artifacts import write_arrays
from sampler_parity.harness.bundle.info import Footer
from sampler_parity.harness.bundle.writer import BundleWriter, create, resume
from sampler_parity.harness.errors import InputError
from tests.support.report_bundles import case, diverged, run_info

END = Footer(cases=1, steps=1, wall_s=1.0, records={"case": 1})
ALL = pytest.mark.skipif(sys.platform == "win32", reason="no pipes in its folders")


def begun(folder: Path) -> BundleWriter:
    writer = create(folder, run_info("mine"))
    writer.append(case("demo/a", {"mine": diverged()}))
    return writer


def elsewhere(path: Path) -> Path:
    """Move the file elsewhere and leave a link to it."""
    away = path.parent.parent / f"away-{path.name}"
    path.rename(away)
    path.symlink_to(away)
    return away


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@ALL
@pytest.mark.parametrize("put", [elsewhere, pipe], ids=["a link", "a pipe"])
def test_records_go_into_no_link_and_wait_for_no_pipe(
    tmp_path: Path, put: Callable[[Path], object]
) -> None:
    writer = begun(tmp_path / "b")
    put(tmp_path / "b/results.jsonl")
    with pytest.raises(InputError, match=r"results.jsonl: cannot write: .* - correct that"):
        writer.append(case("demo/b", {"mine": diverged()}))


@ALL
def test_arrays_go_into_no_link(tmp_path: Path) -> None:
    begun(tmp_path / "b")
    away = elsewhere(tmp_path / "b/artifacts")
    with pytest.raises(
        InputError, match=r"a.npz: cannot write: a link lies in place of its folder"
    ):
        write_arrays(tmp_path / "b/artifacts/a.npz", ids=np.arange(3))
    assert list(away.iterdir()) == []


@ALL
def test_arrays_wait_for_no_pipe_and_no_link_is_followed(tmp_path: Path) -> None:
    begun(tmp_path / "b")
    pipe(tmp_path / "b/artifacts/a.npz.part")
    (tmp_path / "b/artifacts/b.npz.part").symlink_to(tmp_path / "away")
    for name in ("a.npz", "b.npz"):
        write_arrays(tmp_path / "b/artifacts" / name, ids=np.arange(3))
        assert (tmp_path / "b/artifacts" / name).is_file()
    assert not (tmp_path / "away").exists()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("results.jsonl", b'"diverged"', b'"identical"'), ("run.json", b"{\n", b"{ \n")],
)
def test_a_file_that_was_changed_is_reported_and_never_read_again(
    tmp_path: Path, name: str, old: bytes, new: bytes
) -> None:
    writer = begun(tmp_path / "b")
    path = tmp_path / "b" / name
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(InputError, match=rf"{name}: another program, perhaps a backend,"):
        writer.close(END)
    for read in (bundle.read_finished, lambda folder: resume(folder, run_info("mine"))):
        with pytest.raises(InputError, match=r"has changed since the run"):
            read(tmp_path / "b")


def test_what_nobody_changed_is_closed_and_gone_on_with(tmp_path: Path) -> None:
    begun(tmp_path / "b").close(END)
    shutil.copytree(tmp_path / "b", tmp_path / "copy")
    resume(tmp_path / "copy", run_info("mine")).close(END)
    for name in ("run.json", "results.jsonl"):
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
