"""ignore_eos: llama.cpp's `--ignore-eos`: every token that ends a generation is banned.

    logit of every end-of-generation token += -inf

They are the vocabulary's: its EOS and EOT, and all that llama.cpp takes for one by its text. A
vocabulary without an EOS token bans none. vLLM's parameter of the same name bans nothing
(engines/vllm/model).

Parameters: none.
Ties: none; candidates keep their order, and `sorted` stays, as behind a logit_bias.
Edges: -inf stays -inf, +inf becomes NaN.
Source: ignore_eos and logit_bias_eog, common/common.cpp at v0.5.0; as parameters of the whole
    sampler: ban_eog of reference/pipelines/common_chain.py.
Suite: suites/parity/origin.toml
"""

import math
from typing import Any

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.sampler import Stateless
from sampler_parity.reference.samplers.logit_bias import LogitBias
from sampler_parity.reference.vocab import Vocab


class IgnoreEos(Stateless):
    name = "ignore_eos"

    def __init__(self, vocab: Any) -> None:
        if not isinstance(vocab, Vocab):
            raise ChainError("ignore_eos needs a vocabulary")
        self.ends = sorted(vocab.eog) if vocab.eos >= 0 else []
        self.bans = LogitBias([[token, -math.inf] for token in self.ends])

    def apply(self, cand: Candidates) -> None:
        self.bans.apply(cand)
