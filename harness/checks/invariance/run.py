"""Measure the invariance of decoding: the logits of a text in batches, against those alone.

The tokens are given, so no sampler takes part: the first token of each text is its prompt, and all
others are forced, one at a time. A batch has one token of each of its sequences. Every width
decodes every text.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.checks.context import Ready, Terms, short_names
from sampler_parity.harness.checks.invariance.block import InvarianceCase
from sampler_parity.harness.checks.invariance.record import (
    InvarianceOnBackend,
    InvarianceResult,
    WidthFigures,
)
from sampler_parity.harness.checks.logits.compare import (
    divergence,
    largest_difference,
    model_digest,
)
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol import client_sequences
from sampler_parity.harness.protocol.interface import Backend, BackendFailure
from sampler_parity.harness.protocol.sequences import (
    SequencesRequest,
    SequencesStep,
    SlotChange,
    Text,
)

Rows = NDArray[np.float32]  # [texts, tokens, n_vocab]


def run(case: InvarianceCase, ready: Ready) -> InvarianceResult:
    """Return the figures of every width on every backend."""
    by_backend = {}
    for backend in ready.backends:
        try:
            by_backend[backend.name] = _on(case, backend)
        except BackendFailure as failure:
            why = f"{failure.verdict}: {failure}"
            by_backend[backend.name] = InvarianceOnBackend(failed=why)
    return invariance_result(case, by_backend)


def died(case: InvarianceCase, terms: Terms, problem: str) -> InvarianceResult:
    """Return the record of a case that ends the process that measures it."""
    failed = InvarianceOnBackend(failed=f"crashed: {problem}")
    return invariance_result(case, dict.fromkeys(short_names(terms.backends), failed))


def invariance_result(
    case: InvarianceCase, backends: dict[str, InvarianceOnBackend]
) -> InvarianceResult:
    """Return the record of a case of invariance."""
    asked = case.logits
    digest = hashlib.sha256(np.array(asked.texts, np.int32).tobytes())
    return InvarianceResult(
        id=case.id,
        model_sha256=model_digest(model_path(asked.crowded)),
        texts_sha256=digest.hexdigest(),
        texts=len(asked.texts),
        tokens=len(asked.texts[0]),
        backends=backends,
    )


def _on(case: InvarianceCase, backend: Backend) -> InvarianceOnBackend:
    alone = _decoded(case, backend, 1)
    return InvarianceOnBackend(
        widths=[
            figures(width, alone, _decoded(case, backend, width)) for width in case.logits.widths
        ]
    )


def figures(width: int, alone: Rows, crowded: Rows) -> WidthFigures:
    """Compare the rows of a width with those of the texts alone."""
    n_vocab = alone.shape[-1]
    a, b = alone.reshape(-1, n_vocab), crowded.reshape(-1, n_vocab)
    kl = divergence(a, b)
    return WidthFigures(
        width=width,
        rows=len(a),
        equal=int((a == b).all(axis=1).sum()),
        difference=largest_difference(a, b),
        kl_max=float(kl.max()),
        kl_mean=float(kl.mean()),
        top1=int((a.argmax(axis=1) == b.argmax(axis=1)).sum()),
    )


def _decoded(case: InvarianceCase, backend: Backend, width: int) -> Rows:
    """Return the logits after every token of every text, `width` texts at once. In the last batch
    the first texts fill the places that are left."""
    texts = case.logits.texts
    shape = len(texts), len(texts[0]), case.logits.n
    rows = np.empty(shape, np.float32)
    for first in range(0, len(texts), width):
        places = [i % len(texts) for i in range(first, first + width)]
        done = client_sequences.sequences(backend, request_of(case, places))
        by_step = done.rows.reshape(len(texts[0]), width, -1)
        own = min(width, len(texts) - first)
        rows[first : first + own] = by_step[:, :own].swapaxes(0, 1)
    return rows


def request_of(case: InvarianceCase, places: list[int]) -> SequencesRequest:
    """Return a request for these texts at once, each in a slot, token by token."""
    asked, slots = case.logits, list(range(len(places)))
    texts = [
        Text(chain=[{"greedy": {}}], prompt=asked.texts[i][:1], forced=[*asked.texts[i][1:], 0])
        for i in places
    ]
    joins = [SlotChange(do="join", slot=slot, text=slot) for slot in slots]
    steps = [
        SequencesStep(before=[] if at else joins, batch=slots, sample=slots)
        for at in range(len(asked.texts[0]))
    ]
    return SequencesRequest(
        model=str(model_path(asked.crowded)),
        n_vocab=asked.n,
        slots=len(places),
        texts=texts,
        steps=steps,
        out=0,
    )
