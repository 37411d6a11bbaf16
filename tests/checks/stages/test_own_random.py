"""Backends with random numbers of their own: their draws are followed, all else is compared."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.bundle.bundle import read
from sampler_parity.harness.checks.distribution.record import DistributionResult
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.correct import accepting
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.harness.run.adapter_check import check_adapter
from sampler_parity.harness.suite.file import expand, find_suites
from tests.support.command_line import cli
from tests.support.inside import EndAlone

ADAPTER = Path(__file__).parents[2] / "support/own_random_adapter.py"
SUITES = ("dist", "xtc", "mirostat", "mirostat_v2", "adaptive_p", "draws")


COMMAND = [sys.executable, str(ADAPTER)]


def backend(*arguments: str) -> BackendProcess:
    return BackendProcess("mine", [*COMMAND, *arguments], 60.0)


class EndOfProcess(EndAlone, BackendProcess):
    pass


def cases(suite: str) -> list[Any]:
    return list(expand(find_suites([suite])[0], "quick"))


def stream(name: str) -> Any:
    streams = expand(find_suites(["parity/draws"])[0], "full")
    return next(case for case in streams if case.id == f"draws/streams/{name}")


def verdicts(process: BackendProcess, suite: str) -> set[str]:
    results = (execute(case, [process]).backends["mine"] for case in cases(suite))
    return {result.verdict for result in results}


@pytest.fixture(scope="module")
def right() -> Iterator[BackendProcess]:
    with closing(backend()) as process:
        yield process


@pytest.mark.parametrize("accept", ["identical", "correct"])
@pytest.mark.parametrize("suite", [*(f"parity/{name}" for name in SUITES), "batch/rows"])
def test_a_right_backend_is_identical(right: BackendProcess, suite: str, accept: Any) -> None:
    with accepting(accept):
        assert verdicts(right, suite) == {"identical"}


def test_a_right_backend_that_shows_only_the_end_of_a_chain_is_identical() -> None:
    with closing(EndOfProcess("mine", COMMAND, 60.0)) as process:
        assert verdicts(process, "parity/xtc") == {"identical"}


def test_another_arithmetic_behind_an_xtc_that_nobody_sees_is_skipped() -> None:
    wrong = EndOfProcess("mine", [*COMMAND, "wrong-p"], 60.0)
    with closing(wrong) as process, accepting("correct"):
        assert verdicts(process, "parity/xtc") == {"identical", "skipped"}


@pytest.mark.slow
def test_the_check_of_the_protocol_passes_a_right_backend() -> None:
    assert [check for check in check_adapter(COMMAND) if check.passed is False] == []


ONE = """
name = "one draw"
[[case]]
id = "draw"
description = "A token is drawn"
why = "The run must also test how often each token is drawn."
chain = [{ dist = { seed = 1 } }]
logits = { values = [1.0, 2.0, 3.0] }
"""


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "different"), [("", 0), ("half", 8)], ids=["right", "half"])
def test_a_run_tests_the_distribution_of_the_draws_too(
    tmp_path: Path, fault: str, different: int
) -> None:
    suite, folder = tmp_path / "one.toml", tmp_path / "bundle"
    suite.write_text(ONE)
    command = f"{sys.executable} {ADAPTER} {fault}"
    result = cli("run", suite, "-b", f"mine={command}", "-o", folder)
    assert result.returncode == (1 if different else 0), result.stderr
    assert "distribution/frequencies is added: mine draws with its own" in result.stdout
    cells = read(folder).of(DistributionResult)
    decisions = Counter(cell.backends["mine"].decision for cell in cells)
    assert (len(cells), decisions["different"]) == (9, different)
    assert cli("gate", folder, "--suite", suite).returncode == result.returncode


@pytest.mark.parametrize(
    ("chain", "verdict"),
    [
        ([{"dist": {"seed": 1}}, {"top_k": {"k": 2}}], "undefined"),
        ([{"top_k": {"k": 2}}, {"dist": {"seed": 1}}], "rejected"),
    ],
    ids=["behind", "before"],
)
def test_a_backend_may_refuse_a_filter_behind_its_own_draw(
    chain: list[dict[str, Any]], verdict: str
) -> None:
    row = {"values": [8.0, 8.0, 0.0]}
    drawn = StagesCase.model_validate(
        {"id": "a", "description": "Two of 3", "why": "top_k", "chain": chain, "logits": row}
    )
    with closing(backend("refuses")) as process, accepting("correct"):
        assert execute(drawn, [process]).backends["mine"].verdict == verdict


@pytest.mark.parametrize("accept", ["identical", "correct"])
@pytest.mark.parametrize("fault", ["impossible", "wrong-p", "late-filter"])
def test_a_wrong_stage_before_the_draw_diverges(fault: str, accept: Any) -> None:
    with closing(backend(fault)) as process, accepting(accept):
        assert "diverged" in verdicts(process, "parity/dist")


@pytest.mark.parametrize(
    ("fault", "detail"),
    [("", ""), ("squared", "1,000 draws have another distribution: by chance ")],
    ids=["right", "squared"],
)
def test_draws_behind_another_order_of_equal_tokens_are_judged_by_their_steps(
    fault: str, detail: str
) -> None:
    drawn = stream("ties-V100-mirostat-seed42")
    with closing(backend(fault, "reversed")) as process, accepting("correct"):
        result = execute(drawn, [process]).backends["mine"]
    assert result.verdict == ("diverged" if fault else "correct")
    assert result.detail.startswith(detail)


def test_numpys_generator_with_the_seed_0_is_as_good_as_another() -> None:
    drawn = stream("zipf-V16-dist-seed0")
    with closing(backend("seed-0")) as process:
        assert execute(drawn, [process]).backends["mine"].verdict == "identical"


@pytest.mark.parametrize("fault", ["squared", "half", "constant"])
def test_many_draws_with_another_law_diverge(fault: str) -> None:
    with closing(backend(fault)) as process:
        assert "diverged" in verdicts(process, "parity/draws")
