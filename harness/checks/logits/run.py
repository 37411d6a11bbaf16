"""Logits of a prompt on every backend, measured and not judged."""

import hashlib

import numpy as np

from sampler_parity.harness.bundle.artifacts import row_file, write_row
from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.checks.logits.block import LogitsCase
from sampler_parity.harness.checks.logits.compare import figures, model_digest
from sampler_parity.harness.checks.logits.decoded import Rows, rows_of
from sampler_parity.harness.checks.logits.record import DecodeResult, LogitsFigures
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol.interface import BackendFailure


def run(case: LogitsCase, ready: Ready) -> DecodeResult:
    """Decode the prompt on every backend and compare with the first. Keeps the last row of each."""
    logits = case.logits
    figures_by_backend: dict[str, LogitsFigures] = {}
    first: Rows | None = None
    for i, backend in enumerate(ready.backends):
        try:
            rows = rows_of(backend, logits)
        except BackendFailure as failure:
            figures_by_backend[backend.name] = LogitsFigures(failed=f"{failure.verdict}: {failure}")
            continue
        first = rows if i == 0 else first
        figures_by_backend[backend.name] = figures(first, rows)
        if logits.keep and ready.artifacts is not None:
            write_row(ready.artifacts / row_file(case.id, backend.name), rows[-1])
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
