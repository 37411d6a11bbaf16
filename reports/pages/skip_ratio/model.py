"""The model of a skip-ratio report; reports/schemas/skip-ratio.schema.json is made of it."""

from typing import Literal

from sampler_parity.harness.bundle.info import RunInfo
from sampler_parity.harness.checks.skip_ratio.record import Check
from sampler_parity.harness.protocol.measured import Measured
from sampler_parity.harness.strict import Strict


class _Part(Strict, ser_json_inf_nan="strings"):
    """A part whose distribution may be infinitely far off."""


class SkipRatioRow(_Part):
    """A workload on a backend. modelled: the speed-up by harness/trie/model.py, of a row with
    delay_ms from the row without; deviation: that over the measured, less 1. failed: checks not
    met, and what prevented the measurement."""

    bundle: str
    workload: str
    backend: str
    model: str
    leaves: str
    prompts: int
    rounds: int
    delay_ms: float
    ok: bool
    verdict: str
    failed: list[str]
    measured: Measured | None
    checks: list[Check]
    modelled: float | None
    deviation: float | None
    replay: str


class SkipRatioBundle(_Part):
    name: str
    run: RunInfo


class SkipRatioReport(_Part):
    """rows: those that failed first. points: rows that the model was held against; foretold: those
    of them with a longer pass; *_deviation: the largest, of either sign."""

    schema_version: Literal[1] = 1
    kind: Literal["skip_ratio"] = "skip_ratio"
    ok: bool
    bundles: list[SkipRatioBundle]
    rows: list[SkipRatioRow]
    points: int
    points_deviation: float | None
    foretold: int
    foretold_deviation: float | None
