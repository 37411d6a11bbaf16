"""lmdeploy's sampler, stage by stage:

    lmdeploy_penalty, lmdeploy_ngram, lmdeploy_bans, lmdeploy_sample

is its order. Bans come behind the temperature; -inf is the same on both sides of it.

Source: FusedLogitsProcessor, lmdeploy/pytorch/engine/logits_process.py 365-543 at 0.18.0.
Suite: engines/lmdeploy/suites/lmdeploy
"""

from sampler_parity.engines.lmdeploy.model.bans import LmdeployBans
from sampler_parity.engines.lmdeploy.model.ngram import LmdeployNgram
from sampler_parity.engines.lmdeploy.model.penalty import LmdeployPenalty
from sampler_parity.engines.lmdeploy.model.sample import LmdeploySample

STAGES = {
    "lmdeploy_penalty": LmdeployPenalty,
    "lmdeploy_ngram": LmdeployNgram,
    "lmdeploy_bans": LmdeployBans,
    "lmdeploy_sample": LmdeploySample,
}

__all__ = ["STAGES", "LmdeployBans", "LmdeployNgram", "LmdeployPenalty", "LmdeploySample"]
