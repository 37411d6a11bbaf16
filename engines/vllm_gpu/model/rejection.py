"""The rejection sampler of vLLM's second runner, seed for seed: one round of one request.

    u = Philox of seed and position, at least 2**-31, for each draft x, drawn from q.
    x is accepted if log p(x) > log(u) + log q(x), else the round ends.
    Behind a rejection stands the argmax of log(max(p - q, 0)) + noise.
    Behind all drafts stands the argmax of log p + noise.
    At temperature 0 x is accepted if it is the argmax of p, else the argmax takes its place.

Block verification accepts the longest prefix whose u is at most h.
r is the ratio of the prefix, 1 before the first draft: r = min(r * p(x) / q(x), 1).
At the last draft h = r. Before it h = m / (m + 1 - r), m = sum of max(r * p - q, 0) at the next.

Behind it stands a draw from max(r * p - q, 0), or from p behind all drafts. A draft of -1 ends the
drafts: a draw from p takes its place.

The noise is that of a draw at the position of the row (model/noise.py).

Source: _rejection_kernel, _resample_kernel and _insert_resampled_kernel,
    vllm/v1/worker/gpu/spec_decode/rejection_sampler_utils.py 488-1012 at 0.32.0.
"""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.philox import rand
from sampler_parity.engines.vllm_gpu.model.noise import gumbel, gumbel_of_64_bits

Rows = NDArray[np.float32]
SMALLEST = np.float32(4.6566127342e-10)  # gumbel.py 12


def log_softmax(row: Rows) -> Rows:
    shifted = row - row.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum(dtype=np.float32)))


@np.errstate(all="ignore")
def verified(
    target: Rows,
    draft: Rows,
    tokens: list[int],
    seed: int,
    pos: int,
    greedy: bool = False,
    fp64: bool = False,
) -> list[int]:
    """Return the tokens of a round. target: rows of logits, one more than drafts. draft: log q.
    fp64: the noise has 64 bits."""
    out: list[int] = []
    for i, token in enumerate(tokens):
        if greedy:
            out.append(int(target[i].argmax()))  # 577-597
            if out[-1] != token:
                return out
            continue
        if token < 0:  # 569, 835
            return [*out, _drawn(target[i], seed, pos + i, fp64)]
        p, q = log_softmax(target[i]), log_softmax(draft[i])
        u = max(rand(seed, pos + i), SMALLEST)  # 572
        if not p[token] > np.log(u) + q[token]:  # 665
            return [*out, _drawn(_residual(p, q), seed, pos + i, fp64)]
        out.append(token)  # 668
    last = target[-1]
    return [*out, int(last.argmax()) if greedy else _drawn(last, seed, pos + len(tokens), fp64)]


@np.errstate(all="ignore")
def verified_as_block(
    target: Rows, draft: Rows, tokens: list[int], seed: int, pos: int
) -> list[int]:
    """Return the tokens of a round of block verification, as `verified`."""
    n = next((i for i, token in enumerate(tokens) if token < 0), len(tokens))
    p, q = [log_softmax(row) for row in target[:-1]], [log_softmax(row) for row in draft]
    logs = [np.float32(0)]  # log r
    for i, token in enumerate(tokens[:n]):
        logs.append(min(logs[-1] + (p[i][token] - q[i][token]), np.float32(0)))  # 383
    accepted = 0
    for i in range(n):
        h = ratio = np.exp(logs[i + 1])
        if i + 1 < n:
            mass = np.maximum(ratio * np.exp(p[i + 1]) - np.exp(q[i + 1]), 0).sum()  # 480
            rest = mass + np.float32(1) - ratio
            h = mass / rest if rest > 0 else np.float32(1)  # 625-626
        if max(rand(seed, pos + i), SMALLEST) <= h:
            accepted = i + 1  # 629
    row = target[accepted]
    if accepted < n:
        row = _residual(p[accepted] + logs[accepted], q[accepted])  # 865
    return [*tokens[:accepted], _drawn(row, seed, pos + accepted)]


def _residual(p: Rows, q: Rows) -> Rows:
    """Return the logarithms of max(p - q, 0)."""
    ratio = np.exp(q - p)
    return np.where(ratio < 1, p + np.log1p(-ratio), np.float32(-np.inf))  # 873-878


def _drawn(row: Rows, seed: int, pos: int, fp64: bool = False) -> int:
    noise = gumbel_of_64_bits if fp64 else gumbel
    return int((row + noise(seed, pos, np.arange(len(row)))).argmax())
