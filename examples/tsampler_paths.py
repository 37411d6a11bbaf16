"""Two ways to sample, and snapshots: `python examples/tsampler_paths.py`

samplingPath selects the sampler: tsampler, or the native chain with the same parameters. A snapshot
holds the path and the parameters, including the seed, as JSON: replayed, it gives the same text.
The other path draws from the same distribution with another generator, so its text differs.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

from golden_model import Row, generate

from sampler_parity.engines.tsampler.model.history import TokenHistoryTracker
from sampler_parity.engines.tsampler.model.sample import SamplingParams, sample_with_strategy
from sampler_parity.engines.tsampler.model.xoroshiro import Xoroshiro128Plus
from sampler_parity.reference import Candidates, build_chain

PROMPT = "Sequences also support"


@dataclass(frozen=True)
class Snapshot:
    """The data that reproduces a text. path: typescript or native."""

    path: str
    prompt: str
    n_tokens: int
    seed: int
    params: SamplingParams

    def write(self) -> str:
        return json.dumps(asdict(self))


def read(text: str) -> Snapshot:
    fields = json.loads(text)
    return Snapshot(**{**fields, "params": SamplingParams(**fields["params"])})


def typescript(snapshot: Snapshot) -> Callable[[Row], int]:
    rng, history = Xoroshiro128Plus(snapshot.seed), TokenHistoryTracker(64)

    def choose(logits: Row) -> int:
        token = sample_with_strategy(logits, history, rng, snapshot.params)
        history.accept(token)
        return token

    return choose


def native(snapshot: Snapshot) -> Callable[[Row], int]:
    """Sample with llama.cpp's samplers in tsampler's order: the reference's chain, equal to the
    bit.
    """
    params = snapshot.params
    chain = build_chain(
        [
            {"penalties": {"penalty_last_n": 64, "penalty_repeat": params.penalty_repeat}},
            {"top_k": {"k": params.top_k}},
            {"top_p": {"p": params.top_p, "min_keep": 1}},
            {"min_p": {"p": params.min_p, "min_keep": 1}},
            {"temp": {"temp": params.temp}},
            {"dist": {"seed": snapshot.seed}},
        ]
    )

    def choose(logits: Row) -> int:
        cand = Candidates.from_logits(logits)
        chain.apply(cand)
        assert cand.token is not None
        chain.accept(cand.token)
        return cand.token

    return choose


PATHS = {"typescript": typescript, "native": native}


def replay(snapshot: Snapshot) -> str:
    return generate(snapshot.prompt, snapshot.n_tokens, PATHS[snapshot.path](snapshot))


def main() -> None:
    for path in PATHS:
        taken = Snapshot(path, PROMPT, 24, 42, SamplingParams())
        text = replay(taken)
        again = replay(read(taken.write()))
        print(f"{path:10} {text!r}")
        print(f"{'replayed':10} {'the same' if again == text else repr(again)}")


if __name__ == "__main__":
    main()
