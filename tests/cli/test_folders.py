"""Folders that no option names."""

import time
from pathlib import Path

import pytest

from sampler_parity.harness.cli.folders import dated


def test_runs_of_the_same_second_have_a_folder_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda _: "20260131-235959")
    folders = []
    for _ in range(3):
        folders.append(dated("server"))
        folders[-1].mkdir(parents=True)
    assert [folder.as_posix() for folder in folders] == [
        "bundles/server-20260131-235959",
        "bundles/server-20260131-235959-2",
        "bundles/server-20260131-235959-3",
    ]
    assert dated().as_posix() == "bundles/20260131-235959"
