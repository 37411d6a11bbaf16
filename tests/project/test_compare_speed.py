"""The comparison of two checkouts: a slower one is named, and a command that fails ends it."""

import sys
from pathlib import Path

import pytest

from scripts import compare_speed

# `env python3` may be a shim of Bash, which takes longer than the program.
BURN = (
    f"#!{sys.executable} -SE"
    """
import sys, time
from pathlib import Path
if "-o" in sys.argv:
    Path(sys.argv[sys.argv.index("-o") + 1]).mkdir()
while time.process_time() < {seconds}:
    pass
sys.exit({status})
"""
)


def checkout(folder: Path, seconds: float, status: int = 0) -> Path:
    program = folder / ".venv" / "bin" / "sampler-parity"
    program.parent.mkdir(parents=True)
    program.write_text(BURN.format(seconds=seconds, status=status), encoding="utf-8")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(("seconds", "verdict"), [(0.15, "slower"), (0.02, "faster")])
def test_another_time_is_named(
    seconds: float,
    verdict: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The times are given, because a busy machine may have none that differ."""
    times = {tmp_path / "base": 0.06, tmp_path / "here": seconds}

    def given(tree: Path, command: str, folder: Path, new: str) -> float:
        return times[tree] * (1.01 if new.endswith("1") else 1)

    monkeypatch.setattr(compare_speed, "HERE", tmp_path / "here")
    monkeypatch.setattr(compare_speed, "seconds_of", given)
    argv = ["compare_speed", str(tmp_path / "base"), "report", "--rounds", "6"]
    monkeypatch.setattr("sys.argv", argv)
    assert compare_speed.main() == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("report ")
    assert verdict in line


def test_processor_time_of_a_command_is_measured(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", 0.06)
    assert compare_speed.seconds_of(tree, "report", tmp_path / "folder", "new") >= 0.05


def test_a_command_that_fails_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base = checkout(tmp_path / "base", 0, status=1)
    monkeypatch.setattr(compare_speed, "HERE", checkout(tmp_path / "here", 0))
    monkeypatch.setattr("sys.argv", ["compare_speed", str(base), "start"])
    with pytest.raises(SystemExit, match="2"):
        compare_speed.main()
    assert f"{base}: run parity/chains" in capsys.readouterr().err
