"""A chain of samplers, built from a specification and applied stage by stage."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError
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
from sampler_parity.reference.vocab import Vocab


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


@dataclass(frozen=True)
class Stage:
    """What a stage left: its position and name, and the candidates after it (a copy)."""

    index: int
    name: str
    candidates: Candidates


@dataclass
class Chain:
    """Samplers applied one after the other; itself a sampler."""

    samplers: list[Sampler]
    name: str = "chain"

    def apply(self, cand: Candidates) -> None:
        for sampler in self.samplers:
            sampler.apply(cand)

    def accept(self, token: int) -> None:
        for sampler in self.samplers:
            sampler.accept(token)

    def reset(self) -> None:
        for sampler in self.samplers:
            sampler.reset()

    def clone(self) -> "Chain":
        return Chain([sampler.clone() for sampler in self.samplers])

    def trace(self, cand: Candidates) -> Iterator[Stage]:
        """As apply, and yields the candidates after each stage."""
        for index, sampler in enumerate(self.samplers):
            sampler.apply(cand)
            yield Stage(index, sampler.name, cand.copy())


def build_chain(
    spec: Sequence[Mapping[str, Mapping[str, Any]]],
    *,
    n_vocab: int | None = None,
    vocab: Vocab | None = None,
    samplers: Mapping[str, Callable[..., Sampler]] = ALL_SAMPLERS,
    release: str | None = None,
) -> Chain:
    """Build a chain from `[{name: {parameter: value}}, ...]`.

    n_vocab and vocab are given to the samplers that need them (mirostat; dry, infill), unless the
    stage names n_vocab itself. release: with the meanings of that release of llama.cpp (b4753) in
    place of v0.5.0's and of `samplers`. Raises ChainError for an unknown sampler, an unknown or
    missing parameter, a wrong type or a value out of range, and for a release whose meanings are
    not known.
    """
    if release is not None:
        from sampler_parity.reference.releases import changes_of, samplers_of  # imports this module

        samplers = samplers_of(changes_of(release))
    context = {"n_vocab": n_vocab if n_vocab is not None or vocab is None else len(vocab)}
    built = []
    for index, stage in enumerate(spec):
        if not isinstance(stage, Mapping) or len(stage) != 1:
            raise ChainError(f"stage {index} must name one sampler with its parameters: {stage!r}")
        ((name, parameters),) = stage.items()
        if name not in samplers:
            known = ", ".join(sorted(samplers))
            raise ChainError(f"stage {index}: unknown sampler {name!r}; known: {known}")
        try:
            built.append(_build(samplers[name], parameters, {**context, "vocab": vocab}))
        except ChainError as error:
            raise ChainError(f"stage {index} ({name}): {error}") from None
    return Chain(built)


@functools.cache
def parameters_of(make: Callable[..., Sampler]) -> Mapping[str, inspect.Parameter]:
    """What a sampler is built with, by name; looked up once, for chains are built by thousands."""
    return inspect.signature(make).parameters


def _build(make: Callable[..., Sampler], given: Any, context: Mapping[str, Any]) -> Sampler:
    if not isinstance(given, Mapping):
        raise ChainError(f"parameters must be a table, got {given!r}")
    known = parameters_of(make)
    values = {key: context[key] for key in known if context.get(key) is not None} | dict(given)
    for key in given:
        if key not in known or key == "vocab":
            allowed = ", ".join(k for k in known if k != "vocab") or "none"
            raise ChainError(f"unknown parameter {key!r}; known: {allowed}")
    for key, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and key not in values:
            raise ChainError(f"missing parameter {key!r}")
    return make(**values)
