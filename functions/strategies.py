"""Inputs of a sampler for tests with Hypothesis: rows, parameters and accepted tokens, from the
ranges that the suites are drawn from. Hypothesis shrinks them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from sampler_parity.functions.check import subject_of
from sampler_parity.functions.report import Report
from sampler_parity.functions.stage import SUPPORTED
from sampler_parity.functions.subject import DRAWN, case_of
from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.checks.stages.blocks.fuzz_cases import literal_logits, strategy
from sampler_parity.harness.checks.stages.prepared import prepare, reference_trace
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.sanitize.near import did_you_mean
from sampler_parity.reference.registry import ROWS

_ROW = st.lists(st.integers(-16, 16).map(lambda x: x / 4), min_size=1, max_size=12)
_TOKENS = st.lists(st.integers(0, 12), max_size=30)


@dataclass(frozen=True)
class SamplerInput:
    """A row, the parameters of a sampler, and the tokens accepted before."""

    sampler: str
    logits: Sequence[float]
    parameters: Mapping[str, Any]
    tokens: Sequence[int]

    @property
    def row(self) -> NDArray[np.float32]:
        """The logits as float32[n]."""
        return np.array(self.logits, np.float32)

    @property
    def case(self) -> StagesCase:
        """The same as a case of a suite."""
        id = f"{self.sampler}{DRAWN}"
        return case_of(id, self.sampler, self.logits, self.parameters, self.tokens)

    def check(self, function: Callable[..., Any], **options: Any) -> Report:
        """Judge a function on this input. options: as those of `check`."""
        subject = subject_of(function, self.sampler, **options)
        result, findings = subject.judged(self.case)
        does = "does as required" if result.ok else "fails"
        return Report(f"{subject.name} {does} on this input", result.ok, findings)


def inputs(sampler: str) -> st.SearchStrategy[SamplerInput]:
    """Return a strategy of inputs for which llama.cpp defines a result."""
    if sampler not in SUPPORTED:
        raise InputError(
            f"inputs({sampler!r})", "no such sampler", did_you_mean(sampler, SUPPORTED)
        )
    row = ROWS[sampler]
    # Hypothesis counts the compilation of the reference as slow drawing: compile it before.
    _is_defined(SamplerInput(sampler, (0.0, 1.0, 1.0), row.smallest, (0,)))
    parameters = {}
    for name, values in (row.ranges or {}).items():
        # words such as "V-1" stand for the number of tokens
        edges = [edge for edge in (row.edges or {}).get(name, ()) if not isinstance(edge, str)]
        inner = strategy(getattr(values, "or_from", None) or values)
        drawn = st.one_of(inner, inner, strategy(values))
        parameters[name] = drawn | st.sampled_from(edges) if edges else drawn
    inputs_of_any = st.builds(
        lambda logits, values, tokens: SamplerInput(sampler, logits, values, tokens),
        _ROW | literal_logits.map(lambda row: row["values"]),
        st.fixed_dictionaries(parameters), _TOKENS,
    )  # fmt: skip
    return inputs_of_any.filter(_is_defined)


def _is_defined(drawn: SamplerInput) -> bool:
    if not any(math.isfinite(logit) for logit in drawn.logits):
        return False
    trace, refusal = reference_trace(prepare(drawn.case))
    return bool(trace) and not refusal
