"""node_llama_cpp: a token of node-llama-cpp's LlamaContextSequence.evaluate.

    penalties, top_k, top_p, min_p, xtc, temp, dist;  at temperature <= 0: penalties, xtc, greedy

Parameters (the defaults are the package's):
    seed:        floored; below 0 it is 0, from 2**32 on its low 32 bits; 4294967295 is a random
                 one. For xtc and dist.
    temperature: 0. <= 0: greedy, without the filters.
    top_k:       40. <= 0 keeps all, and sorts them.
    top_p:       0.95. 1 and values outside 0..1 are off; 0 keeps one.
    min_p:       0. <= 0 is off.
    xtc_probability, xtc_threshold:  both or none; cut to 0..1; at 0 it is still in the chain.
    penalty_repeat, penalty_freq, penalty_present:  1, 0, 0.
    penalty_last_n:  has an effect only at 0 without a text: the window is at least as long as the
                 penalized tokens, here the whole text.
Ties and edges: llama.cpp's v0.5.0, sampler by sampler. The candidates are left as they are.
Source: _resolveSamplerConfig, LlamaContext.js, and llama/addon/AddonSampler.cpp at 3.22.1.
Suite: engines/node_llama_cpp/suites/node_llama_cpp/node_llama_cpp.toml
"""

import math
from typing import Any

from sampler_parity.engines.shared.chain_model import OfChain
from sampler_parity.reference.parameters import float32, int32, real
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.xtc import Xtc

ALL = 2**31 - 1
WINDOW = 1 << 16  # longer than any text that a case has


class NodeLlamaCpp(OfChain):
    name = "node_llama_cpp"

    def __init__(
        self,
        seed: Any,
        temperature: Any = 0.0,
        top_k: Any = 40,
        top_p: Any = 0.95,
        min_p: Any = 0.0,
        xtc_probability: Any = None,
        xtc_threshold: Any = None,
        penalty_repeat: Any = 1.0,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
        penalty_last_n: Any = 64,
    ) -> None:
        int32("penalty_last_n", penalty_last_n)
        seed_of_both = max(0, math.floor(real("seed", seed))) % 2**32
        penalties = (penalty_repeat, penalty_freq, penalty_present)
        self.samplers = [] if penalties == (1, 0, 0) else [Penalties(WINDOW, *penalties)]
        xtc = []
        if xtc_probability is not None and xtc_threshold is not None:
            p, t = (min(1.0, max(0.0, real("xtc", of))) for of in (xtc_probability, xtc_threshold))
            xtc = [Xtc(p, t, seed_of_both)]
        if float32("temperature", temperature) <= 0:
            self.samplers += [*xtc, Greedy()]
            return
        self.samplers.append(TopK(top_k if int32("top_k", top_k) > 0 else ALL))
        if 0 <= float32("top_p", top_p) < 1:
            self.samplers.append(TopP(top_p, 1))
        if float32("min_p", min_p) > 0:
            self.samplers.append(MinP(min_p, 1))
        self.samplers += [*xtc, Temp(temperature), Dist(seed_of_both)]


STAGES = {"node_llama_cpp": NodeLlamaCpp}
