"""Measurements of a skip ratio, made of literals."""

from pathlib import Path
from typing import Any

from sampler_parity.harness.bundle.bundle import Bundle
from sampler_parity.harness.checks.skip_ratio import run as skip_ratio
from sampler_parity.harness.checks.skip_ratio.block import SkipRatiosBlock, Workload
from sampler_parity.harness.checks.timed_records import SkipRatioResult
from sampler_parity.harness.protocol.measured import Measured, Way
from sampler_parity.harness.trie.model import modelled
from tests.support.records import record
from tests.support.report_bundles import case, got, read_back, run_info

BLOCK: dict[str, Any] = {
    "id": "x",
    "description": "a fact",
    "why": "a defect",
    "leaves": ["actions", "enum:2"],
}


def way(passes: float, sampler_us: float, decode_us: float) -> Way:
    return Way(
        tokens_per_second=1.0,
        forward_passes_per_token=passes,
        sampler_us_per_step=sampler_us,
        decode_us_per_pass=decode_us,
        sampler_us_mean=sampler_us,
        decode_us_mean=decode_us,
        resampled_share=0.0,
    )


TRIE, GRAMMAR = way(0.5, 100.0, 1000.0), way(1.0, 3100.0, 900.0)


def measured(**changes: Any) -> Measured:
    """Return 4 tokens of 30 leaves at V = 1,000, half of them forced; 3.6 times as fast as the
    grammar.
    """
    ways = {"trie": TRIE, "grammar_first": GRAMMAR}
    fields = {"ways": ways, "modelled": modelled(TRIE, GRAMMAR)} | changes
    return Measured.model_validate(record("measured", **fields))


def workload(**changes: Any) -> Workload:
    (made,) = SkipRatiosBlock(**{**BLOCK, "leaves": ["actions"], **changes}).items(quick=False)
    return made


def result(measurement: Measured | None, **changes: Any) -> SkipRatioResult:
    """Return the result of one workload on llama.cpp; without a measurement it crashed."""
    asked = workload()
    blank = skip_ratio._blank(asked, "llama.cpp", 0)
    checks = asked.checks(measurement) if measurement else []
    verdict = "measured" if measurement else "crashed"
    return blank.model_copy(
        update={
            "suite": "skip_ratio/x",
            "measured": measurement,
            "checks": checks,
            "verdict": verdict,
            **changes,
        }
    )


def bundle_with(folder: Path, *results: SkipRatioResult, cases: bool = False) -> Bundle:
    own = [case("a", {"llama.cpp": got()})] if cases else []
    return read_back(folder, run_info("llama.cpp"), own, results)


def named(name: str, measurement: Measured | None, **changes: Any) -> SkipRatioResult:
    names = {"id": f"{name}@llama.cpp", "workload": name}
    return result(measurement, **{**names, **changes})
