"""What the front page quotes is what the command beside it prints."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line import ROOT, cli


@pytest.mark.nightly
def test_the_fault_of_the_front_page_is_told_in_its_words(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, quoted, _ = re.split(r"\n\n((?:    .*\n)+)", text, maxsplit=1)
    (command,) = re.findall(r"`sampler-parity (run [^`]*mutant[^`]*)`", before)
    done = cli(*shlex.split(command), "-o", tmp_path / "bundle")
    assert done.returncode == 1
    assert " ".join(quoted.split()) in " ".join(done.stdout.split())
