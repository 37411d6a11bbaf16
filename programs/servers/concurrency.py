"""Predict each token of many clients at once, so that a text shows an effect of another one.

In a batch llama.cpp's logits differ in their last bits (docs/results/sequences.md), so now and then
a token differs. Such a token must be one that the reference also draws, with the state of its
sampler, from logits that moved by no more than that. Any other token comes from elsewhere.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.protocol.client import Row
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import TOKEN
from sampler_parity.programs.servers.observation import Observation
from sampler_parity.programs.servers.oracle.chains import HIGH
from sampler_parity.programs.servers.oracle.model import DecodedModel, KnownModel, observe_with
from sampler_parity.programs.servers.oracle.samplers import LlamaServerSampler, llama_server
from sampler_parity.programs.servers.server_record import ServerResult
from sampler_parity.programs.servers.state import CLIENTS
from sampler_parity.reference.pipelines.common_sampler import CommonSampler

LENGTH = 16
# A batch moves a logit by 0.0072 at most: docs/results/sequences.md (haswell, float16 weights).
MOVED = 0.0072
_HALVINGS = 20  # A token of p 1e-6 has its place in a draw.


@dataclass(frozen=True)
class Replay:
    """Count near ties: tokens that only moved logits explain. unexplained: one that nothing
    explains."""

    near_ties: int
    unexplained: str = ""


def check_concurrency(
    client: Client, model: KnownModel, clients: int = CLIENTS
) -> Iterator[ServerResult]:
    """Check a server whose every token is predicted. Raises InputError if nothing decodes."""
    tests = {f"{clients} at once, predicted": partial(_at_once, clients)}
    yield from observe_with(model, "state", tests, client)


def _at_once(clients: int, model: DecodedModel, client: Client) -> Observation:
    several = [*model.known.prompts.values()]
    prompts = [several[_step(i, 7) * 5 % len(several)] for i in range(clients)]
    sent = [_own(i) for i in range(clients)]
    with ThreadPoolExecutor(clients) as pool:
        methods = [client.streamed if i % 4 == 1 else client.complete for i in range(clients)]
        answers = list(pool.map(lambda ask, *request: ask(*request), methods, prompts, sent))
    near_ties, eog = 0, model.known.vocab.eog
    for i, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        if answer.refusal or not answer.tokens:
            return Observation("error", f"client {i}: {answer.got}", answer)
        if i % 4 == 1 and not answer.text.isascii():  # a stream does not name all tokens of one
            continue
        rows = model.rows(prompt, answer.tokens[:-1], answer)
        replayed = replay(llama_server(sent[i], prompt, model.known.vocab), answer.tokens, rows)
        if replayed.unexplained:
            owner = _owner(answer, answers, i)
            return Observation("error", f"client {i}, {replayed.unexplained}{owner}", answer)
        near_ties += replayed.near_ties
        if len(answer.tokens) != sent[i]["n_predict"] and answer.tokens[-1] not in eog:
            return Observation("error", f"client {i}: {len(answer.tokens)} tokens", answer)
    tokens = sum(len(answer.tokens or ()) for answer in answers)
    right = f"{tokens - near_ties:,}/{tokens:,} tokens as predicted,"
    right += f" {near_ties} at a near tie of the logits"
    return Observation("honoured", right, answers[0], {"near_ties": float(near_ties)})


def _own(i: int) -> dict[str, Any]:
    """Return parameters of client i; the rest as documented. The next client's differ in one."""
    seed, token = _step(i, 0), TOKEN - 8 * _step(i, 6)
    return {
        "n_predict": LENGTH - _step(i, 1),
        "seed": 300 + seed + HIGH[seed % len(HIGH)],
        "temperature": 0.5 + 0.4 * _step(i, 2),
        "top_k": 20 + 8 * _step(i, 3),
        "repeat_penalty": 1.0 + 0.3 * _step(i, 4),
        "frequency_penalty": 0.2 * _step(i, 5),
        "logit_bias": [[token, 2.0], [token - 40, -2.0]],
    }


def _step(i: int, offset: int) -> int:
    """Return a number that grows at one of eight clients, each place's at another."""
    return (i + offset) // 8


def _owner(answer: Answer, answers: Sequence[Answer], i: int) -> str:
    same = [j for j, candidate in enumerate(answers) if j != i and candidate.text == answer.text]
    return f"; client {same[0]} got the same text" if same else ""


def replay(sampler: LlamaServerSampler, tokens: Sequence[int], rows: Row) -> Replay:
    """Compare tokens with the reference's, or with those of logits moved by MOVED."""
    near_ties = 0
    for i, (token, row) in enumerate(zip(tokens, rows, strict=True)):
        before = sampler.sampler.clone()
        expected = sampler.sample(np.array(row))
        if expected == token:
            continue
        after = moved(before, row, token, expected)
        if after is None:
            return Replay(
                near_ties, f"token {i} is {token}, expected {expected}: no near tie of logits"
            )
        sampler, near_ties = after, near_ties + 1
    return Replay(near_ties)


def moved(before: CommonSampler, row: Row, token: int, expected: int) -> LlamaServerSampler | None:
    """Return the sampler that gives this token from moved logits, if there is one. Each direction
    is tried as far as MOVED, and if that passes the token, by halving."""
    for direction, order in _ways(row, token, expected):
        least, most, by = 0.0, 1.0, 1.0
        for _ in range(_HALVINGS):
            sampler = LlamaServerSampler(before.clone())
            came = sampler.sample(np.asarray(row + by * direction, np.float32))
            if came == token:
                return sampler
            short = (order[came] < order[token]) == (order[expected] < order[token])
            if short and by == 1.0:
                break
            least, most = (by, most) if short else (least, by)
            by = (least + most) / 2
    return None


def _ways(
    row: Row, token: int, expected: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Give directions to where a draw or a filter could fall otherwise, with the order that the
    tokens are drawn in. All that come before one of the two tokens against the rest: those that are
    more likely, or if nothing sorts the tokens, those with a lower id. The two towards each other,
    or exchanged."""
    places = np.asarray(row, np.float64), -np.arange(len(row), dtype=np.float64)
    for order in places:
        for at in (order[token], order[expected]):
            for raised in (order >= at, order > at):
                yield MOVED * np.where(raised, 1.0, -1.0), order
                yield MOVED * np.where(raised, -1.0, 1.0), order
    alone = np.zeros(len(row))
    alone[token], alone[expected] = MOVED, -MOVED
    yield alone, places[0]
    if abs(row[token] - row[expected]) <= MOVED:  # one place each, though more tokens are as near
        exchanged = np.zeros(len(row))
        exchanged[token] = row[expected] - row[token]
        yield exchanged - np.roll(exchanged, expected - token), places[0]
