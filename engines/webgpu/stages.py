"""What each sampler hands to its shader: parameters, random numbers and the history.

The reference's objects keep state. Their arithmetic is not used. A sampler without a shader runs on
the host, as in engines that keep rare samplers there.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.engines.webgpu.device import Rows, Task
from sampler_parity.reference.errors import UndefinedInputError

Plan = Callable[[Any, int, int], Task | None]


def least(of: Any, n: int) -> int:
    """Return min_keep, which has 64 bits, or a number above all n candidates."""
    return min(int(of.min_keep), n + 1)


def greedy(of: Any, row: int, n: int) -> Task | None:
    return Task(row)


def dist(of: Any, row: int, n: int) -> Task | None:
    return Task(row, a=of.rng.uniform_double() if n else 0)


def top_k(of: Any, row: int, n: int) -> Task | None:
    return Task(row, k=of.k) if of.k > 0 else None


def top_p(of: Any, row: int, n: int) -> Task | None:
    return Task(row, a=of.p, least=least(of, n)) if of.p < 1 else None


def typical_p(of: Any, row: int, n: int) -> Task | None:
    return Task(row, a=of.p, least=least(of, n)) if of.p < 1 else None


def min_p(of: Any, row: int, n: int) -> Task | None:
    return Task(row, a=of.p, least=least(of, n)) if of.p > 0 and n else None


def xtc(of: Any, row: int, n: int) -> Task | None:
    if of.p <= 0 or of.t > 0.5 or n < 2 or of.rng.uniform_float() > of.p:
        return None
    return Task(row, a=of.t, least=least(of, n))


def temp(of: Any, row: int, n: int) -> Task | None:
    return Task(row, a=of.temp) if of.temp != 1 and n else None


def penalties(of: Any, row: int, n: int) -> Task | None:
    off = of.penalty_repeat == 1 and of.penalty_freq == 0 and of.penalty_present == 0
    if off or of.penalty_last_n == 0:
        return None
    counts = sorted(Counter(of.history).items())
    return Task(row, a=of.penalty_repeat, b=of.penalty_freq, c=of.penalty_present, table=counts)


def logit_bias(of: Any, row: int, n: int) -> Task | None:
    pairs = [(token, int(np.float32(bias).view(np.int32))) for token, bias in of.logit_bias]
    return Task(row, table=pairs) if pairs else None


PLANS: dict[str, Plan] = {
    plan.__name__: plan
    for plan in (
        greedy, dist, top_k, top_p, typical_p, min_p, xtc, temp, penalties, logit_bias,
    )
}  # fmt: skip
NEEDS_CANDIDATES = {"top_p", "typical_p"}


def apply_together(rows: Rows, samplers: dict[int, Any]) -> None:
    """Apply one sampler to each row, all of one kind at once. Raises UndefinedInputError for a row
    that cannot be sorted."""
    sizes = rows.states["n"].copy()
    tasks: dict[str, list[Task]] = {}
    for row, of in samplers.items():
        if sizes[row] == 0 and of.name in NEEDS_CANDIDATES and of.p < 1:
            raise UndefinedInputError(f"{of.name} of no candidates")
        task = PLANS[of.name](of, row, int(sizes[row]))
        if task is not None:
            tasks.setdefault(of.name, []).append(task)
    for name, some in tasks.items():
        rows.run(name, some)
    if rows.states["refused"].any():
        raise UndefinedInputError("a NaN logit cannot be sorted")
