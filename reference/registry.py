"""Every sampler by its name: llama.cpp's, and those of other engines."""

from collections.abc import Callable
from typing import Protocol, Self

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.pipelines.akunu import Akunu
from sampler_parity.reference.pipelines.akunu_gumbel import AkunuGumbel
from sampler_parity.reference.pipelines.power_law import PowerLaw
from sampler_parity.reference.pipelines.tsampler import STAGES as TSAMPLER
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.dry import Dry
from sampler_parity.reference.samplers.grammar import Grammar
from sampler_parity.reference.samplers.grammar_lazy_patterns import GrammarLazyPatterns
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.infill import Infill
from sampler_parity.reference.samplers.logit_bias import LogitBias
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.softmax import Softmax
from sampler_parity.reference.samplers.tail_free import TailFree
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.temp_ext import TempExt
from sampler_parity.reference.samplers.token_trie import TokenTrie
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_n_sigma import TopNSigma
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.typical_p import TypicalP
from sampler_parity.reference.samplers.xtc import Xtc


class Sampler(Protocol):
    """llama.cpp's `llama_sampler_i`."""

    name: str

    def apply(self, cand: Candidates) -> None:
        """Change the candidates in place."""

    def accept(self, token: int) -> None:
        """Take a token of the prompt or a chosen one into the history."""

    def reset(self) -> None:
        """Back to the state after construction."""

    def clone(self) -> Self:
        """An independent sampler in the same state."""


SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "greedy": Greedy,
    "dist": Dist,
    "top_k": TopK,
    "top_p": TopP,
    "min_p": MinP,
    "typical_p": TypicalP,
    "temp": Temp,
    "temp_ext": TempExt,
    "xtc": Xtc,
    "top_n_sigma": TopNSigma,
    "mirostat": Mirostat,
    "mirostat_v2": MirostatV2,
    "penalties": Penalties,
    "dry": Dry,
    "logit_bias": LogitBias,
    "infill": Infill,
    "adaptive_p": AdaptiveP,
    "grammar": Grammar,
    "grammar_lazy_patterns": GrammarLazyPatterns,
    "softmax": Softmax,
    "tail_free": TailFree,
}

# Samplers and whole pipelines of other engines, each one stage of a chain.
ENGINES: dict[str, Callable[..., Sampler]] = {
    "akunu": Akunu,
    "akunu_gumbel": AkunuGumbel,
    "power_law": PowerLaw,
    "token_trie": TokenTrie,
    **TSAMPLER,
}

ALL_SAMPLERS: dict[str, Callable[..., Sampler]] = SAMPLERS | ENGINES
