"""The reference's results in the cache: the tokens of a case, and a digest of each stage.

A backend with the same tokens and digests is identical, so the reference runs only for the others.
In each run some of the answers are computed again and compared.
"""

import functools
import hashlib
import json
import marshal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sampler_parity.harness.checks.draws.tokens import Tokens
from sampler_parity.harness.checks.stages.meanings import Wanted, wanted_of
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache import Cache
from sampler_parity.harness.protocol.client import Got, Ran
from sampler_parity.reference import Candidates, platforms

T = TypeVar("T")
_AGAIN = 64  # one of so many answers is computed again


@dataclass(frozen=True)
class KeptAnswer:
    """The reference's result of a case. seconds: that it took. drawn: a digest of all draws.
    tokens: of each step. stages: of each step, the digest and `sorted` of each stage."""

    steps: int
    refusal: str
    unmet: str
    seconds: float
    drawn: str
    tokens: list[int | None]
    stages: list[list[tuple[str, bool]]]

    def is_of(self, ran: Ran) -> bool:
        """Return whether the run is identical."""
        if ran.tokens != self.tokens:
            return False
        for stages, shown in zip(self.stages, ran.stages, strict=True):
            for got, (digest, is_sorted) in zip(shown, as_shown(stages, len(shown)), strict=True):
                if got.sorted not in (None, is_sorted) or digest_of(got) != digest:
                    return False
        return True

    def is_of_draws(self, tokens: Tokens) -> bool:
        return hashlib.sha256(tokens.tobytes()).hexdigest() == self.drawn


def as_shown(stages: Sequence[T], n: int) -> list[T]:
    """Return the n stages that a backend should show. It may show the last ones alone, or none; one
    more is that of the whole chain, which repeats the last."""
    ends = stages if n >= len(stages) else stages[len(stages) - n :]
    return [*ends, *[stages[-1]] * (n - len(ends))]


def digest_of(got: Got | Candidates) -> str:
    """Return the digest of candidates, but for whether they are sorted."""
    parts = (b"%d" % got.selected, got.ids.tobytes(), got.logits.tobytes(), got.p.tobytes())
    return hashlib.blake2b(b"|".join(parts), digest_size=16).hexdigest()


def answer_of(wanted: Wanted, unmet: str, seconds: float) -> KeptAnswer:
    drawn = "" if wanted.draws is None else hashlib.sha256(wanted.draws.tobytes()).hexdigest()
    stages = [[(digest_of(s), bool(s.sorted)) for s in each] for each in wanted.trace]
    tokens = [each[-1].token for each in wanted.trace]
    return KeptAnswer(wanted.steps, wanted.refusal, unmet, seconds, drawn, tokens, stages)


@dataclass
class Expected:
    """The reference's result of a case. With an answer it is computed only for a backend that the
    answer does not settle. seconds: that the reference took."""

    ready: Prepared
    steps: int
    refusal: str
    unmet: str
    seconds: float
    answer: KeptAnswer | None = None
    _wanted: Wanted | None = None

    @property
    def computed(self) -> Wanted:
        self._wanted = self._wanted or wanted_of(self.ready)
        return self._wanted


@dataclass
class Answers:
    """The answers of a run. nonce: of the run, by which it draws those that it computes again."""

    cache: Cache
    nonce: str
    _new: dict[bytes, bytes] = field(default_factory=dict)

    def of(self, key: bytes) -> KeptAnswer | None:
        value = self.cache.get("answers", key)
        try:
            steps, refusal, unmet, seconds, drawn, tokens, stages = json.loads(value or b"")
            pairs = [[(digest, is_sorted) for digest, is_sorted in each] for each in stages]
        except (ValueError, TypeError):
            return None
        if not all(pairs):
            return None
        return KeptAnswer(steps, refusal, unmet, seconds, drawn, tokens, pairs)

    def add(self, key: bytes, answer: KeptAnswer) -> None:
        self._new[key] = json.dumps([*vars(answer).values()]).encode()

    def write(self) -> None:
        self.cache.put("answers", self._new)
        self._new.clear()

    def is_drawn(self, case: str) -> bool:
        return hashlib.sha256(f"{self.nonce} {case}".encode()).digest()[0] % _AGAIN == 0


def key_of(ready: Prepared) -> bytes:
    """Return the digest of all that a case asks: marshal writes equal values alike, and inf and NaN
    as they are."""
    case = ready.case.model_dump(exclude_defaults=True)
    digest = hashlib.sha256(marshal.dumps((type(ready.case).__name__, case), 2))
    digest.update(f"{platforms.current().name} {_file(ready.vocab_file)}".encode())
    for row in ready.rows:
        digest.update(row.tobytes())
    return digest.digest()


@functools.cache
def _file(path: str | None) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""


_ANSWERS: ContextVar[Answers | None] = ContextVar("answers", default=None)


@contextmanager
def answering(answers: Answers | None) -> Iterator[None]:
    """Use these answers within, and write the new ones at the end."""
    token = _ANSWERS.set(answers)
    try:
        yield
    finally:
        _ANSWERS.reset(token)
        if answers is not None:
            answers.write()


def expected_of(ready: Prepared, unmet_of: Callable[[Trace], str]) -> Expected:
    """Return the reference's result, from the cache if the run has one. A relation needs all of it.

    unmet_of: returns why a trace is not the result that is published. Raises InputError for an
    answer that is not what the reference computes.
    """
    answers = _ANSWERS.get() if ready.case.relation is None else None
    key = key_of(ready) if answers else b""
    answer = answers.of(key) if answers else None
    if answers and answer and not answers.is_drawn(ready.case.id):
        return Expected(ready, answer.steps, answer.refusal, answer.unmet, answer.seconds, answer)
    start = time.perf_counter()
    wanted = wanted_of(ready)
    seconds, unmet = time.perf_counter() - start, unmet_of(wanted.trace)
    if answers and answer is None:
        answers.add(key, answer_of(wanted, unmet, seconds))
    elif answers and answer and answer_of(wanted, unmet, answer.seconds) != answer:
        problem = f"the answer to case {ready.case.id} is not what the reference computes"
        raise InputError(answers.cache.path, problem, "delete it, and run again")
    return Expected(ready, wanted.steps, wanted.refusal, unmet, seconds, None, wanted)
