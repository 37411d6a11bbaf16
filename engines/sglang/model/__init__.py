"""SGLang's sampler, stage by stage.

Suite: engines/sglang/suites/sglang
"""

from sampler_parity.engines.sglang.model.penalties import SglangPenalties
from sampler_parity.engines.sglang.model.sample import SglangSample

STAGES = {
    "sglang_penalties": SglangPenalties,
    "sglang_sample": SglangSample,
}
