"""Files that are made once lie in the user's cache folder of the system."""

import sys
from pathlib import Path

import pytest

from sampler_parity.harness.inputs.cache_folder import cache_folder


# As platformdirs' `user_cache_path` but that it adds a folder "Cache" on Windows.
@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", ".cache/sampler-parity"),
        ("darwin", "Library/Caches/sampler-parity"),
        ("win32", "AppData/Local/sampler-parity"),
    ],
)
def test_the_cache_is_where_the_system_has_it(
    platform: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == tmp_path / folder
    assert cache_folder().is_dir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert cache_folder() == tmp_path / "other" / "sampler-parity"


def test_windows_may_have_moved_the_folders_of_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "D"))
    assert cache_folder() == tmp_path / "D" / "sampler-parity"
