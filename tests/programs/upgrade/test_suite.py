"""`run --settings`: the chain of settings as a suite (programs/upgrade/suite.py)."""

import json
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.suite.file import expand
from sampler_parity.programs.upgrade.cases import generated
from sampler_parity.programs.upgrade.settings import UserSettings
from tests.support.command_line import cli, refused

REQUEST = {"samplers": ["top_k", "temperature"], "top_k": 5, "temperature": 0.7}
CASE = "request/rows/zipf-V17-own"


@pytest.mark.parametrize(
    "data",
    [
        REQUEST,
        {"dry_multiplier": 0.8, "dry_sequence_breakers": ["\u007f\n", '"é'], "ignore_eos": True},
        [{"top_k": {"k": 5}}, {"greedy": {}}],
    ],
)
def test_the_suite_has_the_cases_of_an_upgrade(tmp_path: Path, data: Any) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(data))
    expected = generated(path, UserSettings(path).chain("reference"))
    cases = expand(path, "full")
    assert {case.id.removeprefix("request/"): (case.chain, case.vocab) for case in cases} == {
        case.id: (case.chain, case.vocab) for case in expected
    }


@pytest.mark.slow
def test_a_run_of_settings_names_the_stage_that_differs(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(REQUEST))
    words = ("run", "--settings", "request.json", "--case", CASE, "-b")
    backends = {"reference": 0, "mutant/top_k/keeps-one-more": 1}
    for name, status in backends.items():
        done = cli(*words, name, "-o", str(status), folder=tmp_path)
        assert done.returncode == status
    assert "stage 1 of 3 (top_k)" in cli("explain", "1", CASE, folder=tmp_path).stdout


def test_settings_that_the_server_refuses_are_no_suite(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"dry_sequence_breakers": "x"}')
    line = refused(cli("run", "--settings", "a.json", "-b", "reference", folder=tmp_path))
    assert "a.json: dry_sequence_breakers: a text: the server answers 400" in line
    assert "b.json: no such file" in refused(cli("run", "--settings", "b.json", folder=tmp_path))
