"""Send a backend the requests of a serving engine: a batch whose rows join and leave, sequences in
one context, and rounds of speculative sampling.

A backend without the capability `batch` gets a `run` for each row that joins, with the part of the
script about that row and its clones. Its tokens are then those of its chains, and show nothing
about batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.engines.samplers import separates_prompt
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.arithmetic import Dtype, narrowed
from sampler_parity.harness.protocol.client import Got, Row, Setting, asked_again, claim, put
from sampler_parity.harness.protocol.interface import Backend, Rounds
from sampler_parity.harness.protocol.live import Live, sequences_of


@dataclass(frozen=True)
class Batch:
    """Sequences and the operations on them. vocab, dtype: as of a Setting."""

    sequences: list[p.BatchSequence]
    steps: list[p.BatchStep]
    n_vocab: int
    vocab: str | None = None
    dtype: Dtype = "float32"


@dataclass(frozen=True)
class BatchRan:
    """For each step and each row that sampled: the token, and the candidates after each stage.
    changed: rows of logits that the backend changed. apart: the rows ran one by one."""

    tokens: list[list[int | None]]
    stages: list[list[list[Got]]]
    ns: int = 0
    changed: list[int] = field(default_factory=list)
    apart: bool = False


@asked_again
def batch(
    backend: Backend, script: Batch, rows: Sequence[Row], detail: client.Detail = "stages"
) -> BatchRan:
    """Execute the steps of the script."""
    hello = backend.hello()
    if "batch" not in hello.capabilities:
        return _one_by_one(backend, script, rows, detail)
    claim(backend, "batch", [stage for sequence in script.sequences for stage in sequence.chain])
    if any(sequence.prompt and separates_prompt(sequence.chain) for sequence in script.sequences):
        claim(backend, "origin")
    placed, out = client.put(backend, rows, script.n_vocab, script.dtype)
    expected = _stages(script, detail, as_one="no_stages" in hello.capabilities)
    backend.scratch.ensure(out + 12 * script.n_vocab * sum(map(sum, expected)))
    request = p.BatchRequest(
        n_vocab=script.n_vocab,
        vocab=script.vocab,
        rows=placed,
        sequences=script.sequences,
        steps=script.steps,
        detail=detail,
        out=out,
    )
    reply = backend.ask(request, p.BatchReply)
    stages = reply.stages if detail == "stages" else [[[] for _ in step] for step in expected]
    if [len(step) for step in reply.tokens] != [len(step) for step in expected] or [
        [len(row) for row in step] for step in stages
    ] != expected:
        raise backend.violation("the reply has the wrong number of steps, rows or stages")
    return BatchRan(
        reply.tokens,
        [client.shown(backend, step, out, script.n_vocab) for step in stages],
        reply.ns,
        changed(backend, rows, placed.dtype),
    )


def _stages(script: Batch, detail: client.Detail, as_one: bool) -> list[list[int]]:
    """Return how many stages each sampling row shows, step by step."""
    if detail == "token":
        return [[0] * len(step.sample) for step in script.steps]
    lengths = [len(sequence.chain) for sequence in script.sequences]
    return [
        [min(1, lengths[s]) if as_one else lengths[s] for s in sampled]
        for sampled in sequences_of(script.steps)
    ]


def changed(backend: Backend, logits: Sequence[Row], dtype: Dtype) -> list[int]:
    """Return the rows of the scratch file that the backend changed."""
    rows = [narrowed(row, dtype) for row in logits]
    ends = [0, *np.cumsum([row.nbytes for row in rows]).tolist()]
    return [
        i
        for i, (start, end) in enumerate(pairwise(ends))
        if backend.scratch.read(start, end - start, np.uint8).tobytes() != rows[i].tobytes()
    ]


@dataclass
class Joined:
    """A row that joined, with its clones: instances of one `run`. places: of each of its steps the
    step of the script and the place among its sampling rows. before: the operations since."""

    sequence: int
    steps: list[p.Step] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    before: list[tuple[str, int]] = field(default_factory=list)
    instances: int = 1

    def clone(self, instance: int) -> int:
        self.before.append(("clone", instance))
        self.instances += 1
        return self.instances - 1


def one_by_one(steps: list[p.BatchStep]) -> list[Joined]:
    """Return the script of each row that joins, in the order of joining."""
    joined: list[Joined] = []

    def join(sequence: int) -> tuple[Joined, int]:
        joined.append(Joined(sequence))
        return joined[-1], 0

    live = Live(
        join,
        clone=lambda row: (row[0], row[0].clone(row[1])),
        reset=lambda row: row[0].before.append(("reset", row[1])),
    )
    for number, step in enumerate(steps):
        live.do(step.before)
        for index, sample in enumerate(step.sample):
            row, instance = live.rows[sample.at]
            taken = {"row": sample.row, "instance": instance, "accept": sample.accept}
            row.steps.append(p.Step.model_validate(taken | {"before": row.before}))
            row.places.append((number, index))
            row.before = []
    return [row for row in joined if row.steps]


def _one_by_one(
    backend: Backend, script: Batch, rows: Sequence[Row], detail: client.Detail
) -> BatchRan:
    tokens: list[list[int | None]] = [[None] * len(step.sample) for step in script.steps]
    stages: list[list[list[Got]]] = [[[] for _ in step.sample] for step in script.steps]
    ns = 0
    for row in one_by_one(script.steps):
        sequence = script.sequences[row.sequence]
        history = [*sequence.prompt, *sequence.output]
        n_prompt = len(sequence.prompt) if separates_prompt(sequence.chain) else 0
        setting = Setting(
            sequence.chain, script.n_vocab, script.vocab, history, n_prompt, script.dtype
        )
        ran = client.run(backend, setting, rows, row.steps, detail=detail, whole_chain=False)
        ns += ran.ns
        for (step, index), token, results in zip(row.places, ran.tokens, ran.stages, strict=True):
            tokens[step][index] = token
            stages[step][index] = [stage.copy() for stage in results]
    return BatchRan(tokens, stages, ns, apart=True)


Sequenced = client.GeneratedRows[p.SequencesReply]


@asked_again
def sequences(backend: Backend, request: p.SequencesRequest) -> Sequenced:
    """Return the tokens of many sequences, and the logits they were sampled from. rejected: a row
    is missing."""
    chain = [stage for text in request.texts for stage in text.chain]
    hello = claim(backend, "sequences", chain)
    sequenced = client.generated(backend, hello, request, p.SequencesReply, "of token")
    if sequenced.handed_back is not None and len(sequenced.reply.in_graph) != len(request.texts):
        raise backend.violation("in_graph must have an item for each text")
    return sequenced


RuleName = Literal["rejection", "matching"]


@asked_again
def speculative(
    backend: Backend, setting: Setting, rule: RuleName, rounds: Rounds
) -> tuple[NDArray[np.int32], int]:
    """Return int32[n, drafted + 1], the tokens of each round and -1 behind the last; and ns."""
    claim(backend, "speculative", setting.chain)
    n, drafted = rounds.drafts.shape
    placed, draft_rows = put(backend, list(rounds.logits), setting.n_vocab)
    drafts = backend.scratch.write(draft_rows, rounds.draft_rows)
    seeds = backend.scratch.write(drafts, rounds.drafts)
    out = backend.scratch.write(seeds, rounds.seeds)
    backend.scratch.write(out, np.full(n * (drafted + 1), -2, np.int32))
    request = p.SpeculativeRequest(
        **setting.fields(backend),
        rule=rule,
        rows=placed,
        drafted=drafted,
        draft_rows=draft_rows,
        n=n,
        drafts=drafts,
        seeds=seeds,
        out=out,
    )
    reply = backend.ask(request, p.SpeculativeReply)
    tokens = client.written(backend, out, n * (drafted + 1), np.int32).reshape(n, drafted + 1)
    if ((tokens < -1) | (tokens >= setting.n_vocab)).any() or (tokens[:, 0] < 0).any():
        raise backend.violation("a round has no token, or one outside the vocabulary")
    if ((tokens[:, :-1] < 0) & (tokens[:, 1:] >= 0)).any():
        raise backend.violation("a round has a token after its end")
    return tokens, reply.ns
