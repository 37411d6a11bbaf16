"""Logits of a prompt on every backend, measured and not judged."""

import functools
import hashlib
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from sampler_parity.harness.bundle.artifacts import row_file, write_row
from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import Computed
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.strict import Strict


class LogitsFigures(Strict):
    """Logits of a backend, compared with the first backend's. Null: the first has none."""

    failed: str = ""
    sha256: str = ""
    """SHA-256 of all logits, float32, row by row"""
    difference: float | None = None
    """largest absolute difference of two logits"""
    kl_max: float | None = None
    """largest Kullback-Leibler divergence from the first backend, nats"""
    kl_mean: float | None = None
    """mean Kullback-Leibler divergence from the first backend, nats"""
    top1: int | None = None
    """rows with the same most likely token"""


class DecodeResult(Result):
    """The logits of a prompt on every backend."""

    kind: Literal["decode"] = "decode"
    suite: str = ""
    digests: dict[str, str] = {}
    """start of the digest of the files that each backend was started with"""
    model_sha256: str
    prompt_sha256: str
    """SHA-256 of the prompt's tokens as int32"""
    rows: int
    """number of rows"""
    first: str
    """backend that the others are compared with"""
    kept: bool
    """whether artifacts/ has the last row of each backend"""
    backends: dict[str, LogitsFigures]

    @model_validator(mode="after")
    def _has_the_first(self) -> "DecodeResult":
        if self.first not in self.backends:
            raise ValueError(f"first: no logits of {self.first!r}")
        return self


class LogitsCase(Case):
    """The logits of a prompt, without a chain."""

    check: ClassVar[str] = "logits"
    chosen_by = ("logits.computed",)

    logits: Computed

    @classmethod
    def fits(cls, data: Any) -> bool:
        return super().fits(data) and not data.get("chain")

    def validate_input(self, validator: FileValidator, place: str) -> None:
        validator.judged(place, self.logits, None, [])


def run(case: LogitsCase, tools: Ready) -> DecodeResult:
    """Decode the prompt on every backend and compare with the first. Keeps the last row of each."""
    logits = case.logits
    figures_by_backend: dict[str, LogitsFigures] = {}
    first: Rows | None = None
    for i, backend in enumerate(tools.backends):
        try:
            rows = rows_of(backend, logits)
        except BackendFailure as failure:
            figures_by_backend[backend.name] = LogitsFigures(failed=f"{failure.verdict}: {failure}")
            continue
        first = rows if i == 0 else first
        figures_by_backend[backend.name] = figures(first, rows)
        if logits.keep and tools.artifacts is not None:
            write_row(tools.artifacts / row_file(case.id, backend.name), rows[-1])
    return decode_result(case, figures_by_backend)


def died(case: LogitsCase, terms: Terms, problem: str) -> DecodeResult:
    """Return the record of a case that ends the process that measures it."""
    failed = LogitsFigures(failed=f"crashed: {problem}")
    return decode_result(case, dict.fromkeys(short_names(terms.backends), failed))


def decode_result(case: LogitsCase, figures_by_backend: dict[str, LogitsFigures]) -> DecodeResult:
    """Return the record of a case of logits alone."""
    logits = case.logits
    return DecodeResult(
        id=case.id,
        model_sha256=model_digest(model_path(logits.computed)),
        prompt_sha256=hashlib.sha256(np.array(logits.prompt, np.int32).tobytes()).hexdigest(),
        rows=len(logits.prompt),
        first=next(iter(figures_by_backend)),
        kept=logits.keep,
        backends=figures_by_backend,
    )


Rows = NDArray[np.float32]

_PROMPTS_KEPT = 2  # of each backend, in memory: cases of one prompt follow each other
_decoded: dict[str, dict[tuple[str, tuple[int, ...]], Rows]] = {}


def rows_of(backend: Backend, logits: Computed) -> Rows:
    """Return the logits after every token of the prompt: float32[len(prompt), n_vocab], read-only.
    Raises BackendFailure."""
    cache = _decoded.setdefault(backend.name, {})
    key = (logits.computed, tuple(logits.prompt))
    if key not in cache:
        while len(cache) >= _PROMPTS_KEPT:
            del cache[next(iter(cache))]
        path = str(model_path(logits.computed))
        rows = client.decode(backend, path, logits.n, logits.prompt).copy()
        rows.flags.writeable = False
        cache[key] = rows
    return cache[key]


@functools.cache
def model_digest(path: Path) -> str:
    return sha256_of(path)


def figures(first: Rows | None, rows: Rows) -> LogitsFigures:
    """Return the figures of rows, compared with the first backend's; without these only their
    digest."""
    digest = hashlib.sha256(np.ascontiguousarray(rows).data).hexdigest()
    if first is None:
        return LogitsFigures(sha256=digest)
    kl = divergence(first, rows)
    return LogitsFigures(
        sha256=digest,
        difference=largest_difference(first, rows),
        kl_max=float(kl.max()),
        kl_mean=float(kl.mean()),
        top1=int((first.argmax(axis=1) == rows.argmax(axis=1)).sum()),
    )


def largest_difference(a: Rows, b: Rows) -> float:
    """Return the largest absolute difference of two logits; 0 if both are the same infinity."""
    with np.errstate(invalid="ignore"):
        distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.where(a == b, 0.0, distance).max())


def divergence(a: Rows, b: Rows) -> NDArray[np.float64]:
    """Return the Kullback-Leibler divergence of softmax(b) from softmax(a) of each row: float64,
    nats."""
    from scipy.special import log_softmax  # it is slow to load

    log_p, log_q = (log_softmax(rows.astype(np.float64), axis=1) for rows in (a, b))
    p_a = np.exp(log_p)
    with np.errstate(invalid="ignore"):
        terms = np.where(p_a > 0, p_a * (log_p - log_q), 0.0)
    return np.asarray(terms.sum(axis=1).clip(min=0.0))
