"""README.md is true: its message, its picture, and every command on a clean clone."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from scripts.readme_picture import FILE, picture, survivors
from tests.support.command_line import ROOT, cli
from tests.support.doc_commands import blocks, commands_in

README = ROOT / "README.md"
FAILS = "# exit status 1"


@pytest.mark.nightly
def test_the_message_of_the_readme_is_what_its_command_prints(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    (command,) = re.findall(r"`sampler-parity (run [^`]*mutant[^`]*)`", text)
    _, _, after = text.partition(command)
    (quoted,) = re.findall(r"\n\n((?:    .*\n)+)", after)[:1]
    done = cli(*shlex.split(command), "-o", tmp_path / "bundle")
    assert done.returncode == 1
    assert " ".join(quoted.split()) in " ".join(done.stdout.split())


def test_the_picture_of_the_readme_is_what_its_command_draws() -> None:
    assert FILE.read_text(encoding="utf-8") == picture()
    assert FILE.relative_to(ROOT).as_posix() in README.read_text(encoding="utf-8")


def test_the_picture_counts_what_the_reference_keeps() -> None:
    row = [5.0, 4.0, 3.0, 2.0, 1.0, 0.0, *[-1.0] * 30]
    assert survivors(row) == {0, 1}
    assert len(survivors([*row[:-1], float("-inf")])) == 28
    assert "2 tokens stay" in picture()
    assert "28 stay, the banned token among them" in picture()


@pytest.mark.nightly
def test_every_block_of_the_readme_runs_in_order_on_a_clean_clone(tmp_path: Path) -> None:
    """Run them as they stand, in one shell, with an empty cache; both makes take minutes."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    here = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "VIRTUAL_ENV"))}
    path = os.pathsep.join(p for p in here["PATH"].split(os.pathsep) if not p.startswith(str(ROOT)))
    script = ["set -e"]
    for block in blocks(README.read_text(encoding="utf-8")):
        if list(commands_in(block)):
            script += [expecting(line) for line in block]
    assert len(script) > 6
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=clone,
        env={**here, "PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-1000:]}"
    assert "as required" in done.stdout


def expecting(line: str) -> str:
    """Return a line of shell that ends the script unless its command has the stated status."""
    if FAILS not in line:
        return line
    return f"{line.partition('#')[0]} && exit 9 || test $? = 1"
