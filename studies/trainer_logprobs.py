"""The bias of a trainer's importance ratio, by engine, mode and filter: exact sums.

    python -m studies.trainer_logprobs [-b BACKEND]...

A model is a table: random logits for each prefix of at most two of six tokens. The rollout draws
up to three tokens by the chain of a request. The ratio of a text is exp(sum(trainer's
log-probability - engine's log-probability)). Its expectation is summed over all texts, weighted by
the exact distribution of the chain. It is 1 if the ratio is that of two distributions on the
tokens that the rollout can draw. `corrected`: both values renormalized over the tokens kept at each
position, the trainer's and the engine's.

Engines are asked through the suite's stage `logprobs/MODE`, for every token. Trainers' functions
run in the environment `trainers` (trainer_functions.py).
"""

import argparse
import itertools
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import engines, environments, registry
from sampler_parity.harness.checks.logprobs.block import LogprobsBlock, LogprobsCase
from sampler_parity.harness.checks.logprobs.run import KINDS, exact
from sampler_parity.harness.checks.stages.prepared import Prepared, prepare
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend
from sampler_parity.harness.protocol.messages import ChainSpec

TOKENS, LENGTH = 6, 3
PREFIXES = [p for n in range(LENGTH) for p in itertools.product(range(TOKENS), repeat=n)]
Values = NDArray[np.float64]
DRAW: ChainSpec = [{"dist": {"seed": 1}}]
HALF: ChainSpec = [{"temp": {"temp": 0.5}}]
ENGINES = {
    "vllm": ("raw_logprobs", "processed_logprobs", "processed_logits"),
    "vllm_gpu": ("raw_logprobs", "processed_logprobs", "processed_logits"),
    "sglang": ("sglang", "sglang_original"),
    "mlx_lm": ("generate_step",),
    "transformers": ("scores",),
}
BY_DEFAULT = ["vllm", "sglang", "mlx_lm", "transformers"]
FIRST = ("mlx_lm",)  # their filters stand before the temperature


@dataclass(frozen=True)
class Rollout:
    """The parameters of requests. temperature: what a trainer divides by."""

    name: str
    filters: ChainSpec
    temperature: float = 1.0
    bias: float = 0.0

    def chain(self, backend: str) -> ChainSpec:
        own = HALF if self.temperature != 1 else []
        behind = [*self.filters, *own] if backend in FIRST else [*own, *self.filters]
        biased: ChainSpec = [{"logit_bias": {"logit_bias": [[0, self.bias]]}}] if self.bias else []
        if biased and backend == "transformers":
            biased = [{"transformers_sequence_bias": {"sequence_bias": [[[0], self.bias]]}}]
        return [*biased, *behind, *DRAW]


ROLLOUTS = [
    Rollout("no filter", []),
    Rollout("temperature 0.5", [], 0.5),
    Rollout("top-k 3", [{"top_k": {"k": 3}}]),
    Rollout("top-p 0.8", [{"top_p": {"p": 0.8}}]),
    Rollout("min-p 0.15", [{"min_p": {"p": 0.15}}]),
    Rollout("0.5 and top-p 0.9", [{"top_p": {"p": 0.9}}], 0.5),
    Rollout("bias +1", [], bias=1.0),
]


def table(seed: int) -> NDArray[np.float32]:
    """Return logits for each prefix; the last token, which no one can draw, makes space for the
    drawn one in an engine's list. seed 1: other weights, near those of seed 0."""
    logits = np.random.default_rng(0).normal(0, 1.5, (len(PREFIXES), TOKENS))
    logits += seed * np.random.default_rng(1).normal(0, 0.3, logits.shape)
    return np.column_stack([logits, np.full(len(logits), -np.inf)]).astype(np.float32)


def prepared(rollout: Rollout, backend: str, mode: str) -> Prepared[LogprobsCase]:
    """Return the case that asks for every token of every row."""
    rows = {"rows": table(0).tolist()}
    block = LogprobsBlock.model_validate(
        {
            "id": "x", "description": "x", "why": "x", "modes": {mode: "raw"}, "top": TOKENS,
            "logits": {"rows": rows}, "rows": len(PREFIXES),
        }
    )  # fmt: skip
    (case,) = block.items({"x": rollout.chain(backend)})
    return prepare(case)


def of_engine(backend: Backend, ready: Prepared[LogprobsCase]) -> Values:
    """Return the engine's value of each token on each row, -inf for one that is not listed."""
    chain = [*ready.chain, ready.case.claimed[0][-1]]
    setting = client.Setting(chain, TOKENS + 1)
    ran = client.run(backend, setting, ready.rows, ready.steps, whole_chain=False)
    values = np.full((len(PREFIXES), TOKENS + 1), -np.inf)
    for row, (*_, got) in zip(values, ran.stages, strict=True):
        row[got.ids] = got.logits
    return values


@cache
def of_trainers(temperature: float) -> list[dict[str, Values]]:
    """Return the value of each token on each row by function, with the engine's and with other
    weights."""
    python = environments.python_of(environments.folder_of("trainers"))
    script = Path(__file__).with_name("trainer_functions.py")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        asked: dict[str, Any] = {f"{seed}/{temperature}": table(seed) for seed in (0, 1)}
        np.savez(source, **asked)
        subprocess.run([python, "-I", script, source, target], check=True)
        found: list[dict[str, Values]] = [{}, {}]
        with np.load(target) as loaded:
            for key in loaded.files:
                seed, _, function = key.split("/")
                found[int(seed)][function] = loaded[key]
        return found


def expected(q: Values, ratio: Values, length: int, prefix: tuple[int, ...] = ()) -> float:
    """Return the expectation of the product of the ratios of the tokens of a text. q, ratio: of
    each token on each row."""
    if len(prefix) == length:
        return 1.0
    row = PREFIXES.index(prefix)
    return sum(
        float(q[row, t] * ratio[row, t]) * expected(q, ratio, length, (*prefix, t))
        for t in range(TOKENS)
        if q[row, t] > 0
    )


def renormalized(values: Values, kept: NDArray[np.bool_]) -> Values:
    """Subtract the logarithm of the mass of the tokens kept."""
    with np.errstate(divide="ignore"):
        mass = np.log(np.where(kept, np.exp(values), 0).sum(1, keepdims=True))
    return np.asarray(values - mass)


def biases(q: Values, trainer: Values, engine: Values, length: int) -> tuple[float, float]:
    """Return the expectation of the ratio minus 1, as it is and corrected."""
    kept = q > 0
    pair = renormalized(trainer, kept), renormalized(engine, kept)
    with np.errstate(invalid="ignore"):
        plain, corrected = (np.exp(new - old) for new, old in ((trainer, engine), pair))
    return expected(q, plain, length) - 1, expected(q, corrected, length) - 1


def measured(name: str) -> Iterator[str]:
    """Yield the lines of the tables of a backend."""
    with closing(registry.start(name)) as backend:
        yield f"{name}: {backend.hello().version}"
        for rollout in ROLLOUTS:
            trainers = of_trainers(rollout.temperature)
            for mode in ENGINES[name]:
                ready = prepared(rollout, name, mode)
                engine = of_engine(backend, ready)
                rows = [exact(ready, row) for row in ready.rows]
                q = np.exp([row[KINDS.index("renormalized")] for row in rows])
                yield from lines(f"{name} {mode} | {rollout.name}", q, trainers, engine)


def lines(
    about: str, q: Values, trainers: list[dict[str, Values]], engine: Values
) -> Iterator[str]:
    """Yield a line for each function: the same weights for 1 to 3 tokens, corrected for 3; other
    weights for 3 tokens, as it is and corrected."""
    same, other = trainers
    for function, values in same.items():
        figures = [biases(q, values, engine, n)[0] for n in range(1, LENGTH + 1)]
        figures.append(biases(q, values, engine, LENGTH)[1])
        figures += biases(q, other[function], engine, LENGTH)
        yield f"| {about} | {function} | {' | '.join(f'{x:+.6f}' for x in figures)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-b", dest="backends", action="append", choices=sorted(ENGINES))
    names = parser.parse_args().backends or BY_DEFAULT
    needed = ["trainers", *filter(None, (engines.ENGINES[name].environment for name in names))]
    if lacking := [why for one in needed if (why := environments.missing(one))]:
        parser.exit(2, "\n".join(["not installed; run", *lacking, ""]))
    print("| engine, mode | rollout | trainer | 1 | 2 | 3 | 3 corrected | other 3 | corrected |")
    for name in names:
        for line in measured(name):
            print(line, flush=True)


if __name__ == "__main__":
    main()
