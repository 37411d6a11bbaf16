"""lmdeploy_bans: bad tokens, and stop tokens before a minimum of tokens, have the logit -inf.

Parameters:
    bad_token_ids   ids in the vocabulary.
    stop_token_ids  ids in the vocabulary. Banned while fewer than min_new_tokens are generated, and
                    always with ignore_eos.
    min_new_tokens  integer of 0 or more; default 0 (off).
    ignore_eos      default false.
Ties: none. Edges: the prompt does not count. In a batch a ban of token 0 is lost next to a longer
    list: finding 66 of docs/findings.md.
Source: _process_bad_words_, lmdeploy/pytorch/engine/logits_process.py 24-56 and 487-497;
    ARSamplingStrategy.make_sampling_inputs, lmdeploy/pytorch/strategies/ar/sampling.py 96-101;
    SamplingParam.from_gen_config, lmdeploy/pytorch/messages.py 89-93, at 0.18.0.
Suite: engines/lmdeploy/suites/lmdeploy/lmdeploy_logits.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.shared.past import OfPast, Past, size_of_vocabulary
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.parameters import size, token_ids


class LmdeployBans(OfPast):
    name = "lmdeploy_bans"

    def __init__(
        self,
        n_vocab: Any,
        bad_token_ids: Any = (),
        stop_token_ids: Any = (),
        min_new_tokens: Any = 0,
        ignore_eos: Any = False,
    ) -> None:
        self.bad_token_ids = token_ids("bad_token_ids", bad_token_ids, n_vocab)
        self.stop_token_ids = token_ids("stop_token_ids", stop_token_ids, n_vocab)
        self.min_new_tokens = size("min_new_tokens", min_new_tokens)
        self.ignore_eos = bool(ignore_eos)
        self.past = Past()

    def apply(self, cand: Candidates) -> None:
        size_of_vocabulary(cand, "lmdeploy")
        cand.logits[self.bad_token_ids] = -np.inf  # 54
        if self.ignore_eos or len(self.past.output) < self.min_new_tokens:  # sampling.py 98
            cand.logits[self.stop_token_ids] = -np.inf
        cand.sorted = False
