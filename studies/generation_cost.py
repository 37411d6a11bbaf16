"""`python -m studies.generation_cost`: the cost of sampling next to decoding, by vocabulary.

Makes the tables of docs/results/generation.md. Each chain of suites/generate/generation.toml
generates from one prompt of each model: llama.cpp decodes on one thread and samples with its native
chain; the reference samples the same logits. Times are processor times of that thread, medians over
the tokens, so that other programs disturb little; one token warms up. Also the entropy of the
logits, over all chains but greedy.
"""

import argparse
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.grid import fill
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.models import GOLDEN, RANDOM, model_path
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp.decode import Context, Model
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.suite.file import read_suite, suites_folder
from sampler_parity.reference import Candidates, build_chain

PROMPTS = {GOLDEN: [4090, 1660, 953, 82], RANDOM: [128253, 104, 101, 108, 108, 111]}


@dataclass(frozen=True)
class Cost:
    """Medians in ns a token; entropy of each step's logits in nats."""

    sampler_ns: float
    decode_ns: float
    reference_ns: float
    entropies: list[float]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=48)
    tokens = parser.parse_args().tokens
    worker = Worker()
    chains = read_suite(suites_folder() / "generate" / "generation.toml").suite.chains
    costs = {name: measure(worker, name, chains, tokens) for name in (GOLDEN, RANDOM)}
    print(table(costs[GOLDEN], costs[RANDOM]))
    for name, by_chain in costs.items():
        drawn = [e for chain, cost in by_chain.items() if chain != "greedy" for e in cost.entropies]
        tenths = statistics.quantiles(drawn, n=10)
        print(
            f"\n{name}: entropy of the logits {statistics.mean(drawn):.2f} nats on average,"
            f" {tenths[0]:.2f} to {tenths[-1]:.2f} in eight of ten steps (n = {len(drawn)})"
        )
    return 0


def measure(
    worker: Worker, name: str, chains: dict[str, ChainSpec], tokens: int, prompt: Any = None
) -> dict[str, Cost]:
    """Measure the cost of each chain on a model, by name or path."""
    path = model_path(name)
    model = Model(worker.library, path)
    prompt = prompt or PROMPTS[name]
    costs = {}
    for chain, stages in chains.items():
        spec = complete(fill(stages, {"prompt": 1}, model.n_vocab), model.n_vocab)
        costs[chain] = _generate(worker, model, path, spec, prompt, tokens)
    return costs


def _generate(
    worker: Worker, model: Model, path: Path, spec: ChainSpec, prompt: list[int], tokens: int
) -> Cost:
    native = worker.build(spec, model.n_vocab, str(path))
    chain = build_chain(spec, n_vocab=model.n_vocab, vocab=read_vocab(path))
    for token in prompt:
        native.accept(token)
        chain.accept(token)
    context = Context(model, len(prompt) + tokens + 1)
    clocks: list[tuple[int, int, int]] = []
    entropies: list[float] = []
    try:
        row = context.decode(prompt).copy()
        for _ in range(tokens + 1):
            start = time.thread_time_ns()
            token = native.sample(context.pointer)
            sampled = time.thread_time_ns()
            cand = Candidates.from_logits(row)
            chain.apply(cand)
            chain.accept(token)
            checked = time.thread_time_ns()
            entropies.append(entropy(row))
            decoding = time.thread_time_ns()
            row = context.decode([token]).copy()
            clocks.append((sampled - start, time.thread_time_ns() - decoding, checked - sampled))
            if cand.token != token:
                raise SystemExit(f"{spec}: the reference drew {cand.token}, llama.cpp {token}")
    finally:
        context.close()
    sampler, decode, reference = (statistics.median(c) for c in zip(*clocks[1:], strict=True))
    return Cost(sampler, decode, reference, entropies[1:])


def entropy(logits: NDArray[np.float32]) -> float:
    """Return the entropy of the softmax, in nats."""
    shifted = logits.astype(np.float64) - float(logits.max())
    total = np.log(np.exp(shifted).sum())
    return float(total - (np.exp(shifted - total) * shifted).sum())


def table(small: dict[str, Cost], large: dict[str, Cost]) -> str:
    """Return Markdown: microseconds a token, and the factor at the larger vocabulary."""
    lines = [
        "| chain | sampler, V = 4,096 | decode | sampler, V = 128,256 | decode | ratio of samplers"
        " | reference, V = 128,256 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, few in small.items():
        many = large[name]
        cells = [few.sampler_ns, few.decode_ns, many.sampler_ns, many.decode_ns]
        shown = " | ".join(f"{ns / 1000:,.0f} us" for ns in cells)
        ratio = many.sampler_ns / few.sampler_ns
        lines.append(f"| `{name}` | {shown} | {ratio:.0f} | {many.reference_ns / 1000:,.0f} us |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
