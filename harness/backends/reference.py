"""The reference as a process of its own: an example of an adapter in Python, and for timing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.reference_speculative import speculate
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS, build_chain
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol.arithmetic import LLAMA_CPP
from sampler_parity.harness.protocol.environment import keep_freed_memory
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply, SpeculativeRequest
from sampler_parity.reference import Candidates, Chain, Sampler, floats
from sampler_parity.reference.chronology import NEWEST, parted
from sampler_parity.reference.platforms import DEFAULT
from sampler_parity.reference.random import Mt19937, walk_of
from sampler_parity.reference.random import uniforms as uniforms_of
from sampler_parity.reference.samplers.dist import Dist


class ReferenceInstance:
    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def apply(self, stage: int | None, candidates: Candidates) -> None:
        with self.chain.there():
            (self.chain if stage is None else self.chain.samplers[stage]).apply(candidates)

    def accept(self, token: int) -> None:
        self.chain.accept(token)

    def accept_prompt(self, token: int) -> None:
        self.chain.accept_prompt(token)

    def reset(self) -> None:
        self.chain.reset()

    def clone(self) -> "ReferenceInstance":
        return ReferenceInstance(self.chain.clone())

    def draw(
        self, candidates: Candidates, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        """Draw n tokens by the last stage; in one call if it is the reference's own dist."""
        with self.chain.there():
            return self._draw(candidates, n, uniforms)

    def _draw(
        self, candidates: Candidates, n: int, uniforms: NDArray[np.float64] | None
    ) -> NDArray[np.int32]:
        last = self.chain.samplers[-1]
        if uniforms is not None and isinstance(last, Dist):
            last.rng = GivenUniforms(uniforms)
        elif uniforms is not None:
            raise Unsupported(f"{last.name} takes no uniforms")
        if type(self.chain) is Chain and type(last) is Dist:
            for sampler in self.chain.samplers[:-1]:
                sampler.apply(candidates)
            return walk_of(candidates).tokens(
                uniforms_of(last.rng, n) if uniforms is None else uniforms
            )
        tokens = np.empty(n, np.int32)
        for i in range(n):
            copy = candidates.copy()
            self.chain.apply(copy)
            tokens[i] = copy.ids[copy.selected]
        return tokens


class GivenUniforms(Mt19937):
    """Use given numbers in place of a generator, one for each draw."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        super().__init__(0)
        self._values = iter(values.tolist())

    def uniform_double(self) -> float:
        return float(next(self._values))

    def uniform_float(self) -> np.float32:
        return np.float32(next(self._values))


class Worker:
    """target: the release and platform whose samplers it runs."""

    samplers: Mapping[str, Callable[..., Sampler]] = ALL_SAMPLERS
    version = NEWEST
    platform: str | None = None  # also for a planted fault, which does not call __init__

    def __init__(self, target: str = NEWEST) -> None:
        keep_freed_memory()
        release, platform = parted(target)
        self.platform = None if platform == DEFAULT else platform
        self.version = release
        if release != NEWEST:
            # an older release alone needs the tables of both
            from sampler_parity.harness.llama_cpp.signatures import has
            from sampler_parity.reference.releases import CHANGES, samplers_of

            old = [change for change in CHANGES if change.in_force(release)]
            meant = samplers_of(old, ALL_SAMPLERS)
            unsure = {s for c in CHANGES if c.in_force(release) is None for s in c.samplers}
            self.samplers = {
                name: meant[name] for name in meant if has(name, release) and name not in unsure
            }

    def hello(self) -> HelloReply:
        return HelloReply(
            name="reference",
            version=self.version,
            capabilities=["run", "draws", "time", "uniforms", "origin", "speculative"],
            samplers=sorted(self.samplers),
            arithmetic=LLAMA_CPP,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> ReferenceInstance:
        words = read_vocab(Path(vocab)) if vocab else None
        floats.load_compiler()
        return ReferenceInstance(
            build_chain(
                chain, n_vocab=n_vocab, vocab=words, samplers=self.samplers, platform=self.platform
            )
        )

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        def fresh() -> Chain:
            return self.build(request.chain, request.n_vocab, request.vocab).chain

        return speculate(fresh, request, rounds)

    def candidates(self, logits: NDArray[np.float32]) -> Candidates:
        return Candidates.from_logits(logits)

    def result(self, candidates: Candidates) -> tuple[Any, Any, Any, bool | None, int]:
        c = candidates
        return c.ids, c.logits, c.p, c.sorted, c.selected
