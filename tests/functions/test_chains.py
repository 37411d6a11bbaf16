"""trace, compare, why and judge_draws: chains of the reference on a row."""

from typing import Any, cast

import numpy as np
import pytest

from sampler_parity import compare, judge_draws, trace, why
from sampler_parity.harness.errors import InputError, Unsupported
from tests.functions.right_functions import softmax

ROW = np.array([2.0, 1.0, 0.5, -1.0], np.float32)
TOP_2: list[dict[str, Any]] = [{"top_k": {"k": 2}}]


def test_a_trace_has_the_candidates_after_each_stage() -> None:
    first, second = trace([*TOP_2, {"temp": {"temp": 0.5}}], ROW)
    assert (first.name, first.candidates.ids.tolist()) == ("top_k", [0, 1])
    assert (second.name, second.candidates.logits.tolist()) == ("temp", [4.0, 2.0])
    penalty: list[dict[str, Any]] = [{"penalties": {"penalty_last_n": 2, "penalty_present": 1.0}}]
    (stage,) = trace(penalty, ROW, tokens=[3])
    assert stage.candidates.logits.tolist() == [2.0, 1.0, 0.5, -2.0]


def test_chains_with_the_same_draw_are_equal_and_others_are_not() -> None:
    assert compare(TOP_2, [{"top_p": {"p": 0.8}}], ROW).ok
    assert compare([{"greedy": {}}], [{"top_k": {"k": 1}}], ROW).ok
    report = compare(TOP_2, [{"top_k": {"k": 3}}], ROW)
    assert not report.ok
    assert str(report).splitlines() == [
        "the chains differ: total variation 0.14",
        "  the second alone leaves 1: token 2",
        "  token 2: p = 0 and 0.140244",
        "  token 0: p = 0.731059 and 0.628532",
        "  token 1: p = 0.268941 and 0.231224",
        "  token 3: p = 0 and 0",
    ]


def test_why_names_the_stage_that_removes_a_token() -> None:
    report = why([{"temp": {"temp": 0.5}}, *TOP_2], ROW, 2)
    assert str(report).splitlines() == [
        "top_k removes token 2: it had rank 3, and 2 stay",
        "before: logit 0.5, p = 0.135989, rank 3 of 4",
        "after temp: logit 1, p = 0.0419224, rank 3 of 4",
    ]
    assert why(TOP_2, ROW, 1).headline == "token 1 survives the chain"
    for token in (4, "1", 1.5):
        with pytest.raises(InputError, match="the row has 4 tokens"):
            why(TOP_2, ROW, cast(int, token))
    banned = [-np.inf, 1.0]
    assert why(TOP_2, banned, 0).headline == "token 0 has -inf from the start"
    alone = why([{"temp": {"temp": 0.0}}], [1.0, 2.0], 0)
    assert alone.headline == "temp removes token 0: it had rank 2, and 1 stay"


def test_right_draws_fit_and_wrong_ones_do_not() -> None:
    rng = np.random.default_rng(1)
    assert judge_draws(rng.choice(4, 5000, p=softmax(ROW)), ROW).ok
    assert judge_draws(rng.choice(2, 5000, p=softmax(ROW[:2])), ROW, TOP_2).ok
    report = judge_draws(rng.choice(4, 5000, p=softmax(ROW / 1.5)), ROW)
    assert not report.ok
    assert report.findings[0].id == "dist/biased"
    assert any(line.startswith("token 0: drawn 2,") for line in report.findings[0].lines)
    impossible = judge_draws([0, 3], ROW, TOP_2)
    assert impossible.headline == "1 of 2 draws have probability 0, such as token 3"


def test_a_right_sampler_is_seldom_found_wrong() -> None:
    rng = np.random.default_rng(2)
    draws = rng.choice(4, (2000, 100), p=softmax(ROW))
    wrong = sum(not judge_draws(row, ROW, error=0.05).ok for row in draws)
    assert wrong <= 2000 * 0.05


@pytest.mark.parametrize("draws", [[], [0.5], [[0]], [4], [-1]])
def test_draws_that_are_no_tokens_are_refused(draws: Any) -> None:
    with pytest.raises(InputError, match="judge_draws"):
        judge_draws(draws, ROW)


@pytest.mark.parametrize("logits", ["x", None, [[1.0]], [], [1j]])
def test_what_is_no_row_is_refused(logits: Any) -> None:
    with pytest.raises(InputError, match="logits: are no row of numbers"):
        trace([], logits)


def test_what_is_no_chain_and_no_error_is_refused() -> None:
    for chain in (None, "top_k", {"top_k": {"k": 1}}):
        with pytest.raises(InputError, match="chain: is no list of stages"):
            compare(cast(Any, chain), [], ROW)
    for error in (0, 1, -1, float("nan")):
        with pytest.raises(InputError, match="is no probability"):
            judge_draws([0], ROW, error=error)


def test_a_chain_without_a_fixed_distribution_is_refused() -> None:
    with pytest.raises(Unsupported):
        judge_draws([0], ROW, [{"mirostat_v2": {"seed": 0, "tau": 5.0, "eta": 0.1}}])
