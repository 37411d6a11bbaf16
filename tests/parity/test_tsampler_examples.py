"""The examples of tsampler run on the golden model and do what they say."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def said(name: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=EXAMPLES.parent,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_steering_leaves_no_decimals() -> None:
    last = said("tsampler_logit_steering.py")[-1]
    free, steered = (int(part.split("/")[0].split()[-1]) for part in last.split(","))
    assert steered == 0
    assert free > 0, "nothing was there to be vetoed"


@pytest.mark.slow
def test_entropy_chooses_the_parameters() -> None:
    rows = [line.split()[:2] for line in said("tsampler_entropy.py")[1:25]]
    assert len(rows) == 24
    for entropy, top_k in rows:
        assert int(top_k) == (256 if float(entropy) < 2 else 20 if float(entropy) > 5 else 40)
    assert len({top_k for _, top_k in rows}) > 1
