"""Devices: the logits that each backend computes for a prompt, beside those of the first backend.

The figures compare devices with each other; whether the samplers are right on these logits, the
reference says (harness/checks/execute.py).
"""

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.bundle.artifacts import row_file, write_row
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.devices.record import DecodeResult, LogitsFigures
from sampler_parity.harness.checks.stages.record import CaseResult
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs.logits import Computed, LiteralRows
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol import ask
from sampler_parity.harness.protocol.interface import Backend, BackendFailure

Rows = NDArray[np.float32]

_PROMPTS_KEPT = 2  # of each backend, in memory: cases of one prompt follow each other
_decoded: dict[str, dict[tuple[str, tuple[int, ...]], Rows]] = {}


def rows_of(backend: Backend, logits: Computed) -> Rows:
    """The logits after every token of the prompt: float32[len(prompt), n_vocab], not to be changed.

    Raises BackendFailure.
    """
    cache = _decoded.setdefault(backend.name, {})
    key = (logits.computed, tuple(logits.prompt))
    if key not in cache:
        while len(cache) >= _PROMPTS_KEPT:
            del cache[next(iter(cache))]
        path = str(model_path(logits.computed))
        rows = ask.decode(backend, path, logits.n, logits.prompt).copy()
        rows.flags.writeable = False
        cache[key] = rows
    return cache[key]


def on_rows(case: Case, rows: Rows) -> Case:
    """The case on the last logits of a device, given as literals."""
    return case.model_copy(update={"logits": LiteralRows(rows=rows[-case.steps :].tolist())})


def merged(results: list[CaseResult]) -> CaseResult:
    """One result of a case that each backend ran with logits of its own."""
    return results[0].model_copy(
        update={
            "steps": max(result.steps for result in results),
            "reference_s": sum(result.reference_s for result in results),
            "refusal": "; ".join(dict.fromkeys(r.refusal for r in results if r.refusal)),
            "backends": {name: b for r in results for name, b in r.backends.items()},
            "required": {name: v for r in results for name, v in r.required.items()},
        }
    )


def measure(case: Case, backends: Sequence[Backend], artifacts: Path | None) -> DecodeResult:
    """Decode the prompt on every backend and compare with the first. Keeps the last row of each."""
    logits = case.computed
    figures_by_backend: dict[str, LogitsFigures] = {}
    first: Rows | None = None
    for i, backend in enumerate(backends):
        try:
            rows = rows_of(backend, logits)
        except BackendFailure as failure:
            figures_by_backend[backend.name] = LogitsFigures(failed=f"{failure.verdict}: {failure}")
            continue
        first = rows if i == 0 else first
        figures_by_backend[backend.name] = figures(first, rows)
        if logits.keep and artifacts is not None:
            write_row(artifacts / row_file(case.id, backend.name), rows[-1])
    return decode_result(case, figures_by_backend)


def decode_result(case: Case, figures_by_backend: dict[str, LogitsFigures]) -> DecodeResult:
    """The record of a case of logits alone."""
    logits = case.computed
    return DecodeResult(
        id=case.id,
        model_sha256=model_digest(model_path(logits.computed)),
        prompt_sha256=hashlib.sha256(np.array(logits.prompt, np.int32).tobytes()).hexdigest(),
        rows=len(logits.prompt),
        first=next(iter(figures_by_backend)),
        kept=logits.keep,
        backends=figures_by_backend,
    )


@functools.cache
def model_digest(path: Path) -> str:
    return sha256_of(path)


def figures(first: Rows | None, rows: Rows) -> LogitsFigures:
    """Of rows beside those of the first backend; without these only their digest."""
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
    """Largest absolute difference of two logits; 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return float(np.where(a == b, 0.0, apart).max())


def divergence(a: Rows, b: Rows) -> NDArray[np.float64]:
    """Kullback-Leibler divergence of softmax(b) from softmax(a), in nats, of each row; float64."""
    log_p, log_q = (scipy.special.log_softmax(rows.astype(np.float64), axis=1) for rows in (a, b))
    p_a = np.exp(log_p)
    with np.errstate(invalid="ignore"):
        terms = np.where(p_a > 0, p_a * (log_p - log_q), 0.0)
    return np.asarray(terms.sum(axis=1).clip(min=0.0))
