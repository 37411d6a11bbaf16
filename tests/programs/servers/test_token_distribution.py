from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sampler_parity.programs.servers.dialects import DIALECTS, Dialect
from sampler_parity.programs.servers.oracle.model import ROUNDING, observe_with
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.token_distribution import (
    SETTINGS,
    chain_of,
    distribution_of,
    setting_tests,
    uniforms_of,
)
from tests.support.fake_server import Answering, Sent, answered, fake_client
from tests.support.table_model import KNOWN

OURS = DIALECTS["llama-server"]


def result(
    answering: Answering, setting: str, texts: int = 3, dialect: Dialect = OURS
) -> ServerResult:
    with fake_client(answering, dialect) as client:
        test = {setting: setting_tests(texts)[setting]}
        (done,) = observe_with(KNOWN, "law", test, client)
    return done


def changes(change: Callable[[Sent], Sent]) -> Answering:
    return lambda sent: answered({**sent, **change(sent)})


@pytest.mark.nightly
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_token_of_a_faithful_server_is_within_the_distribution(setting: str) -> None:
    done = result(answered, setting)
    assert done.verdict == "honoured", done.evidence
    assert done.figures["tokens"] == 240


def test_a_faithful_server_is_within_the_distribution() -> None:
    done = result(answered, "top_p 0.8, temperature 1.6", texts=1)
    assert done.met
    assert done.evidence.startswith("80 tokens, fifths ")


FAULTS: dict[str, tuple[str, Callable[[Sent], Sent]]] = {
    "ignores the temperature": ("temperature 0.5", lambda _: {"temperature": 1.0}),
    "takes top_p twice": ("top_p 0.7", lambda _: {"top_p": 0.49}),
    "keeps one more": ("top_k 4", lambda _: {"top_k": 5}),
    "takes the temperature twice": ("temperature 1.6", lambda _: {"temperature": 2.56}),
    "takes the temperature first": (
        "top_p 0.8, temperature 1.6",
        lambda _: {"samplers": ["temperature", "top_k", "top_p", "min_p"]},
    ),
    "has a min_p of its own": ("as the model says", lambda _: {"min_p": 0.1}),
}


AT_NIGHT = [pytest.param(name, marks=pytest.mark.nightly) for name in [*FAULTS][3:]]


@pytest.mark.parametrize("fault", [*[*FAULTS][:3], *AT_NIGHT])
def test_a_server_that_draws_from_another_distribution_is_caught(fault: str) -> None:
    setting, change = FAULTS[fault]
    done = result(changes(change), setting)
    assert done.verdict == "other meaning", done.evidence
    proof = fault in ("keeps one more", "takes the temperature first")
    assert (": excluded" if proof else "p = ") in done.evidence


@pytest.mark.parametrize(("first", "verdict"), [(True, "honoured"), (False, "other meaning")])
def test_where_a_dialect_has_the_temperature_first_the_filters_see_what_it_left(
    first: bool, verdict: str
) -> None:
    of_vllm = replace(OURS, temperature_first=first)
    change = FAULTS["takes the temperature first"][1]
    assert result(changes(change), "top_p 0.8, temperature 1.6", 1, of_vllm).verdict == verdict


def test_a_draw_lies_in_its_distribution_behind_all_that_is_more_likely() -> None:
    """With 1/2, 1/4, 1/4 the first half belongs to the first token."""
    row = np.log(np.array([0.25, 0.5, 0.25], np.float32))
    rng = np.random.default_rng(1)
    first = uniforms_of(np.tile(row, (200, 1)), [1] * 200, chain_of({}), rng).values
    last = uniforms_of(np.tile(row, (200, 1)), [2] * 200, chain_of({}), rng).values
    assert (first.min() < 0.05, 0.45 < first.max() < 0.5) == (True, True)
    assert 0.5 <= last.min() <= last.max() < 1
    assert distribution_of(row, chain_of({"top_k": 1})).tolist() == [0, 1, 0]


@pytest.mark.parametrize(("less", "excluded"), [(ROUNDING, False), (4 * ROUNDING, True)])
def test_a_token_excluded_by_less_than_rounding_is_no_proof(less: float, excluded: bool) -> None:
    row = np.array([[2.0, 1.0, 1.0 - less]], np.float32)
    done = uniforms_of(row, [2], chain_of({"top_k": 2}), np.random.default_rng(1))
    assert bool(done.excluded) == excluded
