"""Measure the cost of a sampling chain through a server.

It reports tokens a second and the time between them, and requires nothing of them.

In each round 1, 8 or 32 clients stream a text at once, greedily and with a chain, in random order,
so that a slow machine slows both down. The ratio is the median over rounds of the time a token
takes with the chain to that without, its interval from a bootstrap over the rounds
(harness/checks/timing/verdict.py).

The first token costs a request as much as a dozen others, so short texts would make tokens look
slow: no text ends before its length if the dialect has `ignore_eos`.
"""

import math
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sampler_parity.harness.checks.timing.verdict import least_rounds, nearest_rank, ratio_of_rounds
from sampler_parity.harness.statistics.bootstrap import CONFIDENCE
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.observation import Observation, ServerTest, observe
from sampler_parity.programs.servers.probe import PROMPTS
from sampler_parity.programs.servers.server_record import ServerResult

WIDTHS = (1, 8, 32)
ROUNDS = least_rounds(CONFIDENCE) + 2  # 8: an interval of fewer than 6 reaches everywhere
LENGTH = 24
# llama.cpp's defaults and a penalty, as far as the dialect has them.
CHAIN: dict[str, Any] = {
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "repeat_penalty": 1.1,
    "repetition_penalty": 1.1,
}


@dataclass(frozen=True)
class TimedRound:
    """A timed round of one kind. gaps_ns: between the tokens of each client."""

    seconds: float
    tokens: int
    gaps_ns: tuple[int, ...]

    @property
    def seconds_per_token(self) -> float:
        return self.seconds / self.tokens


def check_speed(
    client: Client, widths: Sequence[int] = WIDTHS, rounds: int = ROUNDS
) -> Iterator[ServerResult]:
    tests: dict[str, ServerTest] = {
        f"{width} client{'s' * (width > 1)}": partial(_measured, width, rounds) for width in widths
    }
    yield from observe("speed", tests, client)


def _measured(width: int, rounds: int, client: Client) -> Observation:
    names = {row.name for row in client.dialect.parameters if row.documented}
    goes_on = {"ignore_eos": True} if "ignore_eos" in names else {}
    kinds = {
        "chain": {name: value for name, value in CHAIN.items() if name in names} | goes_on,
        "greedy": {"temperature": 0.0} | goes_on,
    }
    timed: dict[str, list[TimedRound]] = {kind: [] for kind in kinds}
    order = random.Random(width)
    with ThreadPoolExecutor(width) as pool:
        for turn in range(rounds + 1):
            for kind in order.sample([*kinds], len(kinds)):
                answers, seconds = _at_once(client, pool, width, kinds[kind])
                if answers[0].refusal:
                    return Observation("error", f"refused: {answers[0].refusal}", answers[0])
                if turn:  # the first round warms up
                    timed[kind].append(timed_round(answers, seconds))
    line, figures = summary(timed["chain"], timed["greedy"])
    return Observation("honoured" if figures else "error", line, None, figures)


def _at_once(
    client: Client, pool: ThreadPoolExecutor, width: int, changed: dict[str, Any]
) -> tuple[list[Answer], float]:
    dialect = client.dialect
    sent = {**dialect.neutral, dialect.length: LENGTH, **changed}
    begun = time.monotonic()
    waiting = [
        pool.submit(client.streamed, PROMPTS[i % len(PROMPTS)], {**sent, "seed": i})
        for i in range(width)
    ]
    answers = [future.result() for future in waiting]
    return answers, time.monotonic() - begun


def timed_round(answers: Sequence[Answer], seconds: float) -> TimedRound:
    """Time a round. If a server names no tokens, the parts of its streams count."""
    tokens = sum(
        len(answer.times if answer.tokens is None else answer.tokens) for answer in answers
    )
    gaps = [
        round((after - before) * 1e9)
        for answer in answers
        for before, after in zip(answer.times, answer.times[1:], strict=False)
    ]
    return TimedRound(seconds, tokens, tuple(gaps))


def summary(
    chain: Sequence[TimedRound], greedy: Sequence[TimedRound]
) -> tuple[str, dict[str, float]]:
    """Return a line and figures; no figures where a round has no tokens."""
    if not all(timed.tokens for timed in (*chain, *greedy)):
        return "a round without a token", {}
    ratio = ratio_of_rounds(
        [t.seconds_per_token for t in chain], [t.seconds_per_token for t in greedy]
    )
    assert ratio is not None
    figures = {"ratio": ratio.ratio, "rounds": float(len(chain))}
    if math.isfinite(ratio.high):
        figures |= {"ratio_low": ratio.low, "ratio_high": ratio.high}
    words = [f"a token with the chain takes {ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"]
    words[0] += f" of a greedy one ({len(chain)} rounds)"
    for kind, rounds in (("chain", chain), ("greedy", greedy)):
        per_s = float(np.median([1 / timed.seconds_per_token for timed in rounds]))
        gaps, between = _gaps([ns for timed in rounds for ns in timed.gaps_ns])
        tokens = sum(timed.tokens for timed in rounds) / len(rounds)
        words.append(f"{kind} {per_s:,.0f} tokens/s, {tokens:,.0f} a round{gaps}")
        figures |= {f"{kind}_tokens_per_s": per_s, f"{kind}_tokens": tokens}
        figures |= {f"{kind}_{name}": value for name, value in between.items()}
    return "; ".join(words), figures


def _gaps(ns: list[int]) -> tuple[str, dict[str, float]]:
    """Return the time between tokens; a p99 only where there are a hundred samples."""
    if not ns:
        return "", {}
    p50 = nearest_rank(ns, 0.5) / 1e6
    if len(ns) < 100:
        return f", between two {p50:.2f} ms, slowest of {len(ns)} {max(ns) / 1e6:.2f} ms", {
            "p50_ms": p50
        }
    p99 = nearest_rank(ns, 0.99) / 1e6
    return f", between two {p50:.2f} ms, p99 {p99:.2f} ms", {"p50_ms": p50, "p99_ms": p99}
