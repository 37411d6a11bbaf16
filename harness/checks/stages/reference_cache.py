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

from sampler_parity.harness.bundle.records import BackendResult
from sampler_parity.harness.checks.draws import Tokens
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import Prepared, Trace, prepare
from sampler_parity.harness.checks.stages.targets import ReferenceResult, reference_result
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.cache import Cache
from sampler_parity.harness.protocol.client import Got, Ran
from sampler_parity.harness.protocol.interface import BackendFailure
from sampler_parity.reference import Candidates, platforms

T = TypeVar("T")
Ints = NDArray[np.int32]
_RECHECK_ONE_IN = 64  # one of so many answers is computed again


Flags = list[list[bool]]  # `sorted` of each stage of each step


@dataclass(frozen=True)
class CachedAnswer:
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
        n_stages = len(ran.stages[0]) if ran.stages else 0
        if not n_stages:
            return True
        results = [got for step in ran.stages for got in step]
        flags = [-1 if got.sorted is None else int(got.sorted) for got in results]
        return self._has(n_stages, flags, digest_of(results))

    def is_of_table(
        self, tokens: list[int | None], n_stages: int, table: Ints, values: Ints
    ) -> bool:
        """Return whether a run with a table is identical. n_stages: of a step."""
        digest = hashlib.blake2b(np.ascontiguousarray(table[:, ::2]).data, digest_size=16)
        digest.update(values.data)
        same = self._has(n_stages, table[:, 1].tolist(), digest.hexdigest())
        return same and tokens == self.tokens

    def _has(self, n_stages: int, flags: list[int], digest: str) -> bool:
        expected = [flag for step in self.flags for flag in as_shown(step, n_stages)]
        flags_match = all(got in (-1, flag) for got, flag in zip(flags, expected, strict=True))
        return flags_match and self.digests.get(str(n_stages)) == digest

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
    # a wrong `selected` of a backend may not fit int32
    pairs = [(len(stage.ids), max(limits.min, min(stage.selected, limits.max))) for stage in stages]
    digest = hashlib.blake2b(np.array(pairs, np.int32).data, digest_size=16)
    for stage in stages:
        for values in (stage.ids, stage.logits, stage.p):
            digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()


def answer_of(result: ReferenceResult, unmet: str, seconds: float) -> CachedAnswer:
    drawn = "" if result.draws is None else hashlib.sha256(result.draws.tobytes()).hexdigest()
    tokens = [step[-1].token for step in result.trace]
    flags = [[bool(stage.sorted) for stage in step] for step in result.trace]
    lengths = {len(step) for step in result.trace}
    counts = {1, *lengths, *(n + 1 for n in lengths)} if lengths else set()
    digests = {
        str(n): digest_of([stage for step in result.trace for stage in as_shown(step, n)])
        for n in sorted(counts)
    }
    return CachedAnswer(result.steps, result.refusal, unmet, seconds, drawn, tokens, flags, digests)


@dataclass
class CachedCase:
    """A case made concrete, and its answer if there is one.

    Of backends that were asked for many cases at once, by name: settled, the results of those that
    gave this answer; replies, what the others did.
    """

    prepared: Prepared
    key: bytes
    answer: CachedAnswer | None
    settled: dict[str, BackendResult] = field(default_factory=dict)
    replies: dict[str, Ran | BackendFailure] = field(default_factory=dict)


@dataclass
class Expected:
    """The reference's result of a case. With an answer it is computed only for a backend that the
    answer does not settle. seconds: that the reference took."""

    case: CachedCase
    steps: int
    refusal: str
    unmet: str
    seconds: float
    answer: CachedAnswer | None = None
    _computed: ReferenceResult | None = None

    @property
    def computed(self) -> ReferenceResult:
        self._computed = self._computed or reference_result(self.case.prepared)
        return self._computed


@dataclass
class Answers:
    """The answers of a run. nonce: of the run, by which it draws those that it computes again.
    ahead: cases that are prepared already, by id."""

    cache: Cache
    nonce: str
    ahead: dict[str, CachedCase] = field(default_factory=dict)
    _new: dict[bytes, bytes] = field(default_factory=dict)

    def of(self, key: bytes) -> CachedAnswer | None:
        value = self.cache.get("answers", key)
        try:
            steps, refusal, unmet, seconds, drawn, tokens, flags, digests = json.loads(value or b"")
            is_whole = all(flags) and isinstance(digests, dict)
        except (ValueError, TypeError):
            return None
        if not is_whole:
            return None
        return CachedAnswer(steps, refusal, unmet, seconds, drawn, tokens, flags, digests)

    def add(self, key: bytes, answer: CachedAnswer) -> None:
        self._new[key] = json.dumps([*vars(answer).values()]).encode()

    def write(self) -> None:
        self.cache.put("answers", self._new)
        self._new.clear()

    def is_drawn(self, case: str) -> bool:
        return hashlib.sha256(f"{self.nonce} {case}".encode()).digest()[0] % _RECHECK_ONE_IN == 0


def key_of(prepared: Prepared) -> bytes:
    """Return the digest of all that a case asks: marshal writes equal values alike, and inf and NaN
    as they are."""
    case = prepared.case.model_dump(exclude_defaults=True)
    # version 2 of marshal: later ones also write which objects are shared
    digest = hashlib.sha256(marshal.dumps((type(prepared.case).__name__, case), 2))
    digest.update(f"{platforms.current().name} {_file(prepared.vocab_file)}".encode())
    for row in prepared.rows:
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


def known_of(case: StagesCase) -> CachedCase:
    """Prepare a case, and look up its answer if the run has answers. A relation needs all of the
    reference's result."""
    answers = _ANSWERS.get() if case.relation is None else None
    if answers and case.id in answers.ahead:
        return answers.ahead.pop(case.id)
    prepared = prepare(case)
    key = key_of(prepared) if answers else b""
    return CachedCase(prepared, key, answers.of(key) if answers else None)


def expected_of(case: CachedCase, unmet_of: Callable[[Trace], str]) -> Expected:
    """Return the reference's result, from the cache if the run has one.

    unmet_of: returns why a trace is not the result that is published. Raises InputError for an
    answer that differs from what the reference computes.
    """
    prepared, answer = case.prepared, case.answer
    answers = _ANSWERS.get() if case.key else None
    if answers and answer and not answers.is_drawn(prepared.case.id):
        return Expected(case, answer.steps, answer.refusal, answer.unmet, answer.seconds, answer)
    start = time.perf_counter()
    result = reference_result(prepared)
    seconds, unmet = time.perf_counter() - start, unmet_of(result.trace)
    if answers and answer is None:
        answers.add(case.key, answer_of(result, unmet, seconds))
    elif answers and answer and answer_of(result, unmet, answer.seconds) != answer:
        problem = f"the answer to case {prepared.case.id} differs from what the reference computes"
        raise InputError(answers.cache.path, problem, "delete the cache file and run again")
    return Expected(case, result.steps, result.refusal, unmet, seconds, None, result)
