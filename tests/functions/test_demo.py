"""The command `demo`."""

import pytest

from sampler_parity.functions.demo import LOGITS, story
from tests.support.command_line import ROOT, cli


@pytest.mark.slow
def test_the_demo_shows_the_token_that_differs_and_why() -> None:
    done = cli("demo")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines == [*story()]
    assert len(lines[3 : 3 + len(LOGITS)]) == len(LOGITS)
    assert [line.split()[-2:] for line in lines[3:9]].count(["stays", "-"]) == 1
    assert "mine loses token 3.\nWhy: the kept mass 0.868" in done.stdout
    assert max(map(len, lines)) <= 100
    shown = "\n".join(f"    {line}".rstrip() for line in lines[2:12])
    assert shown in (ROOT / "README.md").read_text(encoding="utf-8")
