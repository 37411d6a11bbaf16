"""Interleaved timings: the same chain on several backends, round by round in random order.

The clock runs inside the backend, around its sampler calls alone. All samples are kept.
"""

import random
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from harness import protocol as p
from harness.chains import complete
from harness.errors import InputError
from harness.logits import Logits
from harness.process import BackendProcess
from harness.results import TimingResult
from harness.vocab_files import read_vocab, vocab_path

REPETITIONS = 3


class TimedChain(BaseModel):
    """A chain to time, and what of it the figure is about (`sampler`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    sampler: str
    chain: p.ChainSpec
    logits: Logits
    history: list[int] = []
    vocab: str | None = None


def read_timings(path: Path | None = None) -> list[TimedChain]:
    """The chains of a timing suite, by default suites/timing/samplers.toml. Raises InputError."""
    path = path or Path(str(files("suites"))) / "timing" / "samplers.toml"
    try:
        data: dict[str, Any] = tomllib.loads(path.read_text())
        return [TimedChain.model_validate(entry) for entry in data["chain"]]
    except (tomllib.TOMLDecodeError, ValidationError, KeyError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(path, f"malformed: {reason}", "see docs/suites.md") from None


def time_chain(
    timed: TimedChain, backends: list[BackendProcess], rounds: int, seed: int
) -> TimingResult:
    """rounds x REPETITIONS samples on each backend, in ns. Raises BackendFailure."""
    path = vocab_path(timed.vocab) if timed.vocab else None
    n = timed.logits.n
    chain = complete(timed.chain, n, read_vocab(path) if path else None)
    order = random.Random(seed)
    samples: dict[str, list[int]] = {b.name: [] for b in backends}
    for turn in range(rounds + 1):
        for backend in order.sample(backends, len(backends)):
            backend.scratch.ensure(4 * n)
            backend.scratch.write(0, timed.logits.row(0))
            request = p.TimeRequest(
                chain=chain,
                n_vocab=n,
                vocab=str(path) if path else None,
                rows=p.Rows(at=0, count=1, n=n),
                history=timed.history,
                repetitions=REPETITIONS,
            )
            reply = backend.ask(request, p.TimeReply)
            if turn > 0:  # the first round warms up
                samples[backend.name] += reply.ns
    return TimingResult(
        id=f"timing/{timed.id}",
        sampler=timed.sampler,
        n_vocab=n,
        repetitions=REPETITIONS,
        ns=samples,
    )
