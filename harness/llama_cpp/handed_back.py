"""The candidates that a context with samplers in its graph returns for an output."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.llama_cpp.decode import Context
from sampler_parity.harness.protocol.interface import Result


def handed_back(context: Context, output: int = -1) -> Result:
    """Copy the candidates of an output; p is 0 if the graph computes none."""
    library, pointer = context.library, context.pointer

    def taken(what: str) -> NDArray[Any] | None:
        n = getattr(library, f"llama_get_sampled_{what}_count_ith")(pointer, output)
        if n == 0:
            return None
        values = getattr(library, f"llama_get_sampled_{what}_ith")(pointer, output)
        return np.ctypeslib.as_array(values, (n,)).copy()

    logits = taken("logits")
    assert logits is not None  # build_sampling always hands back logits
    ids, p = taken("candidates"), taken("probs")
    ids = np.arange(len(logits), dtype=np.int32) if ids is None else ids
    return ids, logits, np.zeros_like(logits) if p is None else p, None, -1
