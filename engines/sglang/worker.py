"""sglang: the sampler of SGLang on a CPU, with its own batch of requests (README.md).

Readings: the result of a stage is that of SGLang's sampler for a request with the parameters up to
that stage. After a cut under llama.cpp's name tokens without weight are removed; the largest comes
first after top_k and top_p. The p shown is 0 except before a cut by top_p and at a draw; there it
is the weight, which sglang_sample does not normalize. A greedy temperature selects at its stage.
The stage dist is a server's draw by torch's generator. The stage sglang_sample is the draw of
deterministic inference, each at the next position.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.sglang import requests as slots
from sampler_parity.engines.sglang.batch import Batch, Shown
from sampler_parity.engines.sglang.engine import sglang
from sampler_parity.engines.sglang.requests import SLOTS, sampling_params, stop_tokens
from sampler_parity.engines.shared import reported, torch_cpu
from sampler_parity.engines.shared.stage_parameters import ANY_SEED, no_uniforms
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply

MODES = ("sglang", "sglang_original")  # the second: SGLANG_RETURN_ORIGINAL_LOGPROB=1


class Row:
    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = sglang().torch.tensor(logits)[None]
        n = len(logits)
        self.result: Result = (np.arange(n), logits, np.zeros_like(logits), None, -1)


class Instance:
    """One request, alone in its batch. batches: one for the parameters up to each stage, and one
    for all without a mask, as for a client that does not ask for it."""

    batch = Batch

    def __init__(self, chain: ChainSpec, n_vocab: int) -> None:
        self.chain, self.n_vocab = chain, n_vocab
        self.names = [name for stage in chain for name in stage]
        self.params = [sampling_params(chain[: n + 1], n_vocab) for n in range(len(chain))]
        self.seed = next((stage["dist"]["seed"] for stage in chain if "dist" in stage), 0)
        self.reset()

    def reset(self) -> None:
        stops = [stop_tokens(self.chain)]
        self.batches = [self.batch([of], self.n_vocab, stops, masks=True) for of in self.params]
        of_all = sampling_params(self.chain, self.n_vocab)
        self.whole = self.batch([of_all], self.n_vocab, stops, masks=False)
        self.output: list[int] = []
        self.draws = 0
        generator = sglang().torch.Generator()
        generator.seed() if self.seed == ANY_SEED else generator.manual_seed(self.seed)
        self.state = generator.get_state()

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is None and self.names:
            token = self.token(row.logits.clone())
            row.result = (*row.result[:4], token if self.selects(len(self.chain) - 1) else -1)
        elif stage is not None:
            row.result = self.shown(stage, row)

    def selects(self, stage: int) -> bool:
        greedy = self.params[stage].top_k == 1 and self.names[stage] == "temp"
        return greedy or SLOTS[self.names[stage]] == slots.SELECT

    def token(self, logits: Any) -> int:
        torch = sglang().torch
        torch.set_rng_state(self.state)
        tokens, _ = self.whole.sample(self.whole.biased(logits), [self.draws])
        self.state = torch.get_rng_state()
        self.draws += 1
        return int(tokens[0])

    def shown(self, stage: int, row: Row) -> Result:
        batch, slot = self.batches[stage], SLOTS[self.names[stage]]
        logits = batch.biased(row.logits.clone())
        behind = logits[0].clone()
        if slot <= slots.BIAS:
            return np.arange(self.n_vocab), behind.numpy(), np.zeros(self.n_vocab), None, -1
        drawn, shown = batch.sample(logits, [self.draws])
        token = self.token(row.logits.clone()) if slot == slots.SELECT else drawn[0]
        ids, scores, p = self.listed(stage, behind, shown, drawn[0])
        at = np.flatnonzero(ids == token)[:1].tolist() if self.selects(stage) else []
        return ids, scores[ids], p[ids], None, at[0] if at else -1

    def listed(self, stage: int, behind: Any, shown: Shown, token: int) -> tuple[Any, Any, Any]:
        """Return ids, logits and p of all by id. token: of a greedy request."""
        names, everything = self.names[: stage + 1], np.arange(self.n_vocab)
        cut = any(SLOTS[name] == slots.FILTER for name in names)
        none = np.zeros(self.n_vocab, np.float32)
        if shown.weights is None:
            one = np.where(everything == token, np.float32(1), none)
            return (np.array([token]) if cut else everything), behind.numpy(), one
        weights, ranked = none.copy(), everything
        if shown.token_ids is not None:
            ranked = shown.token_ids[0].numpy()
        weights[ranked] = shown.weights[0].numpy()
        tempered = (behind if shown.tempered is None else shown.tempered[0]).numpy()
        listed = ranked if {"top_k", "top_p"} & set(names) else everything
        p = shown.probs[0].numpy() if names[-1] == "top_p" else none
        if names[-1] == "sglang_sample":
            return everything, behind.numpy(), weights
        if names[-1] == "dist":
            p = weights / weights.sum()
        return listed[weights[listed] > 0] if cut else everything, tempered, p

    def accept(self, token: int) -> None:
        self.output.append(token)
        for batch in (*self.batches, self.whole):
            batch.accept([token])

    def accept_prompt(self, token: int) -> None:
        """Do nothing: SGLang's penalties count generated tokens only."""

    def clone(self) -> "Instance":
        twin = Instance(self.chain, self.n_vocab)
        for token in self.output:
            twin.accept(token)
        twin.state, twin.draws = self.state, self.draws
        return twin

    def draw(self, row: Row, n: int, uniforms: NDArray[np.float64] | None) -> NDArray[np.int32]:
        no_uniforms(uniforms, "SGLang")
        return np.array([self.token(row.logits.clone()) for _ in range(n)], np.int32)


class Reporting(Instance):
    """One request that asks for logprobs. SGLang gathers from the row that is reported here."""

    def __init__(self, chain: ChainSpec, n_vocab: int, mode: str, top: int) -> None:
        self.mode, self.top, self.last = mode, top, -1
        super().__init__(chain, n_vocab)

    def reset(self) -> None:
        super().reset()
        self.whole.asks, self.whole.original = True, self.mode == MODES[1]

    def apply(self, stage: int | None, row: Row) -> None:
        if stage is not None and stage < len(self.names):
            super().apply(stage, row)
        else:
            row.result = reported.most_likely(self.whole.logprobs[0], self.last, self.top)

    def token(self, logits: Any) -> int:
        self.last = super().token(logits)
        return self.last


class Worker:
    def hello(self) -> HelloReply:
        return HelloReply(
            name="sglang",
            version=sglang().version,
            capabilities=["run", "draws", "time", "origin"],
            samplers=[*SLOTS, *reported.stages(MODES)],
            arithmetic=torch_cpu.ARITHMETIC,
        )

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        chain, mode, top = reported.parted(chain)
        return Reporting(chain, n_vocab, mode, top) if mode else Instance(chain, n_vocab)

    def candidates(self, logits: NDArray[np.float32]) -> Row:
        return Row(np.array(logits))

    def result(self, row: Row) -> Result:
        return row.result
