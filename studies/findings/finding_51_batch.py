"""CTranslate2: a row's token depends on the rows before it in the batch.

    pip install ctranslate2==4.8.5 numpy
    python finding_51_batch.py

50 equal tokens, one seed: a row alone, and the third of three such rows. Exit status 1 while
the third has another token.
"""

import sys
import tempfile

import ctranslate2
import numpy as np
from ctranslate2.specs.transformer_spec import TransformerDecoderModelSpec

N = 50


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


# A model of zeros, which answers with equal logits; token i is the text of i.
spec = TransformerDecoderModelSpec.from_config(1, 1, no_final_norm=True, rms_norm=True)
decoder = spec.decoder
attention, ffn = decoder.layer[0].self_attention, decoder.layer[0].ffn
attention.layer_norm.gamma = ffn.layer_norm.gamma = zeros(1)
attention.linear[0].weight = zeros(3, 1)
attention.linear[1].weight = ffn.linear_0.weight = ffn.linear_1.weight = zeros(1, 1)
decoder.embeddings.weight = decoder.projection.weight = zeros(N, 1)
decoder.position_encodings.encodings = zeros(8, 1)
spec.register_vocabulary([str(token) for token in range(N)])
spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = "0"
spec.validate()

tokens = []
with tempfile.TemporaryDirectory() as folder:
    spec.save(folder)
    for rows in (1, 3):
        ctranslate2.set_random_seed(5)
        generator = ctranslate2.Generator(folder)
        results = generator.generate_batch(
            [["1"]] * rows, max_length=1, sampling_topk=0, return_end_token=True
        )
        tokens.append(results[-1].sequences_ids[0][-1])
print("seed 5: the token of the third of three equal rows")
print(f"  expected {tokens[0]}, as of a row alone\n  got      {tokens[1]}")
sys.exit(int(tokens[0] != tokens[1]))
