"""What a run of end-to-end measurements records: one line of JSON a model, chain and width."""

from typing import Literal

from pydantic import model_validator

from sampler_parity.harness.strict import Strict


class Generation(Strict):
    """One generation, in nanoseconds; sample_ns, decode_ns: of each step, all sequences."""

    prompt_ns: int
    sample_ns: list[int]
    decode_ns: list[int]


class ThroughputOnBackend(Strict):
    """rounds: those of index i stand next to each other in time on all backends.

    alone: of the same rounds, with one sequence instead; none where `rounds` have one.
    in_graph: how many of the chain's stages ran in the model's graph. failed: why nothing ran.
    text_sha256: of the first sequence's tokens, as int32; "" where there are none. parted: where
    sequences that must be equal are not, or rounds.
    """

    rounds: list[Generation] = []
    alone: list[Generation] = []
    in_graph: int = 0
    text_sha256: str = ""
    parted: str = ""
    failed: str = ""


class ThroughputResult(Strict):
    """Generations of one chain on one model, `sequences` of them at once, on every backend.

    n_prompt, n_tokens: of each sequence. baseline, again: as in TimingResult.
    """

    kind: Literal["throughput"] = "throughput"
    id: str
    suite: str = ""
    model: str
    n_vocab: int
    chain: str
    stages: int
    sequences: int
    n_prompt: int
    n_tokens: int
    backends: dict[str, ThroughputOnBackend]
    baseline: str
    again: ThroughputOnBackend = ThroughputOnBackend()

    @model_validator(mode="after")
    def _has_the_baseline(self) -> "ThroughputResult":
        if self.baseline not in self.backends:
            raise ValueError(f"baseline is {self.baseline!r}, of which nothing was measured")
        return self
