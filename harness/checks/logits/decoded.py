"""The logits that a backend's own device computes for a prompt."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.inputs.logits import Computed
from sampler_parity.harness.inputs.models import model_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol.interface import Backend

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
