"""Faults of SGLang's worker: what an adapter of it can get wrong."""

from typing import Any

from sampler_parity.engines.sglang.batch import Batch
from sampler_parity.engines.sglang.engine import sglang
from sampler_parity.engines.sglang.worker import Instance, Worker
from sampler_parity.engines.shared.reported_faults import faults_of_logprobs
from sampler_parity.harness.faults.engine_faults import Fault
from sampler_parity.harness.protocol.messages import ChainSpec


class OfFault(Worker):
    """Build instances of a faulty class."""

    instances: type[Instance] = Instance

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        return self.instances(chain, n_vocab)


class CountsPrompt(Instance):
    def accept_prompt(self, token: int) -> None:
        self.accept(token)


class PromptIsOutput(OfFault):
    """The penalties count the prompt."""

    instances = CountsPrompt


class Standing(Instance):
    def token(self, logits: Any) -> int:
        self.draws = 0
        return super().token(logits)


class PositionStandsStill(OfFault):
    """Every draw is at the first position."""

    instances = Standing


class Keeping(Instance):
    def reset(self) -> None:
        output = getattr(self, "output", [])
        super().reset()
        for token in output:
            self.accept(token)


class ResetKeepsOutput(OfFault):
    """A restarted request keeps its output."""

    instances = Keeping


class WithoutStops(Batch):
    def __init__(self, params: Any, n_vocab: int, stops: Any, *, masks: bool) -> None:
        super().__init__(params, n_vocab, [set() for _ in stops], masks=masks)


class Unstopped(Instance):
    batch = WithoutStops


class StopsLeftOut(OfFault):
    """min_new_tokens has no stop ids to ban."""

    instances = Unstopped


class OthersRanks(Instance):
    def listed(self, stage: int, behind: Any, shown: Any, token: int) -> Any:
        shown.token_ids = None
        return super().listed(stage, behind, shown, token)


class RanksAreIds(OfFault):
    """The survivors of the filters by rank are taken as by id."""

    instances = OthersRanks


FAULTS = [
    Fault(
        "sglang/prompt-is-output",
        PromptIsOutput,
        case="sglang_penalties/prompt-counts-for-nothing",
        stage="sglang_penalties",
    ),
    Fault(
        "sglang/position-stands-still",
        PositionStandsStill,
        case="sglang_sample/draws",
        stage="sglang_sample",
    ),
    Fault(
        "sglang/reset-keeps-output",
        ResetKeepsOutput,
        case="sglang_penalties/parameters/normal-V129-reset",
        stage="sglang_penalties",
    ),
    Fault(
        "sglang/stops-left-out",
        StopsLeftOut,
        case="sglang_penalties/minimum-last-banned",
        stage="sglang_penalties",
    ),
    Fault(
        "sglang/ranks-are-ids",
        RanksAreIds,
        case="sglang_sample/top_k-ties",
        stage="sglang_sample",
    ),
    *faults_of_logprobs("sglang", Worker, sglang),
]
