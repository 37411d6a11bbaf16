"""Inputs that Hypothesis draws: right functions pass them, and a wrong one is shrunk."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import find, given, settings

from sampler_parity.functions.strategies import SamplerInput, inputs
from tests.functions.right_functions import RIGHT
from tests.functions.wrong_functions import WRONG


@pytest.mark.parametrize("sampler", ["min_p", "top_k", "penalties"])
def test_a_right_function_passes_every_input(sampler: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(inputs(sampler))
    def passes(drawn: SamplerInput) -> None:
        assert drawn.check(RIGHT[sampler])

    passes()


def test_a_wrong_function_is_shrunk_to_a_small_input() -> None:
    smallest = find(inputs("min_p"), lambda drawn: not drawn.check(WRONG["min_p"]))
    assert len(smallest.logits) <= 3
    report = smallest.check(WRONG["min_p"])
    assert report.headline == "min_p fails on this input"
    assert "replay" not in str(report)


# Hypothesis calls a strategy that compiles the reference too slow.
FIRST_DRAW = """
from hypothesis import find
from numba.core import event
from sampler_parity.functions.strategies import inputs
strategy = inputs("top_p")
with event.install_recorder("numba:compile") as compilations:
    find(strategy, lambda drawn: True)
print(len(compilations.buffer))
"""


@pytest.mark.slow
def test_the_first_draw_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert subprocess.check_output([sys.executable, "-c", FIRST_DRAW], text=True) == "0\n"
