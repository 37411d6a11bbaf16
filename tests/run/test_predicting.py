"""Predictions of many cases: a record of each, and a small case of every kind of difference."""

from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import read_finished
from sampler_parity.harness.bundle.records import PartingResult, PredictionResult
from sampler_parity.harness.run.predicting import partings
from tests.support.cases import stages
from tests.support.command_line import cli
from tests.support.predicted import DRAWN, SORTED

CHAIN: list[Any] = [{"temp": {"temp": 0.5}}, {"top_k": {"k": 3}}, {"dist": {"seed": 1}}]
TIES = stages(CHAIN, [1.0, 2.0, 2.0, 2.0, 1.0, 0.5, 0.25, -3.0], id="a/a")
SUITE = """
name = "one"

[[case]]
id = "ties"
description = "Three of five, which tie"
why = "Another library leaves them otherwise."
chain = [{ top_k = { k = 3 } }]
logits = { rows = [[1.0, 2.0, 2.0, 2.0, 1.0]] }
"""


def test_a_case_that_parts_is_minimized_and_keeps_its_operation() -> None:
    (small,) = partings(TIES, ("top_k", (SORTED,)), ["linux-x64-libc++14", "wasm"])
    assert [*small.platforms] == ["linux-x64-libc++14", "wasm"]  # the same for both
    assert all(each.operations == [SORTED] for each in small.platforms.values())
    assert [name for stage in small.smaller["chain"] for name in stage] == ["top_k"]
    assert len(small.smaller["logits"]["rows"][0]) < 6


def test_of_a_platform_that_parts_otherwise_there_is_no_small_case() -> None:
    assert partings(TIES, ("top_k", (DRAWN,)), ["wasm"]) == []


@pytest.mark.slow
def test_predict_writes_a_bundle_of_which_report_makes_the_page(tmp_path: Path) -> None:
    folder, suite = tmp_path / "predicted", tmp_path / "one.toml"
    suite.write_text(SUITE)
    command = ("predict", suite, "--platform", "wasm", "-o", folder, "-j", "1")
    done = cli(*command)
    bundle = read_finished(folder)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == (
        "one/ties  wasm: other order than on linux-x64-gcc; no token is drawn"
    )
    assert done.stdout.splitlines()[-1] == f"next     sampler-parity report {folder}"
    assert [record.id for record in bundle.of(PredictionResult)] == ["one/ties"]
    assert [record.operations for record in bundle.of(PartingResult)] == [[SORTED]]
    assert bundle.info.suites
    again = cli(*command)
    assert again.returncode == 2
    assert "holds a bundle already" in again.stderr
