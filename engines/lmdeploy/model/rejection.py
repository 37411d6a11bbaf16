"""lmdeploy's verification of drafts: one row, its random numbers given.

    A greedy row takes the target's argmax at each place, up to the first that is not the draft.
    Else a draft x is accepted if q(x) > 0 and p(x) / q(x) >= u; a draft without q has q(x) = 1.
    Behind a rejection stands the argmax of max(p - q, 0) / e, e exponential numbers of the row, the
    same at each place. Without q it is the argmax of p / e without x.
    Behind all drafts stands the bonus token. -1 fills the rest.

Source: lmdeploy/pytorch/kernels/cuda/rejection_sampling.py 11-211 and
    lmdeploy/pytorch/backends/cuda/rejection_sampling.py 24-109, at 0.18.0.
"""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


def greedy(target: list[int], drafts: list[int], bonus: int) -> list[int]:
    """Return the tokens of a greedy row. target: the argmax at each place."""
    out: list[int] = []
    for x, y in zip(drafts, target, strict=True):
        out.append(y)  # 49
        if x != y:  # 52
            return padded(out, drafts)
    return [*out, bonus]  # 63


def verified(
    p: Rows, q: Rows | None, drafts: list[int], bonus: int, u: NDArray[np.float64], inverse: Rows
) -> list[int]:
    """Return the tokens of another row. p, q: [drafts, n_vocab]. inverse: 1 / e."""
    out: list[int] = []
    for place, x in enumerate(drafts):
        share = np.float32(1) if q is None else q[place, x]
        if not (share > 0 and p[place, x] / share >= u[place]):  # 124
            return padded(
                [*out, rest(p[place], None if q is None else q[place], x, inverse)], drafts
            )
        out.append(x)
    return [*out, bonus]  # 137-139


def rest(p: Rows, q: Rows | None, x: int, inverse: Rows) -> int:
    if q is None:
        weights = np.where(np.arange(len(p)) == x, np.float32(0), p)  # 181-186
    else:
        weights = np.maximum(p - q, np.float32(0))  # 198
    return int((weights * inverse).argmax())  # 205-209


def padded(out: list[int], drafts: list[int]) -> list[int]:
    return out + [-1] * (len(drafts) + 1 - len(out))
