"""The cases of a [[fuzz]] block, drawn by Hypothesis. Input that the reference refuses is drawn
again."""

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.prepared import prepare, reference_trace
from sampler_parity.reference.registry import ROWS, Floats, Integers, OneOf, Range


def f32(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(float(np.float32(low)), float(np.float32(high)), width=32, allow_nan=False)


def strategy(drawn: Range) -> st.SearchStrategy[Any]:
    """Return the strategy from which Hypothesis draws a parameter."""
    if isinstance(drawn, Integers):
        return st.integers(drawn.low, drawn.high)
    if isinstance(drawn, Floats):
        return f32(drawn.low, drawn.high)
    if isinstance(drawn, OneOf):
        values = st.sampled_from(drawn.values)
        return values if drawn.or_from is None else st.one_of(values, strategy(drawn.or_from))
    bias = st.one_of(strategy(drawn.biases), st.just(-math.inf))
    pairs = st.lists(st.tuples(strategy(drawn.tokens), bias), max_size=drawn.at_most)
    return pairs.map(lambda biases: [list(pair) for pair in biases])


def _stage_of(name: str, ranges: Mapping[str, Range]) -> st.SearchStrategy[dict[str, Any]]:
    drawn = {parameter: strategy(values) for parameter, values in ranges.items()}
    parameters = st.fixed_dictionaries(drawn) if drawn else st.just({})
    return parameters.map(lambda setting: {name: setting})


_tokens = st.integers(0, 12)
_stage = st.one_of(
    *(_stage_of(name, row.ranges) for name, row in ROWS.items() if row.ranges is not None)
)
_logit = st.one_of(
    f32(-12, 12), st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, -math.inf, 1e-40, 3e38, -3e38])
)
literal_logits = (
    st.integers(1, 40)
    .flatmap(lambda n: st.lists(_logit, min_size=n, max_size=n))
    .map(lambda values: {"values": values})
)
_generated = st.fixed_dictionaries(
    {
        "family": st.sampled_from(
            ["normal", "zipf", "peaked", "flat", "bimodal", "ties", "masked", "negative", "wide"]
        ),
        "n": st.sampled_from([17, 127, 128, 129, 300, 1024, 1025, 2000]),
        "seed": st.integers(0, 1000),
    }
)


@contextmanager
def seed_alone() -> Iterator[None]:
    """Disable the constants that Hypothesis collects from the source of all loaded modules."""
    none = mock.patch.object(providers, "_get_local_constants", Constants)
    with none, mock.patch.object(providers, "CONSTANTS_CACHE", {}):
        yield


class _EnoughError(Exception):
    """Ends the drawing: Hypothesis would go on to max_examples."""


def make(block: dict[str, str], n: int, start: int, part: str) -> list[Case]:
    """Return n cases from the seed `start` (part "b" has other ones), named PART-SEED-NUMBER.

    block: id, description and why of the cases.
    """
    cases: list[Case] = []

    @seed(start if part == "a" else start + 2**32)
    @settings(
        database=None,
        max_examples=2 * n + 100,
        deadline=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        chain=st.lists(_stage, min_size=1, max_size=6),
        logits=st.one_of(literal_logits, _generated),
        history=st.lists(_tokens, max_size=30),
        steps=st.integers(1, 4),
        script=st.sampled_from(["plain", "plain", "reset", "clone", "interleaved"]),
    )
    def collect(**drawn: Any) -> None:
        if len(cases) < n:
            name = f"{block['id']}/{part}-{start}-{len(cases)}"
            case = case_from(block | {"id": name} | drawn)
            assert isinstance(case, StagesCase)
            trace, refusal = reference_trace(prepare(case))
            assume(trace and not refusal)
            cases.append(case)
        if len(cases) == n:
            raise _EnoughError

    if n > 0:
        with warnings.catch_warnings(), seed_alone(), suppress(_EnoughError):
            warnings.simplefilter("ignore")  # Hypothesis remarks on being used as a generator
            collect()
    return cases
