"""Many clients at once, each token predicted: what of one reaches another, is seen in its text.

In a batch llama.cpp's logits differ in their last bits (docs/sequences.md), so now and then a token
is another: one that the reference draws, too, from logits that are moved by no more than that, with
the state that its sampler then has. Whatever else is drawn comes from elsewhere.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.protocol.ask import Row
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.observation import Told, rows_of, told
from sampler_parity.harness.servers.oracle.decoder import Logits
from sampler_parity.harness.servers.oracle.generate import LlamaServer, llama_server
from sampler_parity.harness.servers.oracle.model import Known
from sampler_parity.harness.servers.state import CLIENTS
from sampler_parity.reference.pipelines.common_sampler import CommonSampler

LENGTH = 16
# Of a logit, by a batch: 0.0072 at most in docs/sequences.md (haswell, float16 weights).
MOVED = 0.0072
_ASKED = {"temperature": 0.9, "repeat_penalty": 1.1}  # the rest as documented


@dataclass(frozen=True)
class Walked:
    """near: tokens that only moved logits explain. other: the first that nothing explains."""

    near: int
    other: str = ""


def check_at_once(client: Client, known: Known, clients: int = CLIENTS) -> Iterator[ServerResult]:
    """Of a server whose every token is predicted. Raises InputError where nothing decodes."""
    name = f"{clients} at once, predicted"
    with closing(known.logits()) as logits:
        yield from told("state", {name: lambda c: _at_once(c, known, logits, clients)}, client)


def _at_once(client: Client, known: Known, logits: Logits, clients: int) -> Told:
    prompts = [*known.prompts.values()]
    asked = [prompts[i * 5 % len(prompts)] for i in range(clients)]
    sent = [{client.dialect.length: LENGTH, **_ASKED, "seed": 300 + i} for i in range(clients)]
    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(client.complete, asked, sent))
    near = 0
    for i, (prompt, answer) in enumerate(zip(asked, answers, strict=True)):
        if answer.refusal or not answer.tokens:
            return Told("error", f"client {i}: {answer.got}", answer)
        rows = rows_of(logits, prompt, answer.tokens[:-1], answer)
        sampling = llama_server({**_ASKED, "seed": 300 + i}, prompt, known.vocab)
        walked = walk(sampling, answer.tokens, rows)
        if walked.other:
            owner = _owner(answer, answers, i)
            return Told("error", f"client {i}, {walked.other}{owner}", answer)
        near += walked.near
    tokens = sum(len(answer.tokens or ()) for answer in answers)
    said = f"{tokens - near:,}/{tokens:,} tokens as predicted, {near} at a near tie of the logits"
    return Told("honoured", said, answers[0], {"near_ties": float(near)})


def _owner(answer: Answer, answers: Sequence[Answer], i: int) -> str:
    same = [j for j, other in enumerate(answers) if j != i and other.text == answer.text]
    return f"; client {same[0]} got the same text" if same else ""


def walk(sampling: LlamaServer, tokens: Sequence[int], rows: Row) -> Walked:
    """Along the tokens of a server: each is the reference's, or that of logits moved by MOVED."""
    near = 0
    for i, (token, row) in enumerate(zip(tokens, rows, strict=True)):
        before = sampling.sampler.clone()
        wanted = sampling.sample(np.array(row))
        if wanted == token:
            continue
        after = _moved(before, row, token, wanted)
        if after is None:
            return Walked(near, f"token {i} is {token}, expected {wanted}: no near tie of logits")
        sampling, near = after, near + 1
    return Walked(near)


def _moved(before: CommonSampler, row: Row, token: int, wanted: int) -> LlamaServer | None:
    """The sampler that gives this token from moved logits, if there is one."""
    for moved in _ways(row, token, wanted):
        sampling = LlamaServer(before.clone())
        if sampling.sample(moved) == token:
            return sampling
    return None


def _ways(row: Row, token: int, wanted: int) -> Iterator[NDArray[np.float32]]:
    """Where a draw or a filter could fall otherwise: the two tokens towards each other, and all
    that are as likely as one of them against the rest."""
    for sign in (1, -1):
        for raised in (row >= row[token], row > row[token], row >= row[wanted], row > row[wanted]):
            yield _move(row, np.where(raised, sign, -sign))
    alone = np.zeros(len(row))
    alone[token], alone[wanted] = 1, -1
    yield _move(row, alone)


def _move(row: Row, direction: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray(row + MOVED * direction, np.float32)
