"""A fourth set: engines that apply a chain in an order of their own, and min_p's that take a share
of something else than the largest probability. Written and labelled before the diagnosis was asked
about them. See studies/held_out.py.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from sampler_parity.harness.protocol import messages as p
from studies.held_out import (
    F,
    right_logit_bias,
    right_min_p,
    right_penalties,
    right_temp,
    right_top_n_sigma,
    right_top_p,
    right_typical_p,
)
from studies.own_samplers import (
    NEVER,
    Apply,
    Fault,
    Given,
    History,
    Instance,
    Token,
    Worker,
    softmax,
    top_k,
)

SAMPLERS: dict[str, Apply] = {
    "logit_bias": right_logit_bias,
    "penalties": right_penalties,
    "top_k": top_k(),
    "top_n_sigma": right_top_n_sigma,
    "typical_p": right_typical_p,
    "top_p": right_top_p,
    "min_p": right_min_p,
    "temp": right_temp,
}
Order = Callable[[list[str]], list[int]]  # of the samplers of a chain, by their places


@dataclass(frozen=True)
class Misordered:
    """as_if: as in own_samplers.Fault."""

    name: str
    order: Order
    as_if: str
    sampler: str = "chain"


class Engine(Worker):
    """An engine of several samplers, which orders them."""

    def __init__(self, order: Order) -> None:
        self.order = order

    def hello(self) -> p.HelloReply:
        return p.HelloReply(
            name="own", version="1", capabilities=["run"], samplers=[*SAMPLERS, "greedy"]
        )

    def build(self, chain: p.ChainSpec, n_vocab: int, vocab: str | None) -> Instance:
        stages = [(name, given) for stage in chain for name, given in stage.items()]
        places = self.order([name for name, _ in stages])
        return Instance([(deepcopy(SAMPLERS[stages[i][0]]), stages[i][1]) for i in places])


def by(*first: str) -> Order:
    """Return an order that puts the named ones, in this order, before all others."""
    return lambda names: sorted(
        range(len(names)),
        key=lambda i: first.index(names[i]) if names[i] in first else len(first),
    )


def last(*names_of_last: str) -> Order:
    return lambda names: sorted(range(len(names)), key=lambda i: names[i] in names_of_last)


def top_p_in_front_of_top_k(names: list[str]) -> list[int]:
    """Put top-p before top-k, as one kernel for both: the two keep their places in this order."""
    both = [i for i, name in enumerate(names) if name in ("top_k", "top_p")]
    filters = iter(sorted(both, key=lambda i: names[i] != "top_p"))
    return [next(filters) if i in both else i for i in range(len(names))]


ORDERS = (
    Misordered("as asked", lambda names: [*range(len(names))], ""),
    Misordered("temperature before all", by("temp"), "temperature-first"),
    Misordered(  # filters-last became a planted fault later, of which this is another writing
        "temperature before the filters",
        by("logit_bias", "penalties", "temp"),
        "temperature-first filters-last",
    ),
    Misordered("temperature behind all", last("temp"), "temperature-last"),
    Misordered("top-p before top-k", top_p_in_front_of_top_k, "top-p-before-top-k"),
    Misordered("backwards", lambda names: [*range(len(names))][::-1], ""),
    Misordered(
        "by their names", lambda names: sorted(range(len(names)), key=names.__getitem__), ""
    ),
    Misordered("penalties behind all", last("penalties"), ""),
    Misordered("top-k behind all", last("top_k"), ""),
    Misordered("min-p before all", by("min_p"), ""),
)


def _stay(tokens: list[Token], given: Given, cut: float, least: int = 1) -> list[Token]:
    """Keep logits of at least the cut; the first of the sorted if too few are."""
    stay = [t for t in tokens if t[1] >= cut]
    keep = max(given.get("min_keep", 0), least)
    return stay if len(stay) >= keep else sorted(tokens, key=lambda t: -t[1])[:keep]


def of_the_sum(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Cut at log sum exp + log p: a share of everything, by logits."""
    if given["p"] <= 0 or not tokens or max(t[1] for t in tokens) == NEVER:
        return tokens
    largest = max(t[1] for t in tokens)
    whole = largest + math.log(sum(math.exp(t[1] - largest) for t in tokens))
    return _stay(tokens, given, float(F(whole + math.log(given["p"]))))


def list_of_those_above(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Return [t for t in tokens if p(t) >= p], which may be empty."""
    if given["p"] <= 0 or not tokens:
        return tokens
    ordered = softmax(tokens)
    stay = [t for t in ordered if t[2] >= F(given["p"])]
    return ordered[: max(len(stay), given.get("min_keep", 0))]


def all_where_none_is_above(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Return the filtered list, or the whole list if the filter leaves nothing."""
    if given["p"] <= 0 or not tokens:
        return tokens
    share = {t[0]: t[2] for t in softmax(tokens)}
    stay = [t for t in tokens if share[t[0]] >= F(given["p"])] or tokens
    least = given.get("min_keep", 0)
    return stay if len(stay) >= least else sorted(tokens, key=lambda t: -t[1])[:least]


def of_the_second(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Cut at a share of the second largest."""
    if given["p"] <= 0 or len(tokens) < 2:
        return tokens
    second = sorted((t[1] for t in tokens), reverse=True)[1]
    return _stay(tokens, given, float(F(F(second) + np.log(F(given["p"])))))


def of_the_mean(tokens: list[Token], given: Given, _: History) -> list[Token]:
    """Cut at a share of the uniform probability."""
    if given["p"] <= 0 or not tokens:
        return tokens
    share = {t[0]: t[2] for t in softmax(tokens)}
    stay = [t for t in tokens if share[t[0]] >= given["p"] / len(tokens)]
    least = max(given.get("min_keep", 0), 1)
    return stay if len(stay) >= least else sorted(tokens, key=lambda t: -t[1])[:least]


SHARES = (
    Fault("of the sum, by logits", "min_p", of_the_sum, "absolute-threshold"),
    Fault(
        "a list, which may be empty", "min_p", list_of_those_above, "absolute-threshold-keeps-none"
    ),
    Fault("all where none is above", "min_p", all_where_none_is_above, "absolute-threshold"),
    Fault("of the second largest", "min_p", of_the_second, ""),
    Fault("of the mean", "min_p", of_the_mean, ""),
)
