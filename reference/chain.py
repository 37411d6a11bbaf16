"""A chain of samplers, built from a specification and applied stage by stage."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from sampler_parity.reference import platforms
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import ChainError, UndefinedInputError
from sampler_parity.reference.random import DEFAULT_SEED
from sampler_parity.reference.registry import REFERENCE_SAMPLERS
from sampler_parity.reference.sampler import Sampler
from sampler_parity.reference.vocab import Vocab

_ON_CURRENT = nullcontext()  # stay on the platform of the caller
Spec = Sequence[Mapping[str, Mapping[str, Any]]]  # [{name: {parameter: value}}, ...]


@dataclass(slots=True)
class Stage:
    """The result of a stage: its position and name, and the candidates after it (a copy)."""

    index: int
    name: str
    candidates: Candidates


@dataclass
class Chain:
    """Samplers applied one after the other; itself a sampler.

    accepted: how many tokens since the counters were set to 0 (n_sample of llama_perf_sampler). A
    reset of the chain keeps it, a clone begins at 0, a copy takes it over.
    platform: where it computes; None: on the platform of the surrounding code (`platforms.on`).
    """

    samplers: list[Sampler]
    name: str = "chain"
    accepted: int = 0
    platform: platforms.Platform | None = None

    def there(self) -> AbstractContextManager[None]:
        """Enter the chain's platform, for callers that apply its samplers one by one."""
        return _ON_CURRENT if self.platform is None else platforms.on(self.platform)

    def apply(self, cand: Candidates) -> None:
        with self.there():
            for sampler in self.samplers:
                if getattr(sampler, "applies", True):
                    sampler.apply(cand)

    def accept(self, token: int) -> None:
        with self.there():
            for sampler in self.samplers:
                sampler.accept(token)
        self.accepted += 1

    def accept_prompt(self, token: int) -> None:
        """Accept a token of the prompt; a sampler without accept_prompt treats it as output."""
        for sampler in self.samplers:
            getattr(sampler, "accept_prompt", sampler.accept)(token)
        self.accepted += 1

    def reset(self) -> None:
        for sampler in self.samplers:
            sampler.reset()

    def clone(self) -> "Chain":
        return Chain([sampler.clone() for sampler in self.samplers], platform=self.platform)

    def add(self, sampler: Sampler) -> None:
        """Append a sampler in its present state (llama_sampler_chain_add)."""
        self.samplers.append(sampler)

    def get(self, index: int) -> "Sampler | Chain | None":
        """Return a sampler, the chain for -1, else None (llama_sampler_chain_get)."""
        if index == -1:
            return self
        return self.samplers[index] if 0 <= index < len(self.samplers) else None

    def remove(self, index: int) -> Sampler | None:
        """Remove and return a sampler; None if there is none (llama_sampler_chain_remove)."""
        return self.samplers.pop(index) if 0 <= index < len(self.samplers) else None

    def copy_from(self, source: "Chain") -> None:
        """Copy the state of every sampler of source (llama_sampler_copy). Raises
        UndefinedInputError if the samplers of the chains differ: llama.cpp aborts."""
        kinds = [[type(sampler) for sampler in chain.samplers] for chain in (self, source)]
        if kinds[0] != kinds[1]:
            raise UndefinedInputError(
                "llama.cpp aborts: a copy between chains of different samplers"
            )
        for mine, theirs in zip(self.samplers, source.samplers, strict=True):
            if mine is not theirs:
                vars(mine).update(vars(theirs.clone()))
        self.accepted = source.accepted

    @property
    def seed(self) -> int:
        """llama_sampler_get_seed: the seed of the last sampler that reports one, else DEFAULT_SEED.
        xtc and adaptive_p report none."""
        seeds = (_seed(sampler) for sampler in reversed(self.samplers))
        return next((seed for seed in seeds if seed != DEFAULT_SEED), DEFAULT_SEED)

    def trace(self, cand: Candidates) -> Iterator[Stage]:
        """Apply the chain and yield the candidates after each stage."""
        for index, sampler in enumerate(self.samplers):
            if getattr(sampler, "applies", True):
                with self.there():
                    sampler.apply(cand)
            yield Stage(index, sampler.name, cand.copy())


def _seed(sampler: Any) -> int:
    if isinstance(sampler, Chain):
        return sampler.seed
    has_seed = sampler.name in ("dist", "mirostat", "mirostat_v2")
    return int(sampler.rng.seed_cur) if has_seed else DEFAULT_SEED


def build_chain(
    spec: Spec,
    *,
    n_vocab: int | None = None,
    vocab: Vocab | None = None,
    samplers: Mapping[str, Callable[..., Sampler]] = REFERENCE_SAMPLERS,
    release: str | None = None,
    platform: str | None = None,
) -> Chain:
    """Build a chain from `[{name: {parameter: value}}, ...]`.

    n_vocab and vocab are given to the samplers that need them (mirostat; dry, infill), unless the
    stage names n_vocab itself. release: with the meanings of that release of llama.cpp (b4753) in
    place of v0.5.0's in `samplers`. platform: with the arithmetic there (linux-arm64-gcc) in
    place of x86-64 Linux's. Raises ChainError for an unknown sampler or platform, an unknown or
    missing parameter, a wrong type or a value out of range, and for a release whose meanings are
    not known.
    """
    if release is not None:
        from sampler_parity.reference.releases import (  # loads older samplers
            changes_of,
            samplers_of,
        )

        stage_names = {name for stage in spec if isinstance(stage, Mapping) for name in stage}
        samplers = samplers_of(changes_of(release, stage_names), samplers)
    context = {"n_vocab": n_vocab if n_vocab is not None or vocab is None else len(vocab)}
    built = []
    for place, stage in enumerate(spec, start=1):
        if not isinstance(stage, Mapping) or len(stage) != 1:
            raise ChainError(f"stage {place} must name one sampler with its parameters: {stage!r}")
        ((name, parameters),) = stage.items()
        if name not in samplers:
            raise ChainError(f"stage {place}: unknown sampler {name!r}; {_hint(name, samplers)}")
        try:
            built.append(_build(samplers[name], parameters, {**context, "vocab": vocab}))
        except ChainError as error:
            raise ChainError(f"stage {place} ({name}): {error}") from None
    return Chain(built, platform=None if platform is None else platforms.platform_of(platform))


def _hint(name: str, samplers: Collection[str]) -> str:
    """Return the names that are close to an unknown one; else those of llama.cpp, or all."""
    import difflib  # seldom needed

    if close := difflib.get_close_matches(name[:200], samplers):
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(sorted(REFERENCE_SAMPLERS.keys() & {*samplers} or samplers))}"


@functools.lru_cache(1024)
def parameters_of(make: Callable[..., Sampler]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a sampler's constructor by name; cached, as chains are many."""
    return inspect.signature(make).parameters


def _build(make: Callable[..., Sampler], parameters: Any, context: Mapping[str, Any]) -> Sampler:
    if not isinstance(parameters, Mapping):
        raise ChainError(f"parameters must be a table, got {parameters!r}")
    declared = parameters_of(make)
    values = {key: context[key] for key in declared if context.get(key) is not None} | dict(
        parameters
    )
    for key in parameters:
        if key not in declared or key == "vocab":
            allowed = ", ".join(k for k in declared if k != "vocab") or "none"
            raise ChainError(f"unknown parameter {key!r}; known: {allowed}")
    for key, parameter in declared.items():
        if parameter.default is inspect.Parameter.empty and key not in values:
            raise ChainError(f"missing parameter {key!r}")
    return make(**values)
