"""Relations between the meanings of prompt and output that hold for all numbers."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sampler_parity.harness.engines.samplers import ALL_ROWS, build_chain, separates_prompt
from sampler_parity.reference import Candidates

N = 6
TOKENS = st.lists(st.integers(0, N - 1), max_size=8)
PENALTY = st.floats(-2, 2, width=32)
REPETITION = st.floats(0.5, 2, width=32)
LOGITS = st.lists(
    st.floats(-50, 50, width=32) | st.sampled_from([-np.inf, np.inf, -0.0]), min_size=N, max_size=N
)
few = settings(max_examples=25)  # of small rows, where a wrong meaning shows in most
STAGES = [name for name in ALL_ROWS if separates_prompt([[name]])]


def left_by(
    stage: str,
    parameters: dict[str, Any],
    logits: list[float],
    prompt: list[int],
    output: list[int],
) -> bytes:
    """Return the logits after one stage, to the bit."""
    chain = build_chain([{stage: parameters}], n_vocab=N)
    for token in prompt:
        chain.accept_prompt(token)
    for token in output:
        chain.accept(token)
    cand = Candidates.from_logits(logits)
    chain.apply(cand)
    return cand.logits.tobytes()


def test_the_stages_that_tell_a_prompt_are_those_of_engines_that_do() -> None:
    engines = ("openai", "transformers", "vllm", "sglang", "rwkv", "llama_cpp_python", "lmdeploy")
    of = {next((e for e in engines if name.startswith(e)), name) for name in STAGES}
    assert of == set(engines)


@few
@given(logits=LOGITS, prompt=TOKENS, output=TOKENS, frequency=PENALTY, presence=PENALTY)
def test_vllm_has_frequency_and_presence_from_openai(
    logits: list[float], prompt: list[int], output: list[int], frequency: float, presence: float
) -> None:
    both = {"frequency_penalty": frequency, "presence_penalty": presence}
    vllm = np.frombuffer(left_by("vllm_penalties", both, logits, prompt, output), np.float32)
    openai = np.frombuffer(left_by("openai_penalties", both, logits, prompt, output), np.float32)
    assert np.array_equal(vllm, openai)  # -0.0 is 0.0: vLLM subtracts a product from every token


@few
@given(logits=LOGITS, prompt=TOKENS, repetition=REPETITION, frequency=PENALTY, presence=PENALTY)
def test_without_output_repetition_alone_acts(
    logits: list[float], prompt: list[int], repetition: float, frequency: float, presence: float
) -> None:
    alone = {"repetition_penalty": repetition}
    every = alone | {"frequency_penalty": frequency, "presence_penalty": presence}
    left = [
        np.frombuffer(left_by("vllm_penalties", stage, logits, prompt, []), np.float32)
        for stage in (every, alone)
    ]
    assert np.array_equal(left[0], left[1])


@few
@given(logits=LOGITS, prompt=TOKENS, output=TOKENS, presence=PENALTY, repetition=REPETITION)
def test_presence_and_repetition_count_no_occurrences(
    logits: list[float], prompt: list[int], output: list[int], presence: float, repetition: float
) -> None:
    once = list(dict.fromkeys(output))
    for stage, parameters in (
        ("openai_penalties", {"presence_penalty": presence}),
        ("vllm_penalties", {"presence_penalty": presence, "repetition_penalty": repetition}),
        ("transformers_repetition_penalty", {"penalty": repetition}),
    ):
        several = left_by(stage, parameters, logits, prompt * 2, output)
        assert several == left_by(stage, parameters, logits, prompt, once)


@few
@given(logits=LOGITS, prompt=TOKENS, output=TOKENS, repetition=REPETITION)
def test_repetition_of_transformers_and_of_vllms_kernel_is_llama_cpps(
    logits: list[float], prompt: list[int], output: list[int], repetition: float
) -> None:
    native = {"penalty_last_n": 99, "penalty_repeat": repetition}
    of_kernel = {"repetition_penalty": repetition, "kernel": "cuda"}
    expected = left_by("penalties", native, logits, prompt, output)
    assert left_by("vllm_penalties", of_kernel, logits, prompt, output) == expected
    penalty = {"penalty": repetition}
    assert left_by("transformers_repetition_penalty", penalty, logits, prompt, output) == expected


@few
@given(stage=st.sampled_from(STAGES), prompt=TOKENS, output=TOKENS, later=TOKENS)
def test_a_clone_goes_its_own_way_and_a_reset_forgets_prompt_and_output(
    stage: str, prompt: list[int], output: list[int], later: list[int]
) -> None:
    def logits(chain: Any) -> bytes:
        cand = Candidates.from_logits([1.5, -2.0, 0.5, 3.0, -1.0, 2.0])
        chain.apply(cand)
        return cand.logits.tobytes()

    def fresh() -> Any:
        return build_chain([{stage: dict(ALL_ROWS[stage].smallest)}], n_vocab=N)

    chain = fresh()
    for token in prompt:
        chain.accept_prompt(token)
    for token in output:
        chain.accept(token)
    before, clone = logits(chain), chain.clone()
    assert logits(clone) == before
    for token in later:
        clone.accept(token)
    assert logits(chain) == before
    chain.reset()
    assert logits(chain) == logits(fresh())
    for token in later:
        chain.accept(token)
    alone = fresh()
    for token in later:
        alone.accept(token)
    assert logits(chain) == logits(alone)
