"""llama_cpp_python: the chain that llama-cpp-python's `Llama` makes of its arguments, one stage.

    temp < 0    penalties, dist: no filter, and no temperature
    temp = 0    penalties, greedy
    mirostat    penalties, mirostat (m 100) or mirostat_v2: no filter, and no temperature
    else        penalties, top_k, typical_p, top_p, min_p (min_keep 1), temp, dist

Parameters have the names of `Llama.create_completion`; last_n_tokens_size is the constructor's.
Selected tokens are accepted, the prompt never. Llama accepts tfs_z and penalize_nl but does not use
them, so they are left out here.

Source: Llama._init_sampler and Llama.generate, llama_cpp/llama.py of llama-cpp-python 0.3.36.
Suite: engines/llama_cpp_python/suites/llama_cpp_python/completion.toml
"""

from typing import Any

from sampler_parity.engines.shared.chain_model import OfChain
from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.parameters import float32, int32, integer
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.typical_p import TypicalP


class LlamaCppPython(OfChain):
    name = "llama_cpp_python"

    def __init__(
        self,
        seed: Any,
        n_vocab: Any,
        temperature: Any = 0.8,
        top_k: Any = 40,
        typical_p: Any = 1.0,
        top_p: Any = 0.95,
        min_p: Any = 0.05,
        repeat_penalty: Any = 1.0,
        frequency_penalty: Any = 0.0,
        presence_penalty: Any = 0.0,
        mirostat_mode: Any = 0,
        mirostat_tau: Any = 5.0,
        mirostat_eta: Any = 0.1,
        last_n_tokens_size: Any = 64,
    ) -> None:
        temp = float32("temperature", temperature)
        mode = integer("mirostat_mode", mirostat_mode, 0, 2)
        if int32("last_n_tokens_size", last_n_tokens_size) < 0:
            raise ChainError(f"last_n_tokens_size must be at least 0, got {last_n_tokens_size!r}")
        penalties = (last_n_tokens_size, repeat_penalty, frequency_penalty, presence_penalty)
        self.samplers = [Penalties(*penalties)]
        if temp < 0:
            self.samplers += [Dist(seed)]
        elif temp == 0:
            self.samplers += [Greedy()]
        elif mode == 1:
            self.samplers += [Mirostat(seed, n_vocab, mirostat_tau, mirostat_eta, 100)]
        elif mode == 2:
            self.samplers += [MirostatV2(seed, mirostat_tau, mirostat_eta)]
        else:
            self.samplers += [TopK(top_k), TypicalP(typical_p, 1), TopP(top_p, 1), MinP(min_p, 1)]
            self.samplers += [Temp(temp), Dist(seed)]

    def accept_prompt(self, token: int) -> None:
        pass


STAGES = {"llama_cpp_python": LlamaCppPython}
