"""The cases of a [[fuzz]] block, drawn by Hypothesis. Input where the reference refuses is drawn
again.
"""

import math
import warnings
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from hypothesis import strategies as st

from sampler_parity.harness.suite.case import Case
from sampler_parity.harness.suite.prepared import prepare, reference_trace


def f32(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(float(np.float32(low)), float(np.float32(high)), width=32, allow_nan=False)


_seeds = st.integers(0, 2**32 - 2)
_min_keep = st.sampled_from([0, 0, 1, 2, 5, 100])
_unit = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0, 1e-8]), f32(0, 1))
_tokens = st.integers(0, 12)

_PARAMETERS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "greedy": st.just({}),
    "dist": st.fixed_dictionaries({"seed": _seeds}),
    "top_k": st.fixed_dictionaries({"k": st.integers(-1, 200)}),
    "top_p": st.fixed_dictionaries({"p": _unit, "min_keep": _min_keep}),
    "min_p": st.fixed_dictionaries({"p": _unit, "min_keep": _min_keep}),
    "typical_p": st.fixed_dictionaries({"p": _unit, "min_keep": _min_keep}),
    "temp": st.fixed_dictionaries({"temp": f32(-0.5, 3)}),
    "temp_ext": st.fixed_dictionaries(
        {"temp": f32(0, 2), "delta": f32(-0.5, 2), "exponent": f32(0.125, 3)}
    ),
    "xtc": st.fixed_dictionaries(
        {"p": _unit, "t": f32(0, 0.625), "min_keep": _min_keep, "seed": _seeds}
    ),
    "top_n_sigma": st.fixed_dictionaries({"n": f32(-1, 4)}),
    "mirostat": st.fixed_dictionaries(
        {"seed": _seeds, "tau": f32(0, 12), "eta": f32(0, 1), "m": st.integers(-1, 120)}
    ),
    "mirostat_v2": st.fixed_dictionaries({"seed": _seeds, "tau": f32(0, 12), "eta": f32(0, 1)}),
    "penalties": st.fixed_dictionaries(
        {
            "penalty_last_n": st.integers(-1, 12),
            "penalty_repeat": f32(0.5, 2),
            "penalty_freq": f32(-1, 1),
            "penalty_present": f32(-1, 1),
        }
    ),
    "dry": st.fixed_dictionaries(
        {
            "dry_multiplier": f32(0, 2),
            "dry_base": f32(0.875, 3),
            "dry_allowed_length": st.integers(-1, 4),
            "dry_penalty_last_n": st.integers(-1, 40),
        }
    ),
    "logit_bias": st.fixed_dictionaries(
        {
            "logit_bias": st.lists(
                st.tuples(st.integers(0, 40), st.one_of(f32(-9, 9), st.just(-math.inf))),
                max_size=4,
            ).map(lambda pairs: [list(pair) for pair in pairs])
        }
    ),
    "adaptive_p": st.fixed_dictionaries(
        {"target": f32(-0.25, 1), "decay": f32(0, 1), "seed": _seeds}
    ),
}


def _stage_of(name: str) -> st.SearchStrategy[dict[str, Any]]:
    return _PARAMETERS[name].map(lambda given: {name: given})


_stage = st.one_of(*map(_stage_of, _PARAMETERS))
_logit = st.one_of(
    f32(-12, 12),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, -math.inf, 1e-40, 3e38, -3e38]),
)
_literal = (
    st.integers(1, 40)
    .flatmap(lambda n: st.lists(_logit, min_size=n, max_size=n))
    .map(lambda values: {"values": values})
)
_made = st.fixed_dictionaries(
    {
        "family": st.sampled_from(
            ["normal", "zipf", "peaked", "flat", "bimodal", "ties", "masked", "negative", "wide"]
        ),
        "n": st.sampled_from([17, 127, 128, 129, 300, 1024, 1025, 2000]),
        "seed": st.integers(0, 1000),
    }
)


def make(block: dict[str, str], n: int, start: int, part: str) -> list[Case]:
    """n cases from the seed `start` (part "b" has other ones), named PART-SEED-NUMBER.

    block: id, description and why of the cases.
    """
    cases: list[Case] = []

    @seed(start if part == "a" else start + 2**32)
    @settings(
        database=None,
        max_examples=2 * n + 100,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        chain=st.lists(_stage, min_size=1, max_size=6),
        logits=st.one_of(_literal, _made),
        history=st.lists(_tokens, max_size=30),
        steps=st.integers(1, 4),
        script=st.sampled_from(["plain", "plain", "reset", "clone", "interleaved"]),
    )
    def collect(**drawn: Any) -> None:
        if len(cases) == n:
            return
        name = f"{block['id']}/{part}-{start}-{len(cases)}"
        case = Case.model_validate(block | {"id": name} | drawn)
        trace, refusal = reference_trace(prepare(case))
        assume(trace and not refusal)
        cases.append(case)

    if n > 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Hypothesis remarks on being used as a generator
            collect()
    return cases
