"""The record of end-to-end measurements: one line of JSON for each model, chain and width."""

from typing import Literal

from pydantic import model_validator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.strict import Strict


class Generation(Strict):
    """One generation, in nanoseconds."""

    prompt_ns: int
    """nanoseconds for the prompts"""
    sample_ns: list[int]
    """nanoseconds of sampling in each step, all sequences together"""
    decode_ns: list[int]
    """nanoseconds of decoding in each step, all sequences together"""


class ThroughputOnBackend(Strict):
    """The generations of one backend."""

    rounds: list[Generation] = []
    """one generation for each round; round i runs on all backends in turn"""
    alone: list[Generation] = []
    """the same rounds with one sequence"""
    in_graph: int = 0
    """how many stages of the chain ran in the model's graph"""
    text_sha256: str = ""
    parted: str = ""
    """first difference between sequences or rounds that must be equal"""
    failed: str = ""


class ThroughputResult(Result):
    """Generations of one chain on one model, on every backend."""

    kind: Literal["throughput"] = "throughput"
    id: str
    suite: str = ""
    model: str
    n_vocab: int
    chain: str
    """name of the chain"""
    stages: int
    """number of stages"""
    sequences: int
    """sequences at once"""
    n_prompt: int
    """prompt tokens of each sequence"""
    n_tokens: int
    """generated tokens of each sequence"""
    backends: dict[str, ThroughputOnBackend]
    baseline: str
    """backend that the others are compared with"""
    again: ThroughputOnBackend = ThroughputOnBackend()
    """a second process of the baseline, timed in the same rounds"""

    @model_validator(mode="after")
    def _has_the_baseline(self) -> "ThroughputResult":
        if self.baseline not in self.backends:
            raise ValueError(f"baseline: no measurement of {self.baseline!r}")
        return self
