"""lloyal: a branch of lloyal.node, which samples with llama.cpp's samplers in an order of its own.

    penalties, top_k, top_p, min_p, then temp and dist; greedy in their place at temperature <= 0

A sampler that is turned off is not in the chain: penalties of 1, 0, 0, top_k <= 0, top_p >= 1,
min_p <= 0. There is no top-n-sigma, dry or xtc; typical_p, documented in `advanced`, has no effect.
Its llama.cpp is b10068 or older: a single candidate takes no random number. A forked branch samples
with a clone, which has the window of the penalties but no counts.

Parameters (the defaults are the package's):
    seed:            uint32 of std::mt19937; 4294967295 takes a random one.
    temperature:     float32, 0.8. <= 0: greedy, after penalties and filters.
    top_k:           int32, 40.
    top_p, min_p:    float32, 0.95 and 0.05; at least one candidate stays.
    typical_p:       silently ignored.
    penalty_repeat, penalty_freq, penalty_present, penalty_last_n:  1, 0, 0, 64.
Ties and edges: llama.cpp's, sampler by sampler. The candidates are left as they are.
Source: create_chain, include/lloyal/sampler.hpp of liblloyal 3.0.1; measured on
    @lloyal-labs/lloyal.node-linux-x64 3.1.1.
Suite: engines/lloyal/suites/lloyal/lloyal.toml
"""

from typing import Any

from sampler_parity.engines.shared.chain_model import OfChain
from sampler_parity.reference.older.dist_b9842 import DistB9842
from sampler_parity.reference.older.penalties_b9842 import PenaltiesB9842
from sampler_parity.reference.parameters import float32, int32
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_p import TopP

_OLD = frozenset(["dist-one-no-draw", "penalties-clone-uncounted"])


class Lloyal(OfChain):
    name = "lloyal"

    def __init__(
        self,
        seed: Any,
        temperature: Any = 0.8,
        top_k: Any = 40,
        top_p: Any = 0.95,
        min_p: Any = 0.05,
        typical_p: Any = 1.0,
        penalty_repeat: Any = 1.0,
        penalty_freq: Any = 0.0,
        penalty_present: Any = 0.0,
        penalty_last_n: Any = 64,
    ) -> None:
        float32("typical_p", typical_p)
        penalties = (penalty_repeat, penalty_freq, penalty_present)
        self.samplers = [PenaltiesB9842(_OLD, penalty_last_n, *penalties)]
        if penalties == (1, 0, 0):
            self.samplers = []
        if int32("top_k", top_k) > 0:
            self.samplers.append(TopK(top_k))
        if float32("top_p", top_p) < 1:
            self.samplers.append(TopP(top_p, 1))
        if float32("min_p", min_p) > 0:
            self.samplers.append(MinP(min_p, 1))
        draws = float32("temperature", temperature) > 0
        self.samplers += [Temp(temperature), DistB9842(_OLD, seed)] if draws else [Greedy()]


STAGES = {"lloyal": Lloyal}
