"""The worker that every engine of this folder shares."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.correct.ops import Ops
from sampler_parity.engines.correct.samplers import SAMPLERS, Apply
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.chain import Chain, build_chain
from sampler_parity.reference.registry import REFERENCE_SAMPLERS
from sampler_parity.reference.samplers.adaptive_p import NO_TOKEN, AdaptiveP


class Steered(AdaptiveP):
    """adaptive_p with its two sums in the format of the engine."""

    def __init__(self, kind: Any, target: Any, seed: Any, decay: Any = 0.9) -> None:
        self.kind = kind
        super().__init__(target, seed, decay)

    def _forget(self) -> None:
        self.kept = self.kind(self.decay)
        rest = self.kind(1) - self.kept
        self.weighted_sum, self.total_weight = self.kind(self.target) / rest, self.kind(1) / rest
        self.pending_token, self.pending_index = NO_TOKEN, -1

    def accept(self, token: int) -> None:
        if token == self.pending_token and 0 <= self.pending_index < len(self.original_p):
            p = self.original_p[self.pending_index]
            self.weighted_sum = p + self.kept * self.weighted_sum
            self.total_weight = self.kind(1) + self.kept * self.total_weight
        self.pending_token, self.pending_index = NO_TOKEN, -1

    def clone(self) -> "Steered":
        twin = Steered(self.kind, self.target, self.seed, self.decay)
        twin.weighted_sum, twin.total_weight = self.weighted_sum, self.total_weight
        twin.pending_token, twin.pending_index = self.pending_token, self.pending_index
        return twin


class Instance:
    """A chain in one state. The reference keeps the state, this engine computes."""

    def __init__(self, chain: Chain, ops: Ops, samplers: dict[str, Apply]) -> None:
        self.chain, self.ops, self.samplers = chain, ops, samplers

    @np.errstate(all="ignore")
    def apply(self, stage: int | None, cand: Candidates) -> None:
        for of in self.chain.samplers if stage is None else [self.chain.samplers[stage]]:
            self.samplers[of.name](self.ops, cand, of)

    @np.errstate(all="ignore")
    def accept(self, token: int) -> None:
        self.chain.accept(token)

    def accept_prompt(self, token: int) -> None:
        self.chain.accept_prompt(token)

    def reset(self) -> None:
        self.chain.reset()

    def clone(self) -> "Instance":
        return Instance(self.chain.clone(), self.ops, self.samplers)


class Worker:
    """A correct engine. ops: its arithmetic. samplers: one function for each sampler."""

    name = "correct"
    samplers = SAMPLERS

    def __init__(self, ops: Ops) -> None:
        self.ops = ops
        self.makes = {name: REFERENCE_SAMPLERS[name] for name in self.samplers}
        self.makes["adaptive_p"] = partial(Steered, ops.kind)

    def hello(self) -> HelloReply:
        return HelloReply(
            name=self.name,
            version="1",
            build=f"numpy {np.__version__}",
            capabilities=["run", "draws", "time", "origin"],
            samplers=sorted(self.samplers),
            arithmetic=self.ops.arithmetic,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        words = read_vocab(Path(vocab)) if vocab else None
        built = build_chain(chain, n_vocab=n_vocab, vocab=words, samplers=self.makes)
        return Instance(built, self.ops, self.samplers)

    def candidates(self, logits: NDArray[np.float32]) -> Candidates:
        return Candidates.from_logits(logits, self.ops.kind)

    def result(self, cand: Candidates) -> Result:
        with np.errstate(all="ignore"):
            return (
                cand.ids, cand.logits.astype(np.float32), cand.p.astype(np.float32), None,
                cand.selected,
            )  # fmt: skip
