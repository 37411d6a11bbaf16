"""Measure tokens a second with decoding: docs/measure-speed.md. Backends take turns, round by round
in random order, each with all sequences and with one alone."""

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import ClassVar

import numpy as np
from pydantic import Field

from sampler_parity.harness.checks import Profile
from sampler_parity.harness.checks.batch.block import seeded
from sampler_parity.harness.checks.context import RunContext
from sampler_parity.harness.checks.grid import Axes, Subset, SuiteBlock, fill, points
from sampler_parity.harness.checks.item import CheckItem
from sampler_parity.harness.checks.late_failures import Watched
from sampler_parity.harness.checks.timed_records import (
    Generation,
    ThroughputOnBackend,
    ThroughputResult,
)
from sampler_parity.harness.checks.timing.rounds import RoundPlan, started
from sampler_parity.harness.inputs.chains import FileValidator, complete
from sampler_parity.harness.inputs.models import model_path, n_vocab_of
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.strict import Steps, Tokens


class Width(SuiteBlock):
    """A chain on a model, with this many sequences at once, each with the prompt."""

    check: ClassVar[str] = "throughput"

    id: str
    model: str
    chain_name: str
    chain: ChainSpec
    prompt: Tokens = Field(min_length=1)
    tokens: Steps
    sequences: Steps

    def validate_input(self, validator: FileValidator, place: str) -> None:
        n = n_vocab_of(self.model)
        validator.prompt(place, self.prompt, n)
        validator.build(place, [("chain", self.chain)], n, read_vocab(model_path(self.model)))


class WidthGrid(SuiteBlock):
    """Tokens a second of chains on a model, by number of sequences."""

    id: str
    model: str
    prompt: Tokens = Field(min_length=1)
    """tokens that each sequence begins with"""
    tokens: Steps
    """tokens to generate for each sequence"""
    sizes: list[Steps]
    """numbers of sequences at once"""
    chains: list[str]
    """names of chains of the file"""
    quick: bool | Subset | list[Subset] = True

    def items(self, shared: Mapping[str, ChainSpec], quick: bool) -> Iterator[Width]:
        """Yield the widths. Raises ValueError if it cannot be expanded, InputError for an unknown
        model."""
        axes: Axes = {"chains": list(self.chains), "sizes": list(self.sizes)}
        for point in points(axes, self.quick, quick):
            name, sequences = point["chains"], point["sizes"]
            if name not in shared:
                raise ValueError(f"no chain {name!r} in the file")
            yield Width(
                id=f"throughput/{self.id}/{name}/{sequences}",
                model=self.model,
                chain_name=name,
                chain=fill(shared[name], {}, n_vocab_of(self.model)),
                prompt=self.prompt,
                tokens=self.tokens,
                sequences=sequences,
            )


GENERATIONS: dict[Profile, int] = {"quick": 6, "full": 12}


def measure(items: Sequence[CheckItem], context: RunContext) -> None:
    """Decode widths on every backend, in new processes: decoding is not pinned."""
    terms, names = context.terms, list(context.terms.backends)
    with ExitStack() as stack:
        *backends, second = started(stack, [*names, names[0]], terms)
        rounds = RoundPlan(
            GENERATIONS[terms.profile], terms.seed, second, progress=context.progress
        )
        for item in items:
            result = decode_width(item.check, backends, rounds)
            context.record([result.model_copy(update={"suite": item.suite})])


def decode_width(width: Width, backends: Sequence[Backend], rounds: RoundPlan) -> ThroughputResult:
    """Measure a width. The first backend is the baseline; one round warms up."""
    second = rounds.second
    n = n_vocab_of(width.model)
    path = model_path(width.model)
    request = p.ThroughputRequest(
        model=str(path),
        n_vocab=n,
        chain=complete(width.chain, n),
        prompt=width.prompt,
        n_tokens=width.tokens,
        sequences=width.sequences,
    )
    both = [*backends, *([second] if second else [])]
    measured = [ThroughputOnBackend() for _ in both]
    watched = [Watched(backend) for backend in both]
    turns = [(i, False) for i in range(len(both))]
    turns += [(i, True) for i in range(len(backends)) if width.sequences > 1]
    order = random.Random(rounds.seed)
    for turn in rounds.turns():
        # another order in each round, so that no backend is always the first
        for i, alone in order.sample(turns, len(turns)):
            if not measured[i].failed:
                measured[i] = _turn(both[i], request, measured[i], alone, keep=turn > 0)
    for i, backend in enumerate(watched):
        problem = backend.problem()
        if problem and not measured[i].failed:
            measured[i] = ThroughputOnBackend(failed=f"crashed: {problem}")
    return ThroughputResult(
        id=width.id,
        model=width.model,
        n_vocab=n,
        chain=width.chain_name,
        stages=len(width.chain),
        sequences=width.sequences,
        n_prompt=len(width.prompt),
        n_tokens=width.tokens,
        backends={b.name: measured[i] for i, b in enumerate(backends)},
        baseline=backends[0].name,
        again=measured[-1] if second else ThroughputOnBackend(),
    )


def _turn(
    backend: Backend,
    request: p.ThroughputRequest,
    so_far: ThroughputOnBackend,
    alone: bool,
    keep: bool,
) -> ThroughputOnBackend:
    """Return the measurements with one more. alone: with one sequence."""
    if alone:
        request = request.model_copy(update={"sequences": 1})
    try:
        reply = client.throughput(backend, request)
    except BackendFailure as failure:
        return ThroughputOnBackend(failed=f"{failure.verdict}: {failure}")
    so_far = _with_tokens(so_far, request.chain, reply.tokens)
    if not keep:
        return so_far
    generation = Generation(
        prompt_ns=reply.prompt_ns, sample_ns=reply.sample_ns, decode_ns=reply.decode_ns
    )
    if alone:
        return so_far.model_copy(update={"alone": [*so_far.alone, generation]})
    further = {"rounds": [*so_far.rounds, generation], "in_graph": reply.in_graph}
    return so_far.model_copy(update=further)


def _with_tokens(
    so_far: ThroughputOnBackend, chain: p.ChainSpec, tokens: list[list[int]]
) -> ThroughputOnBackend:
    """Check that sequences of one prompt, one chain and one seed select the same tokens, in every
    round and alone. There are no logits here, so a difference cannot be explained."""
    if not tokens or not seeded(chain):
        return so_far
    first = np.array([selected[0] for selected in tokens], "<i4")
    digest = hashlib.sha256(first.tobytes()).hexdigest()
    parted = so_far.parted or _parted(tokens)
    if so_far.text_sha256 not in ("", digest):
        parted = parted or "alone or in another round the first sequence selects other tokens"
    return so_far.model_copy(update={"text_sha256": digest, "parted": parted})


def _parted(tokens: list[list[int]]) -> str:
    """Return the first sequence that leaves the first one's text; "" if there is none."""
    for step, selected in enumerate(tokens, 1):
        for sequence, token in enumerate(selected, 1):
            if token != selected[0]:
                part = f"sequence {sequence} of {len(selected)} leaves the first one's text"
                return f"{part} at token {step}, with its prompt and seed"
    return ""
