"""llama.cpp's in-graph sampling: the effect of `llama_context_params.samplers` on a row of logits.

The first samplers of a chain that have a graph implementation run on the model's device as part of
llama_decode. From the first that has none, all run on the CPU, on the output of the graph. They
mean the same as on the CPU, but compute otherwise:

    greedy: the last of the largest logits; its *position*, which is a token only while the
            candidates are the whole vocabulary: after top_k or top_p it is not
    dist: u as on the CPU (one double of mt19937), rounded to float32; softmax in float32, its
            running sum in float32; the first candidate whose sum is > u, the last if none is, cut
            or not. So the last gets all the mass that the float32 sum loses
    top_k: the CPU's partial sort, then the first two trade places ("the order is not
            important"); another device has its own order. More than there are: aborts
    top_p: sorts; what is cut stays, with logit -inf. The first sum >= p ends it, as on the CPU
    min_p: keeps logit - (max + log p) > 0, on the CPU >= 0; what is cut stays, with -inf.
            p >= 1 keeps none, all p are NaN, and dist takes the last candidate
    temp: logit * (1 / temp) for logit / temp; temp <= 0 keeps the last of the largest
    temp_ext: does not sort. p below 1e-10 counts as 1e-10 in the entropy, and the largest entropy
            is that of all candidates, cut ones included. temp <= 0 is temp, for any delta
    penalties: logit * (1 / repeat) for logit / repeat; freq and present are subtracted one by one
    logit_bias: by *position*: after top_p another candidate's, and beyond the last it aborts, as it
            always does after top_k (the shapes do not fit). The last of several biases of a token
            counts, on the CPU their sum or the first

`min_keep` is ignored. A sampler that is off ("?name") counts as one with a graph implementation.

Arithmetic is ggml's on one CPU thread, except that ggml's vectorized exp and its sum of exp, which
differ between processors, are expf and a sum in sequence: p may differ by some ULPs. Sorts are
libstdc++'s. Not here: several outputs of a sequence in one batch (n_outputs_max_per_seq > 1). There
penalties run on the CPU, and draws that are not accepted are taken back.

Source: llama_sampler_*_backend_apply, llama_sampler_chain_backend_init and llama_sampler_sample,
src/llama-sampler.cpp; build_sampling, src/llama-graph.cpp; ggml/src/ggml-cpu/ops.cpp and vec.h; all
at v0.5.0.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.chain import Chain
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.sampler import Sampler

Floats = NDArray[np.float32]

# How near a decision must be to its threshold, relative or in mass, for rounding to explain it: as
# harness/checks/stages/boundary.py has it, for float32 sums over up to 262,144 terms.
WIDTH = 1e-5

_F32_ONE = np.float32(1)
_TINY_P = np.float32(1e-10)


@dataclass
class Sampled:
    """The graph's result for a row: everything that llama_get_sampled_*_ith return, and why.

    ids int32[n], logits float32[n]; p float32[n] once dist has drawn, else None; token, None if the
    graph selects none. near: ids that a cut decided on within `width` of its threshold, or by a
    tie. uniform: of dist, if it has drawn. column: whether the logits are a column in ggml, not a
    row, which matters to logit_bias only.
    """

    ids: NDArray[np.int32]
    logits: Floats
    p: Floats | None = None
    token: int | None = None
    near: set[int] = field(default_factory=set)
    uniform: np.float32 | None = None
    column: bool = False
    width: float = WIDTH

    @property
    def kept(self) -> NDArray[np.int32]:
        """The ids that were not cut."""
        return self.ids[self.logits > -np.inf]


class GraphChain:
    """A chain whose first samplers run in the graph.

    chain: the same samplers as on the CPU; their parameters, histories and generators are used.
    n: how many run in the graph if a device lacks an operation; else all up to the first without a
    graph implementation.
    """

    def __init__(self, chain: Chain, n: int | None = None) -> None:
        if n is None:
            has = [_has_graph(sampler) for sampler in chain.samplers]
            n = [*has, False].index(False)
        self.in_graph, self.on_cpu = chain.samplers[:n], chain.samplers[n:]

    def apply(self, logits: Floats, width: float = WIDTH) -> Sampled:
        """Apply the graph's part. Raises UndefinedInputError if llama.cpp aborts."""
        ids = np.arange(len(logits), dtype=np.int32)
        data = Sampled(ids, np.array(logits, np.float32), width=width)
        with np.errstate(all="ignore"):
            for sampler in self.in_graph:
                if not _is_off(sampler):
                    _GRAPH[sampler.name](sampler, data)
        return data

    def rest(self, ids: NDArray[np.int32], logits: Floats) -> Candidates:
        """Apply the samplers on the CPU to the graph's candidates, if the graph selects no token.
        Raises UndefinedInputError."""
        cand = Candidates(ids.copy(), logits.copy(), np.zeros_like(logits))
        Chain(self.on_cpu).apply(cand)
        return cand

    def accept(self, token: int) -> None:
        """Accept a token; in the graph only penalties use it, and only before the next
        llama_decode.
        """
        Chain([*self.in_graph, *self.on_cpu]).accept(token)


def select(p: Floats, uniform: np.float32) -> int:
    """Return the position that dist selects, on one thread of a CPU."""
    above = int(np.count_nonzero(floats.running_sum(p) > uniform))
    return len(p) - max(1, above)


def may_select(p: Floats, uniform: np.float32, at: int, width: float = WIDTH) -> bool:
    """Return whether dist may select this position on a device that sums p in another order."""
    mass = np.cumsum(p, dtype=np.float64)
    if at == len(p) - 1 and not mass[-1] - width > uniform:
        return True  # no sum is greater, or all are NaN
    low = mass[at - 1] if at > 0 else 0.0
    return bool(p[at] > 0 and low - width <= uniform <= mass[at] + width)


@np.errstate(all="ignore")
def soft_max(logits: Floats) -> Floats:
    p = floats.exp(logits - logits.max())
    return np.asarray(p * np.float32(1 / p.sum(dtype=np.float64)))


def last_largest(logits: Floats) -> int:
    """Return ggml_argmax on the CPU."""
    if np.isnan(logits).any():
        raise UndefinedInputError("argmax of a NaN in llama.cpp's graph")
    return int(np.flatnonzero(logits == logits.max())[-1])


def _note_ties(data: Sampled, largest: Any) -> None:
    ties = data.ids[data.logits == largest]
    if len(ties) > 1:
        data.near |= set(ties.tolist())


def _take(data: Sampled, order: NDArray[Any]) -> None:
    data.ids, data.logits, data.column = data.ids[order], data.logits[order], True


def _cut(data: Sampled, keep: NDArray[np.bool_]) -> None:
    bias = floats.log(keep.astype(np.float32))  # 0 or -inf
    data.logits, data.column = data.logits + bias, False


def _greedy(_sampler: Any, data: Sampled) -> None:
    _note_ties(data, data.logits.max())
    data.token = last_largest(data.logits)


def _dist(sampler: Any, data: Sampled) -> None:
    data.uniform = np.float32(sampler.rng.uniform_double())  # 1.0 in one of 2**25 draws
    data.p = soft_max(data.logits)
    data.token = int(data.ids[select(data.p, data.uniform)])


def _top_k(sampler: Any, data: Sampled) -> None:
    if sampler.k > len(data.ids):
        n = len(data.ids)
        raise UndefinedInputError(f"llama.cpp's graph aborts: top_k of {sampler.k} from {n}")
    if np.isnan(data.logits).any():
        raise UndefinedInputError("top_k of a NaN in llama.cpp's graph")
    order = sorting.std_partial_sort(data.logits, sampler.k)
    order[:2] = order[:2][::-1]
    _note_ties(data, data.logits[order].min())
    _take(data, order)


def _top_p(sampler: Any, data: Sampled) -> None:
    if np.isnan(data.logits).any():
        raise UndefinedInputError("top_p of a NaN in llama.cpp's graph")
    _take(data, sorting.std_sort(data.logits))
    mass = floats.running_sum(soft_max(data.logits))
    keep = mass < sampler.p
    keep[min(np.count_nonzero(keep), len(keep) - 1)] = True
    before = mass[:-1]  # of all but the first, which stays: they do if this is < p
    data.near |= set(data.ids[1:][abs(before - sampler.p) <= data.width].tolist())
    _cut(data, keep)


def _min_p(sampler: Any, data: Sampled) -> None:
    threshold = data.logits[last_largest(data.logits)] + floats.log(sampler.p)
    close = abs(data.logits - threshold) <= data.width * max(_F32_ONE, abs(threshold))
    data.near |= set(data.ids[close].tolist())
    _cut(data, data.logits - threshold > 0)


def _temp(sampler: Any, data: Sampled) -> None:
    if sampler.temp > 0:
        data.logits = data.logits * (_F32_ONE / sampler.temp)
        return
    best = last_largest(data.logits)
    _note_ties(data, data.logits[best])
    _take(data, np.array([best]))


def _temp_ext(sampler: Any, data: Sampled) -> None:
    temp, delta = sampler.temp, sampler.delta
    if delta <= 0 or temp <= 0:
        _temp(sampler, data)
        return
    low, high = max(np.float32(0), temp - delta), temp + delta
    p = np.clip(soft_max(data.logits), _TINY_P, _F32_ONE)
    entropy = -np.float32((p * floats.log(p)).sum(dtype=np.float64))
    most = floats.log(np.float32(len(p)))
    power = floats.exp(floats.log(entropy * (_F32_ONE / most)) * sampler.exponent)
    data.logits, data.column = data.logits / (power * (high - low) + low), False


def _penalties(sampler: Any, data: Sampled) -> None:
    counts = Counter(sampler.history)
    indices = np.flatnonzero(np.isin(data.ids, list(counts)))
    old = data.logits[indices]
    repeat = sampler.penalty_repeat
    new = old * np.where(old > 0, _F32_ONE / repeat, repeat) if repeat != 1 else old
    count = np.array([counts[token] for token in data.ids[indices].tolist()], np.float32)
    data.logits, data.column = data.logits.copy(), False
    data.logits[indices] = new - count * sampler.penalty_freq - sampler.penalty_present


def _logit_bias(sampler: Any, data: Sampled) -> None:
    bias = np.zeros_like(data.logits)
    if data.column and len(bias) > 1:
        raise UndefinedInputError("llama.cpp's graph aborts: logit_bias after top_k")
    for position, value in sampler.logit_bias:
        if not 0 <= position < len(bias):
            text = f"a bias for {position} of {len(bias)} candidates"
            raise UndefinedInputError(f"llama.cpp's graph aborts: {text}")
        bias[position] = value
    data.logits = data.logits + bias


_GRAPH: Mapping[str, Callable[[Any, Sampled], None]] = {
    "greedy": _greedy,
    "dist": _dist,
    "top_k": _top_k,
    "top_p": _top_p,
    "min_p": _min_p,
    "temp": _temp,
    "temp_ext": _temp_ext,
    "penalties": _penalties,
    "logit_bias": _logit_bias,
}


# The parameters with which llama_sampler_init_* makes an empty sampler, which the graph takes too.
_OFF: Mapping[str, Callable[[Any], bool]] = {
    "top_k": lambda s: s.k <= 0,
    "top_p": lambda s: s.p >= 1,
    "min_p": lambda s: s.p <= 0,
    "typical_p": lambda s: s.p >= 1,
    "temp": lambda s: s.temp == 1,
    "temp_ext": lambda s: s.temp == 1 and s.delta <= 0,
    "xtc": lambda s: s.p <= 0 or s.t > 0.5,
    "top_n_sigma": lambda s: s.n <= 0,
    "penalties": lambda s: (
        s.penalty_last_n == 0
        or (s.penalty_repeat == 1 and s.penalty_freq == 0 and s.penalty_present == 0)
    ),
    "dry": lambda s: not s.on,
    "logit_bias": lambda s: not s.logit_bias,
}


def _is_off(sampler: Any) -> bool:
    return sampler.name in _OFF and bool(_OFF[sampler.name](sampler))


def _has_graph(sampler: Sampler) -> bool:
    return sampler.name in _GRAPH or _is_off(sampler)
