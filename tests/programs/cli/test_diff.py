"""The command `diff`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.programs.differences.runs import Run
from tests.support.command_line import cli, refused

OTHER_TEMP: dict[str, Any] = {"change": {"temp": {"temp": 0.6}}}
SCREEN = """\
texts    1 in A, 1 in B; 0 pairs are equal
prompt   equal, 3 tokens
settings temp.temp is 0.8 in A and 0.6 in B
facts    equal
same     1 tokens: ... 60
parts    A goes on with " 4", B with " 34"
cause    sampler: temp.temp is 0.8 in A and 0.6 in B
replay   with A's sampler B selects " 4", with B's A " 34"
verdict  larger than rounding: with equal logits the texts part, too
next     sampler-parity why A 2; sampler-parity why B 2
"""


@pytest.mark.parametrize(
    ("other", "options", "status", "lines"),
    [
        ({}, "", 0, "result   the texts are equal\n"),
        (OTHER_TEMP, "--json json", 1, SCREEN),
        (OTHER_TEMP, "--fail-on prompt,sampler", 1, SCREEN),
        (OTHER_TEMP, "--fail-on stream,logits,history", 0, SCREEN),
        (OTHER_TEMP | {"detail": "tokens"}, "--fail-on prompt", 1, "not decided: B has no logits"),
    ],
)
def test_a_difference_is_explained_on_one_screen(
    tmp_path: Path, other: dict[str, Any], options: str, status: int, lines: str
) -> None:
    Run().record(tmp_path / "a")
    Run(**other).record(tmp_path / "b")
    done = cli("diff", "a", "b", *options.split(), folder=tmp_path)
    assert (done.returncode, done.stderr, lines in done.stdout) == (status, "", True)
    if "json" in options:
        data = json.loads((tmp_path / "json").read_text())
        assert (data["is_equal"], [*data["decision"]["causes"]]) == (False, ["sampler"])


def test_two_logs_of_answers_are_compared(tmp_path: Path) -> None:
    top = [{"token": " a", "logprob": -0.5}, {"token": " b", "logprob": -1.0}]
    for name, token in zip("ab", top, strict=True):
        (tmp_path / name).write_text(json.dumps({**token, "top_logprobs": top}))
    done = cli("diff", "a", "b", folder=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "cause    not decided: log-probabilities differ by up to 0 (lists: 1)" in done.stdout
    assert cli("diff", "a", "a", folder=tmp_path).returncode == 0


def test_bad_input_is_refused_in_one_line(tmp_path: Path) -> None:
    Run().record(tmp_path / "a")
    assert "is not a recording: it has no file" in refused(cli("diff", tmp_path / "a", tmp_path))
    assert "not between 0 and 1" in refused(cli("diff", "a", "a", "--rounding=0", folder=tmp_path))
    assert "unknown cause 'x'" in refused(cli("diff", "a", "a", "--fail-on", "x", folder=tmp_path))
    (tmp_path / "log").write_text("")
    assert "is not of the kind of a" in refused(cli("diff", "a", "log", folder=tmp_path))
    assert "works only with" in refused(
        cli("diff", "log", "log", "--rounding", "0.1", folder=tmp_path)
    )
    assert "has no token" in refused(cli("diff", "log", "log", folder=tmp_path))
    assert "use `sampler-parity diff A B`" in refused(cli("compare", "a", "a", folder=tmp_path))
