"""The rejection sampler of vLLM's second runner, seed for seed: one round of one request.

    u = Philox of seed and position, at least 2**-31, for each draft x, drawn from q.
    x is accepted if log p(x) > log(u) + log q(x), else the round ends.
    Behind a rejection stands the argmax of log(max(p - q, 0)) + noise.
    Behind all drafts stands the argmax of log p + noise.
    At temperature 0 x is accepted if it is the argmax of p, else the argmax takes its place.

The noise is that of a draw at the position of the row (model/noise.py).

Source: _rejection_kernel, _resample_kernel and _insert_resampled_kernel,
    vllm/v1/worker/gpu/spec_decode/rejection_sampler_utils.py 488-1012 at 0.32.0.
"""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.philox import rand
from sampler_parity.engines.vllm_gpu.model.noise import gumbel

Rows = NDArray[np.float32]
SMALLEST = np.float32(4.6566127342e-10)  # gumbel.py 12


def log_softmax(row: Rows) -> Rows:
    shifted = row - row.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum(dtype=np.float32)))


@np.errstate(all="ignore")
def verified(
    target: Rows, draft: Rows, tokens: list[int], seed: int, pos: int, greedy: bool = False
) -> list[int]:
    """Return the tokens of a round. target: rows of logits, one more than drafts. draft: log q."""
    out: list[int] = []
    for i, token in enumerate(tokens):
        if greedy:
            out.append(int(target[i].argmax()))  # 577-597
            if out[-1] != token:
                return out
            continue
        p, q = log_softmax(target[i]), log_softmax(draft[i])
        u = max(rand(seed, pos + i), SMALLEST)  # 572
        if not p[token] > np.log(u) + q[token]:  # 665
            ratio = np.exp(q - p)
            residual = np.where(ratio < 1, p + np.log1p(-ratio), np.float32(-np.inf))  # 873-878
            return [*out, _drawn(residual, seed, pos + i)]
        out.append(token)  # 668
    last = target[-1]
    return [*out, int(last.argmax()) if greedy else _drawn(last, seed, pos + len(tokens))]


def _drawn(row: Rows, seed: int, pos: int) -> int:
    return int((row + gumbel(seed, pos, np.arange(len(row)))).argmax())
