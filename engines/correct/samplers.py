"""Every sampler of llama.cpp over `Ops`, written from the docstrings of reference/samplers.

A function changes candidates as the sampler does. The reference's objects hold parameters, history
and random numbers; their arithmetic is not used. The flag `sorted` follows the specification,
because a stage on sorted candidates does not sort them again.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.engines.correct.ops import Ops, first_largest, largest
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.dry import FLOAT_MAX_LOG, Dry, suffix_repeats

Apply = Callable[[Ops, Candidates, Any], None]


def sort(ops: Ops, cand: Candidates) -> None:
    if not cand.sorted:
        cand.keep(ops.order(cand))
        cand.sorted = True


def normalize(ops: Ops, cand: Candidates, sorted_first: bool = True) -> None:
    if len(cand) == 0:
        raise UndefinedInputError("softmax of no candidates")
    if sorted_first:
        sort(ops, cand)
    cand.p = ops.softmax(cand.logits)


def greedy(ops: Ops, cand: Candidates, of: Any) -> None:
    cand.selected = first_largest(cand.logits)


def dist(ops: Ops, cand: Candidates, of: Any) -> None:
    cand.selected = -1
    if len(cand) == 0:
        return
    u = of.rng.uniform_double()
    if len(cand) == 1:
        cand.selected, cand.p = 0, np.ones_like(cand.p)
        return
    weights = ops.weights(cand.logits)
    cand.selected = ops.pick(weights, u, lost=len(cand) - 1)
    cand.p = ops.narrowed(weights / ops.total(weights))


def draw(ops: Ops, cand: Candidates, rng: Mt19937) -> None:
    """Draw by p, as std::discrete_distribution: one candidate takes no random number."""
    cand.selected = 0
    if len(cand) > 1:
        cand.selected = ops.pick(cand.p, rng.uniform_double(), lost=0)


def top_k(ops: Ops, cand: Candidates, of: Any) -> None:
    if of.k > 0:
        sort(ops, cand)
        cand.keep(slice(of.k))


def top_p(ops: Ops, cand: Candidates, of: Any) -> None:
    if of.p >= 1:
        return
    normalize(ops, cand)
    cand.keep(slice(ops.crossing(cand.p, ops.kind(of.p), of.min_keep)))


def min_p(ops: Ops, cand: Candidates, of: Any) -> None:
    if of.p <= 0 or len(cand) == 0:
        return
    distance = ops.log(ops.kind(of.p))
    if not cand.sorted:
        top = np.fmax.reduce(cand.logits)
        passing = np.flatnonzero(cand.logits >= top + distance)
        if top != -np.inf and 0 < len(passing) >= of.min_keep:
            cand.keep(passing)
            return
    sort(ops, cand)
    below = cand.logits < cand.logits[0] + distance
    below[: max(1, of.min_keep)] = False
    if below.any():
        cand.keep(slice(int(below.argmax())))


def typical_p(ops: Ops, cand: Candidates, of: Any) -> None:
    if of.p >= 1:
        return
    normalize(ops, cand)
    surprise = -ops.log_p(cand.logits, cand.p)
    entropy = ops.total(cand.p * surprise)
    order = np.argsort(abs(surprise - entropy), kind="stable")
    n = ops.crossing(cand.p[order], ops.kind(of.p), of.min_keep, strict=True)
    cand.keep(order[:n])
    cand.sorted = False


def scale(ops: Ops, cand: Candidates, temp: Any) -> None:
    if len(cand) == 0:
        return
    if temp > 0:
        cand.logits = cand.logits / ops.kind(temp)
        return
    best = first_largest(cand.logits)
    top = cand.logits[best]
    cand.logits = np.full_like(cand.logits, -np.inf)
    cand.logits[best] = top


def temp(ops: Ops, cand: Candidates, of: Any) -> None:
    if of.temp != 1:
        scale(ops, cand, of.temp)


def temp_ext(ops: Ops, cand: Candidates, of: Any) -> None:
    if not of.delta > 0:
        temp(ops, cand, of)
        return
    if len(cand) <= 1:
        return
    kind = ops.kind
    normalize(ops, cand)
    terms = cand.p * ops.log_p(cand.logits, cand.p)
    entropy = -ops.total(terms[cand.p > 0])
    share = ops.power(max(kind(0), entropy) / ops.log(kind(len(cand))), of.exponent)
    lowest = max(kind(0), kind(of.temp) - kind(of.delta))
    highest = kind(of.temp) + kind(of.delta)
    scale(ops, cand, lowest + (highest - lowest) * share)
    cand.p = ops.softmax(cand.logits)


def xtc(ops: Ops, cand: Candidates, of: Any) -> None:
    if of.p <= 0 or of.t > 0.5 or len(cand) < 2 or of.rng.uniform_float() > of.p:
        return
    normalize(ops, cand)
    below = ~(cand.p >= ops.kind(of.t))
    last_top = max(0, (int(below.argmax()) if below.any() else len(cand)) - 1)
    if last_top > 0 and len(cand) - last_top >= of.min_keep:
        cand.keep(slice(last_top, None))


def top_n_sigma(ops: Ops, cand: Candidates, of: Any) -> None:
    possible = cand.logits[cand.logits != -np.inf]
    if of.n <= 0 or len(cand) <= 1 or len(possible) == 0:
        return
    n = ops.kind(len(possible))
    away = possible - ops.total(possible) / n
    deviation = np.sqrt(ops.total(away * away) / n)
    threshold = largest(possible) - ops.kind(of.n) * deviation
    cand.logits = np.where(cand.logits < threshold, ops.kind(-np.inf), cand.logits)


def steer(ops: Ops, cand: Candidates, of: Any) -> None:
    """Normalize, draw, and move mu by the surprise of the token."""
    normalize(ops, cand)
    draw(ops, cand, of.rng)
    surprise = ops.bits(cand.logits, cand.p)[cand.selected]
    of.mu = ops.kind(of.mu) - ops.kind(of.eta) * (surprise - ops.kind(of.tau))


def mirostat(ops: Ops, cand: Candidates, of: Any) -> None:
    normalize(ops, cand)
    kind = ops.kind
    pairs = min(len(cand) - 1, of.m - 1 if of.m > 0 else len(cand))
    i = np.arange(pairs)
    t = ops.log((i + 2).astype(kind) / (i + 1).astype(kind))
    b = ops.log_ratios(cand.logits, cand.p)[:pairs]
    s = ops.total(t * b) / ops.total(t * t)
    e = s - kind(1)
    spread = e * ops.power(2, of.mu) / (kind(1) - ops.power(of.n_vocab, -e))
    k = ops.power(spread, kind(1) / s)
    cand.keep(slice(int(k) if 1 <= k < 2**31 else 1))
    steer(ops, cand, of)


def mirostat_v2(ops: Ops, cand: Candidates, of: Any) -> None:
    normalize(ops, cand)
    surprising = ops.bits(cand.logits, cand.p) > ops.kind(of.mu)
    if surprising.any():
        cand.keep(slice(max(1, int(surprising.argmax()))))
    steer(ops, cand, of)


def _places(cand: Candidates) -> dict[int, int]:
    return {token: i for i, token in enumerate(cand.ids.tolist())}


def penalties(ops: Ops, cand: Candidates, of: Any) -> None:
    kind = ops.kind
    off = of.penalty_repeat == 1 and of.penalty_freq == 0 and of.penalty_present == 0
    if off or of.penalty_last_n == 0:
        return
    counts, places = Counter(of.history), _places(cand)
    for token in counts.keys() & places.keys():
        logit = cand.logits[places[token]]
        repeat = kind(of.penalty_repeat)
        logit = logit * repeat if logit <= 0 else logit / repeat
        penalty = kind(counts[token]) * kind(of.penalty_freq) + kind(of.penalty_present)
        cand.logits[places[token]] = logit - penalty
    cand.sorted = False


def repeated(of: Dry) -> dict[int, int] | None:
    """Return for each token the longest repetition that it would continue, if it is long enough;
    None if the history is too short for any."""
    if not of.on or len(of.history) <= of.dry_allowed_length:
        return None
    latest_first = list(reversed(of.history))
    limit = of._limit(latest_first)
    if limit < of.dry_allowed_length:
        return None
    longest: dict[int, int] = {}
    lengths = suffix_repeats(latest_first, limit)
    for token, length in zip(latest_first, lengths[1:], strict=False):
        if length >= of.dry_allowed_length and () not in of.breakers.get(token, ()):
            longest[token] = max(length, longest.get(token, length))
    return longest


def dry(ops: Ops, cand: Candidates, of: Any) -> None:
    found = repeated(of)
    if found is None:
        return
    kind, most = ops.kind, 0
    if of.dry_base > np.float32(1.000001):
        most = int(kind(FLOAT_MAX_LOG) / ops.log(kind(of.dry_base)))
    places = _places(cand)
    for token in found.keys() & places.keys():
        exponent = found[token] - of.dry_allowed_length
        exponent = min(exponent, most) if most > 0 else exponent
        half, rest = ops.power(of.dry_base, exponent // 2), exponent - exponent // 2
        # in halves: the limited power may still exceed float32, and the penalty need not
        penalty = kind(of.dry_multiplier) * half * ops.power(of.dry_base, rest)
        cand.logits[places[token]] -= penalty
    cand.sorted = False


def logit_bias(ops: Ops, cand: Candidates, of: Any) -> None:
    places, elsewhere = _places(cand) if of.logit_bias else {}, set()
    for token, bias in of.logit_bias:
        if token not in places or token in elsewhere:
            continue
        cand.logits[places[token]] += ops.kind(bias)
        if places[token] != token:
            elsewhere.add(token)  # only the first of several counts


def ignore_eos(ops: Ops, cand: Candidates, of: Any) -> None:
    logit_bias(ops, cand, of.bans)


def prefixes(cand: Candidates, of: Any) -> list[tuple[int, int]]:
    """Return pairs of candidates of which the first is a prefix of the second, by position."""
    if cand.ids.max() >= len(of.vocab):
        raise UndefinedInputError("infill meets an id outside the vocabulary")
    pieces = [of.vocab.piece(token) for token in cand.ids.tolist()]
    starting: dict[bytes, list[int]] = defaultdict(list)
    for j, piece in enumerate(pieces):
        for end in range(1, len(piece) + 1):
            starting[piece[:end]].append(j)
    return [(i, j) for i, piece in enumerate(pieces) for j in starting.get(piece, ()) if i != j]


def infill(ops: Ops, cand: Candidates, of: Any) -> None:
    normalize(ops, cand)
    kind, ends = ops.kind, np.isin(cand.ids, of.eog)
    if kind(3) * ops.total(cand.p[ends]) * kind(len(cand)) > ops.total(cand.p[~ends]):
        cand.keep(ends)
        cand.p = ops.narrowed(cand.p / ops.total(cand.p))
        return
    p, alive = cand.p.copy(), cand.logits != -np.inf
    for i, j in prefixes(cand, of):
        if alive[i] and alive[j]:
            into, merged = (j, i) if p[j] > p[i] else (i, j)
            p[into : into + 1] = ops.narrowed(p[into : into + 1] + p[merged])
            p[merged], alive[merged] = 0, False
    cand.p, cand.logits = p, np.where(alive, cand.logits, kind(-np.inf))
    merged_all = cand.copy()
    cand.keep(~(cand.p < kind(0.2)) | ends)
    n_text = int((~np.isin(cand.ids, of.eog)).sum())
    if n_text == 0:
        if len(cand) == 0:
            cand.ids, cand.logits, cand.p = merged_all.ids, merged_all.logits, merged_all.p
        cand.keep(slice(1))
        cand.ids[0], cand.logits[0] = of.end, 1
        return
    cand.p = ops.narrowed(cand.p / ops.total(cand.p))
    cand.keep(~(cand.p < kind(1) / kind(n_text + 1)) | np.isin(cand.ids, of.eog))
    cand.p = ops.narrowed(cand.p / ops.total(cand.p))


def adaptive_p(ops: Ops, cand: Candidates, of: Any) -> None:
    normalize(ops, cand, sorted_first=False)
    if of.target >= 0:
        kind = ops.kind
        of.original_p = cand.p
        target = np.clip(kind(of.target), kind(0), kind(1))
        wanted = np.clip(kind(2) * target - of.weighted_sum / of.total_weight, kind(0), kind(1))
        distance = abs(cand.p - wanted) / kind(0.3)
        moved = kind(5) - kind(10) * distance * distance / (kind(1) + distance)
        cand.logits = np.where(cand.logits == -np.inf, cand.logits, moved)
        cand.p = ops.softmax(cand.logits)
    draw(ops, cand, of.rng)
    if of.target >= 0:
        of.pending_token, of.pending_index = int(cand.ids[cand.selected]), cand.selected


def by_grammar(ops: Ops, cand: Candidates, of: Any) -> None:
    """Mask by the reference's matcher: there is nothing to compute."""
    of.apply(cand)


SAMPLERS: dict[str, Apply] = {
    function.__name__: function
    for function in (
        greedy, dist, top_k, top_p, min_p, typical_p, temp, temp_ext, xtc, top_n_sigma, mirostat,
        mirostat_v2, penalties, dry, logit_bias, ignore_eos, infill, adaptive_p,
    )
} | {"grammar": by_grammar, "grammar_lazy_patterns": by_grammar}  # fmt: skip
