"""Tokens a second with decoding: backends take turns, round by round in random order."""

import random
from pathlib import Path
from typing import Any

from pydantic import Field

from sampler_parity.harness.bundle.records.throughput import (
    Generation,
    ThroughputOnBackend,
    ThroughputResult,
)
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.models import model_path, n_vocab_of
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendFailure, BackendProcess
from sampler_parity.harness.suite.blocks.grid import Block, Subset, fill, points
from sampler_parity.harness.suite.blocks.timing import read_toml


class Width(Block):
    """A chain on a model with one and more sequences at once, each of them given the prompt."""

    id: str
    model: str
    chain_name: str
    chain: p.ChainSpec
    prompt: list[int] = Field(min_length=1)
    tokens: int = Field(gt=0)
    sequences: int = Field(gt=0)


class _Grid(Block):
    """sizes: sequences at once. The quick profile takes `quick` of the grid."""

    id: str
    model: str
    prompt: list[int] = Field(min_length=1)
    tokens: int = Field(gt=0)
    sizes: list[int]
    chains: list[str]
    quick: bool | Subset | list[Subset] = True


class _Suite(Block):
    name: str
    chains: dict[str, p.ChainSpec]
    grid: list[_Grid]


def read_widths(path: Path, quick: bool) -> list[Width]:
    """What a suite in suites/throughput/ measures. Raises InputError."""

    def widths(suite: _Suite) -> list[Width]:
        return [one for grid in suite.grid for one in _expand(grid, suite.chains, quick)]

    return read_toml(path, _Suite, widths)


def _expand(grid: _Grid, chains: dict[str, p.ChainSpec], quick: bool) -> list[Width]:
    axes: dict[str, list[Any]] = {"chains": grid.chains, "sizes": grid.sizes}
    return [
        Width(
            id=f"throughput/{grid.id}/{point['chains']}/{point['sizes']}",
            model=grid.model,
            chain_name=point["chains"],
            chain=fill(chains[point["chains"]], {}, n_vocab_of(grid.model)),
            prompt=grid.prompt,
            tokens=grid.tokens,
            sequences=point["sizes"],
        )
        for point in points(axes, grid.quick, quick)
    ]


def measure(
    asked: Width,
    backends: list[BackendProcess],
    rounds: int,
    seed: int,
    again: BackendProcess | None = None,
) -> ThroughputResult:
    """The first backend is the baseline, again a second process of it; one round warms up."""
    n = n_vocab_of(asked.model)
    path = model_path(asked.model)
    request = p.ThroughputRequest(
        model=str(path),
        n_vocab=n,
        chain=complete(asked.chain, n, read_vocab(path)),
        prompt=asked.prompt,
        n_tokens=asked.tokens,
        sequences=asked.sequences,
    )
    processes = [*backends, *([again] if again else [])]
    found = [ThroughputOnBackend() for _ in processes]
    order = random.Random(seed)
    for turn in range(rounds + 1):
        for i in order.sample(range(len(processes)), len(processes)):
            if not found[i].failed:
                found[i] = _turn(processes[i], request, found[i], keep=turn > 0)
    return ThroughputResult(
        id=asked.id,
        model=asked.model,
        n_vocab=n,
        chain=asked.chain_name,
        stages=len(asked.chain),
        sequences=asked.sequences,
        n_prompt=len(asked.prompt),
        n_tokens=asked.tokens,
        backends={b.name: found[i] for i, b in enumerate(backends)},
        baseline=backends[0].name,
        again=found[-1] if again else ThroughputOnBackend(),
    )


def _turn(
    process: BackendProcess, request: p.ThroughputRequest, so_far: ThroughputOnBackend, keep: bool
) -> ThroughputOnBackend:
    try:
        if "throughput" not in process.hello().capabilities:
            return ThroughputOnBackend(failed="unsupported: decodes no sequences for timing")
        reply = process.ask(request, p.ThroughputReply)
        if not len(reply.sample_ns) == len(reply.decode_ns) == request.n_tokens:
            raise process.violation(f"{request.n_tokens} steps were asked for")
    except BackendFailure as failure:
        return ThroughputOnBackend(failed=f"{failure.verdict}: {failure}")
    if not keep:
        return so_far
    one = Generation(
        prompt_ns=reply.prompt_ns, sample_ns=reply.sample_ns, decode_ns=reply.decode_ns
    )
    return ThroughputOnBackend(rounds=[*so_far.rounds, one], in_graph=reply.in_graph)
