"""rwkv: the stand-ins for its model and tokenizer, and unsupported samplers."""

import pytest

from sampler_parity.engines.rwkv.worker import Stage, Tokens
from sampler_parity.engines.shared.staged import Staged
from sampler_parity.harness.errors import Unsupported


def test_a_token_is_a_letter_and_a_weightless_one_a_space() -> None:
    tokens = Tokens([2])
    assert (tokens.encode("prompt"), tokens.decode([1, 2, 3])) == ([0], "x x")


def test_the_prompt_is_not_generated_and_a_clone_goes_its_own_way() -> None:
    instance = Staged([{"rwkv_sample_logits": {"seed": 5}}], Stage, "rwkv")
    instance.accept_prompt(1)
    instance.accept(2)
    twin = instance.clone()
    twin.accept(3)
    assert [of.tokens[of.n_prompt :] for of in (instance, twin)] == [[2], [2, 3]]
    drawn = [
        [stage.rng.random_sample() for stage in of.stages if isinstance(stage, Stage)]
        for of in (instance, twin)
    ]
    assert drawn[0] == drawn[1]


def test_no_sampler_stands_by_itself() -> None:
    with pytest.raises(Unsupported, match="rwkv has no top_k by itself"):
        Stage("top_k", {"k": 2})
