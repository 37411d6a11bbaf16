"""The subject of a commit is a short imperative, and the hook refuses others."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from scripts.commit_subject import problems

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "commit_subject.py"


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("Add a page per sampler\n\nA newcomer looks for one.\n", ""),
        ("Add a page\n# Please enter the commit message\n", ""),
        ("Merge branch 'a' of b", ""),
        ("Add " + "x" * 69, "73 characters"),
        ("Added a page", "imperative"),
        ("pages: a word", "imperative"),
        ("", "imperative"),
        ("Add a page.", "full stop"),
        ("Add a page\nthat is new", "second line"),
    ],
)
def test_a_subject_is_short_and_imperative(message: str, problem: str) -> None:
    found = problems(message)
    assert len(found) == bool(problem)
    assert problem in "".join(found)


def test_the_hook_refuses_a_message_with_status_1(tmp_path: Path) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    for message, status in (("Add a page\n", 0), ("A page\n", 1)):
        file.write_text(message)
        done = subprocess.run([sys.executable, str(SCRIPT), str(file)], capture_output=True)
        assert done.returncode == status


def test_pre_commit_runs_it_on_every_message() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = {hook["id"]: hook for hook in config["repos"][0]["hooks"]}
    assert hooks["commit-subject"]["stages"] == ["commit-msg"]
    assert hooks["commit-subject"]["entry"].endswith("scripts/commit_subject.py")
    assert "commit-msg" in config["default_install_hook_types"]
