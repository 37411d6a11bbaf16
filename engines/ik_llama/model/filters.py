"""ik_llama.cpp's filters: llama_sample_top_k, _top_p, _min_p, _tail_free, _typical, _top_n_sigma.

Differences to llama.cpp v0.5.0:

    all:           sorts are std::sort's and std::partial_sort's up to 1,024 (array.py): other ties
    top_k:         has a min_keep; k <= 0 keeps all, sorted
    min_p:         min_keep 0 may leave none: p > 1, or all logits -inf
    tail_free:     is still there; min_keep 0 may leave none
    typical:       min_keep 0 keeps all, reordered: 0 - 1 wraps around
    top_n_sigma:   removes in place of masking, then sorts and writes p. `n` < 4: no change. The
                   largest logit counts as at least 0, so logits that are all more than n
                   deviations below 0 leave none, and the process ends

Parameters: those of C, float32; min_keep is a size_t.
Edges: NaN: refused where it is sorted. None left: the next step is undefined.
Source: src/llama-sampling.cpp of ik_llama.cpp at 55d3c05, as ik-llama-cpp-python 0.1.5 has it.
Suite: engines/ik_llama/suites/ik_llama/ik_functions.toml
"""

from typing import Any

import numpy as np

from sampler_parity.engines.ik_llama.model.array import softmax, sort
from sampler_parity.engines.ik_llama.model.stateless import Stateless
from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.parameters import float32, int32, size
from sampler_parity.reference.samplers.typical_p import distances

_FLT_MAX = np.finfo(np.float32).max


def softmax_alone() -> Stateless:
    return Stateless("ik_llama_softmax", softmax)


def top_k(k: Any, min_keep: Any = 0) -> Stateless:
    wanted, minimum = int32("k", k), size("min_keep", min_keep)

    def change(cand: Candidates) -> None:
        sort(cand, min(max(wanted if wanted > 0 else len(cand), minimum), len(cand)))

    return Stateless("ik_llama_top_k", change)


def top_p(p: Any, min_keep: Any = 0) -> Stateless:
    threshold, minimum = float32("p", p), size("min_keep", min_keep)

    def change(cand: Candidates) -> None:
        if threshold >= 1:
            return
        softmax(cand)
        enough = floats.running_sum(cand.p) >= threshold
        enough[: max(0, minimum - 1)] = False
        if enough.any():
            cand.keep(slice(int(enough.argmax()) + 1))

    return Stateless("ik_llama_top_p", change)


def min_p(p: Any, min_keep: Any = 0) -> Stateless:
    threshold, minimum = float32("p", p), size("min_keep", min_keep)

    def change(cand: Candidates) -> None:
        if threshold <= 0 or len(cand) == 0:
            return
        kind = cand.logits.dtype.type
        below_top = floats.log(kind(threshold))
        if not cand.sorted:
            passes = cand.logits >= floats.largest(cand.logits, kind(-_FLT_MAX)) + below_top
            if passes.sum() >= minimum:
                cand.keep(passes)
                return
        sort(cand)
        below = cand.logits < cand.logits[0] + below_top
        below[: max(1, minimum)] = False
        if below.any():
            cand.keep(slice(int(below.argmax())))

    return Stateless("ik_llama_min_p", change)


def tail_free(z: Any, min_keep: Any = 0) -> Stateless:
    threshold, minimum = float32("z", z), size("min_keep", min_keep)

    def change(cand: Candidates) -> None:
        if threshold >= 1 or len(cand) <= 2:
            return
        softmax(cand)
        kind = cand.p.dtype.type
        slope = cand.p[:-1] - cand.p[1:]
        bend = abs(slope[:-1] - slope[1:])
        total = floats.total(bend)
        if total > kind(np.float32(1e-6)):
            bend = bend / total
        else:
            bend = np.full_like(bend, kind(1) / kind(len(bend)))
        over = floats.running_sum(bend) > threshold
        over[:minimum] = False
        if over.any():
            cand.keep(slice(int(over.argmax())))

    return Stateless("ik_llama_tail_free", change)


def typical(p: Any, min_keep: Any = 0) -> Stateless:
    threshold, minimum = float32("p", p), size("min_keep", min_keep)

    def change(cand: Candidates) -> None:
        if threshold >= 1:
            return
        softmax(cand)
        order = sorting.std_sort(-distances(cand.p))
        enough = floats.running_sum(cand.p[order]) > threshold
        enough[: minimum - 1 if minimum > 0 else None] = False
        cand.keep(order[: int(enough.argmax()) + 1] if enough.any() else order)
        cand.sorted = False

    return Stateless("ik_llama_typical", change)


def top_n_sigma(n: Any) -> Stateless:
    width = float32("n", n)

    def change(cand: Candidates) -> None:
        valid = cand.logits[cand.logits != -np.inf]
        if width <= 0 or len(valid) < 4:
            return
        kind = cand.logits.dtype.type
        exact = valid.astype(np.float64)
        mean = floats.total(exact) / len(exact)
        variance = floats.total(exact * exact) / len(exact) - mean * mean
        if variance <= 0:
            return
        top = floats.largest(valid, kind(0))
        stays = cand.logits >= top - kind(width) * kind(np.sqrt(variance))
        if not stays.any():
            raise UndefinedInputError(
                "top_n_sigma leaves no candidate: it takes 0 for the largest logit where all are"
                " below, and ik_llama.cpp aborts"
            )
        if not stays.all():
            cand.keep(stays)
            softmax(cand)

    return Stateless("ik_llama_top_n_sigma", change)
