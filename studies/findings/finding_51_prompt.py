"""CTranslate2: what of a prompt a penalty sees, what a prompt draws, and when a seed counts.

    pip install ctranslate2==4.8.5 numpy
    python finding_51_prompt.py

Models of zero weights whose last bias is the logits. Expected: a repetition penalty treats a token
of the prompt alike wherever it stands and whether or not the prompt is part of the result; a seed
gives the same tokens, however long the prompt, whatever was drawn before, and beside any other
row. Ends with status 1 where it is otherwise.
"""

import sys
import tempfile
from typing import Any

import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec


def generator(logits: list[float]) -> Any:
    """Its answer to every token is the logits; token i is the text of i."""

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float32)

    n = len(logits)
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        1, 1, pre_norm=True, no_final_norm=True
    )
    decoder, layer = spec.decoder, spec.decoder.layer[0]
    decoder.scale_embeddings = False
    decoder.embeddings.weight = zeros(n, 1)
    decoder.position_encodings.encodings = zeros(64, 1)
    decoder.projection.weight, decoder.projection.bias = zeros(n, 1), np.array(logits, np.float32)
    for norm in (layer.self_attention.layer_norm, layer.ffn.layer_norm):
        norm.gamma = norm.beta = zeros(1)
    linears = [(layer.self_attention.linear[0], 3), (layer.self_attention.linear[1], 1)]
    for linear, width in [*linears, (layer.ffn.linear_0, 1), (layer.ffn.linear_1, 1)]:
        linear.weight, linear.bias = zeros(width, 1), zeros(width)
    spec.register_vocabulary([str(token) for token in range(n)])
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = "0"
    spec.validate()
    with tempfile.TemporaryDirectory() as folder:
        spec.save(folder)
        return ctranslate2.Generator(folder, device="cpu", intra_threads=1)


def next_token(source: Any, prompt: list[str], included: bool, **options: Any) -> int:
    """What follows the prompt; max_length counts what is generated, all but the first token."""
    length = len(prompt) if included else 1
    (result,) = source.generate_batch(
        [prompt], max_length=length, include_prompt_in_result=included, **options
    )
    return int(result.sequences_ids[0][-1])


def penalized() -> bool:
    """Token 3 has 1.0, token 2 has 0.9: after a prompt with 3 a penalty of 2 leaves 2 in front."""
    source = generator([0.0, 0.0, 0.9, 1.0])
    met = True
    for prompt in (["1", "3"], ["3", "1"], ["3"]):
        for included in (True, False):
            got = next_token(source, prompt, included, repetition_penalty=2.0)
            met &= got == 2
            print(f"  prompt {prompt}, include_prompt_in_result {included}: expected 2, got {got}")
    return met


def drawn(source: Any, n: int, prompt: list[str]) -> list[int]:
    options = {"sampling_topk": 0, "return_end_token": True}
    return [next_token(source, prompt, True, **options) for _ in range(n)]


def seeded() -> bool:
    """One seed: behind prompts of two lengths, and a second time in one generator."""
    row = [0.0] * 50
    ctranslate2.set_random_seed(5)
    source = generator(row)
    first = drawn(source, 6, ["1"])
    ctranslate2.set_random_seed(5)
    again = drawn(source, 6, ["1"])
    ctranslate2.set_random_seed(5)
    longer = drawn(generator(row), 6, ["1", "2"])
    print(f"  seed 5, prompt of one token:                  {first}")
    print(f"  seed 5 set again, the same generator: expected the same, got {again}")
    print(f"  seed 5, a new generator, a prompt of two: expected the same, got {longer}")
    return first == again == longer


def neighbours() -> bool:
    """The third of three equal rows, and the same row alone, by one seed."""
    row = [0.0] * 50
    tokens = []
    for rows in (1, 3):
        ctranslate2.set_random_seed(5)
        results = generator(row).generate_batch(
            [["1"]] * rows, max_length=1, sampling_topk=0, return_end_token=True
        )
        tokens.append(int(results[-1].sequences_ids[0][-1]))
    print(f"  seed 5, a row alone: {tokens[0]}; third of three: expected the same, got {tokens[1]}")
    return tokens[0] == tokens[1]


def main() -> int:
    print(f"CTranslate2 {ctranslate2.__version__}")
    print("a repetition penalty of 2:")
    met = [penalized()]
    print("a seed, 50 equal tokens:")
    met += [seeded(), neighbours()]
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
