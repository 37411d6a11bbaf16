"""The reference as a process of its own: what an adapter in Python looks like, and for timing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.protocol import ChainSpec, HelloReply
from harness.releases import has
from harness.vocab_files import read_vocab
from reference import SAMPLERS, Candidates, Chain, Sampler, build_chain
from reference.releases import NEWEST, changes_of, samplers_of


class ReferenceInstance:
    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def apply(self, stage: int | None, candidates: Candidates) -> None:
        (self.chain if stage is None else self.chain.samplers[stage]).apply(candidates)

    def accept(self, token: int) -> None:
        self.chain.accept(token)

    def reset(self) -> None:
        self.chain.reset()

    def clone(self) -> "ReferenceInstance":
        return ReferenceInstance(self.chain.clone())


class Worker:
    """release: whose meaning the samplers have."""

    samplers: Mapping[str, Callable[..., Sampler]] = SAMPLERS
    version = NEWEST

    def __init__(self, release: str = NEWEST) -> None:
        self.version = release
        if release != NEWEST:
            found = samplers_of(changes_of(release))
            self.samplers = {name: found[name] for name in found if has(name, release)}

    def hello(self) -> HelloReply:
        return HelloReply(
            name="reference",
            version=self.version,
            capabilities=["run", "draws", "time"],
            samplers=sorted(self.samplers),
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> ReferenceInstance:
        words = read_vocab(Path(vocab)) if vocab else None
        return ReferenceInstance(
            build_chain(chain, n_vocab=n_vocab, vocab=words, samplers=self.samplers)
        )

    def candidates(self, logits: NDArray[np.float32]) -> Candidates:
        return Candidates.from_logits(logits)

    def result(self, candidates: Candidates) -> tuple[Any, Any, Any, bool | None, int]:
        c = candidates
        return c.ids, c.logits, c.p, c.sorted, c.selected
