"""CTranslate2: a repetition penalty passes over the first token of a prompt, or over all of it.

    pip install ctranslate2==4.8.5 numpy
    python finding_51_penalty.py

A model that answers every token with one row: 3 has 1.0, 2 has 0.9. After a prompt with 3 a penalty
of 2 leaves 2 in front, wherever 3 stands, and whether or not the result is to hold the prompt. Exit
status 1 while it is not so.
"""

import sys
import tempfile

import ctranslate2
import numpy as np
from ctranslate2.specs.transformer_spec import TransformerDecoderModelSpec


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


# A model of zeros; its last bias is the logits, and token i is the text of i.
logits = [0.0, 0.0, 0.9, 1.0]
spec = TransformerDecoderModelSpec.from_config(1, 1, no_final_norm=True, rms_norm=True)
decoder = spec.decoder
attention, ffn = decoder.layer[0].self_attention, decoder.layer[0].ffn
attention.layer_norm.gamma = ffn.layer_norm.gamma = zeros(1)
attention.linear[0].weight = zeros(3, 1)
attention.linear[1].weight = ffn.linear_0.weight = ffn.linear_1.weight = zeros(1, 1)
decoder.embeddings.weight = decoder.projection.weight = zeros(len(logits), 1)
decoder.position_encodings.encodings = zeros(8, 1)
decoder.projection.bias = np.array(logits, np.float32)
spec.register_vocabulary([str(token) for token in range(len(logits))])
spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = "0"
spec.validate()
with tempfile.TemporaryDirectory() as folder:
    spec.save(folder)
    generator = ctranslate2.Generator(folder)

met = True
for prompt in (["1", "3"], ["3", "1"], ["3"]):
    for included in (True, False):
        (result,) = generator.generate_batch(
            [prompt],
            max_length=len(prompt) if included else 1,  # the first token does not count
            include_prompt_in_result=included,
            repetition_penalty=2,
        )
        got = result.sequences_ids[0][-1]
        print(f"prompt {prompt}, include_prompt_in_result {included}: the token that follows")
        print(f"  expected 2\n  got      {got}")
        met &= got == 2
sys.exit(int(not met))
