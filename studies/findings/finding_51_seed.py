"""CTranslate2: a seed counts when a generator draws for the first time, and not again.

    pip install ctranslate2==4.8.5 numpy
    python finding_51_seed.py

50 equal tokens, six draws, the seed set once more, six draws of the same generator. Exit status 1
while the tokens are others.
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
with tempfile.TemporaryDirectory() as folder:
    spec.save(folder)
    generator = ctranslate2.Generator(folder)

drawn = []
for _ in range(2):
    ctranslate2.set_random_seed(5)
    tokens = []
    for _ in range(6):
        (result,) = generator.generate_batch(
            [["1"]], max_length=1, sampling_topk=0, return_end_token=True
        )
        tokens.append(result.sequences_ids[0][-1])
    drawn.append(tokens)
print("seed 5 set again, the same generator: six tokens")
print(f"  expected {drawn[0]}, as the first time\n  got      {drawn[1]}")
sys.exit(int(drawn[0] != drawn[1]))
