"""The reference's results in the cache: the tokens of a case, and a digest of all stages.

A backend with the same tokens and digest is identical, so the reference runs only for the others.
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

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.checks.draws import Tokens
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace, prepare
from sampler_parity.harness.checks.stages.targets import Wanted, wanted_of
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache import Cache
from sampler_parity.harness.protocol.client import Got, Ran
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.reference import Candidates, platforms

T = TypeVar("T")
Ints = NDArray[np.int32]
_AGAIN = 64  # one of so many answers is computed again


Flags = list[list[bool]]  # `sorted` of each stage of each step


@dataclass(frozen=True)
class KeptAnswer:
    """The reference's result of a case. seconds: that it took. drawn: a digest of all draws.
    tokens: of each step. digests: of all stages, by the number of stages that a step shows."""

    steps: int
    refusal: str
    unmet: str
    seconds: float
    drawn: str
    tokens: list[int | None]
    flags: Flags
    digests: dict[str, str]

    def is_of(self, ran: Ran) -> bool:
        """Return whether the run is identical. Runs that show no stages have tokens alone."""
        if ran.settled or ran.tokens != self.tokens:
            return ran.settled
        shown = len(ran.stages[0]) if ran.stages else 0
        if not shown:
            return True
        every = [got for each in ran.stages for got in each]
        flags = [-1 if got.sorted is None else int(got.sorted) for got in every]
        return self._has(shown, flags, digest_of(every))

    def is_of_table(self, tokens: list[int | None], shown: int, table: Ints, values: Ints) -> bool:
        """Return whether a run with a table is identical. shown: stages of a step."""
        digest = hashlib.blake2b(np.ascontiguousarray(table[:, ::2]).data, digest_size=16)
        digest.update(values.data)
        same = self._has(shown, table[:, 1].tolist(), digest.hexdigest())
        return same and tokens == self.tokens

    def _has(self, shown: int, flags: list[int], digest: str) -> bool:
        wanted = [flag for each in self.flags for flag in as_shown(each, shown)]
        known = all(got in (-1, flag) for got, flag in zip(flags, wanted, strict=True))
        return known and self.digests.get(str(shown)) == digest

    def is_of_draws(self, tokens: Tokens) -> bool:
        return hashlib.sha256(tokens.tobytes()).hexdigest() == self.drawn


def as_shown(stages: Sequence[T], n: int) -> list[T]:
    """Return the n stages that a backend should show. It may show the last ones alone, or none; one
    more is that of the whole chain, which repeats the last."""
    ends = stages if n >= len(stages) else stages[len(stages) - n :]
    return [*ends, *[stages[-1]] * (n - len(ends))]


def digest_of(stages: Sequence[Got | Candidates]) -> str:
    """Return the digest of stages as a table has them, but for whether they are sorted: n and
    `selected` of all, then the candidates of all."""
    limits = np.iinfo(np.int32)
    pairs = [(len(each.ids), max(limits.min, min(each.selected, limits.max))) for each in stages]
    digest = hashlib.blake2b(np.array(pairs, np.int32).data, digest_size=16)
    for each in stages:
        for values in (each.ids, each.logits, each.p):
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def answer_of(wanted: Wanted, unmet: str, seconds: float) -> KeptAnswer:
    drawn = "" if wanted.draws is None else hashlib.sha256(wanted.draws.tobytes()).hexdigest()
    tokens = [each[-1].token for each in wanted.trace]
    flags = [[bool(stage.sorted) for stage in each] for each in wanted.trace]
    every = {len(each) for each in wanted.trace}
    counts = {1, *every, *(n + 1 for n in every)} if every else set()
    digests = {
        str(n): digest_of([stage for each in wanted.trace for stage in as_shown(each, n)])
        for n in sorted(counts)
    }
    return KeptAnswer(wanted.steps, wanted.refusal, unmet, seconds, drawn, tokens, flags, digests)


@dataclass
class KnownCase:
    """A case made concrete, and its answer if there is one.

    Of backends that were asked for many cases at once, by name: settled, the results of those that
    gave this answer; replies, what the others did.
    """

    ready: Prepared
    key: bytes
    answer: KeptAnswer | None
    settled: dict[str, BackendResult] = field(default_factory=dict)
    replies: dict[str, Ran | BackendFailure] = field(default_factory=dict)


@dataclass
class Expected:
    """The reference's result of a case. With an answer it is computed only for a backend that the
    answer does not settle. seconds: that the reference took."""

    known: KnownCase
    steps: int
    refusal: str
    unmet: str
    seconds: float
    answer: KeptAnswer | None = None
    _wanted: Wanted | None = None

    @property
    def computed(self) -> Wanted:
        self._wanted = self._wanted or wanted_of(self.known.ready)
        return self._wanted


@dataclass
class Answers:
    """The answers of a run. nonce: of the run, by which it draws those that it computes again.
    ahead: cases that are prepared already, by id."""

    cache: Cache
    nonce: str
    ahead: dict[str, KnownCase] = field(default_factory=dict)
    _new: dict[bytes, bytes] = field(default_factory=dict)

    def of(self, key: bytes) -> KeptAnswer | None:
        value = self.cache.get("answers", key)
        try:
            steps, refusal, unmet, seconds, drawn, tokens, flags, digests = json.loads(value or b"")
            is_whole = all(flags) and isinstance(digests, dict)
        except (ValueError, TypeError):
            return None
        if not is_whole:
            return None
        return KeptAnswer(steps, refusal, unmet, seconds, drawn, tokens, flags, digests)

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
            answers.ahead.clear()
            answers.write()


def known_of(case: StagesCase) -> KnownCase:
    """Prepare a case, and look up its answer if the run has answers. A relation needs all of the
    reference's result."""
    answers = _ANSWERS.get() if case.relation is None else None
    if answers and case.id in answers.ahead:
        return answers.ahead.pop(case.id)
    ready = prepare(case)
    key = key_of(ready) if answers else b""
    return KnownCase(ready, key, answers.of(key) if answers else None)


def expected_of(known: KnownCase, unmet_of: Callable[[Trace], str]) -> Expected:
    """Return the reference's result, from the cache if the run has one.

    unmet_of: returns why a trace is not the result that is published. Raises InputError for an
    answer that is not what the reference computes.
    """
    ready, answer = known.ready, known.answer
    answers = _ANSWERS.get() if known.key else None
    if answers and answer and not answers.is_drawn(ready.case.id):
        return Expected(known, answer.steps, answer.refusal, answer.unmet, answer.seconds, answer)
    start = time.perf_counter()
    wanted = wanted_of(ready)
    seconds, unmet = time.perf_counter() - start, unmet_of(wanted.trace)
    if answers and answer is None:
        answers.add(known.key, answer_of(wanted, unmet, seconds))
    elif answers and answer and answer_of(wanted, unmet, answer.seconds) != answer:
        problem = f"the answer to case {ready.case.id} is not what the reference computes"
        raise InputError(answers.cache.path, problem, "delete it, and run again")
    return Expected(known, wanted.steps, wanted.refusal, unmet, seconds, None, wanted)
