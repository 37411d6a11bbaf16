"""The program that `sampler-parity repro` writes, under a sanitizer."""

from pathlib import Path
from typing import Any

from sampler_parity.harness.checks.stages.block import StagesCase
from sampler_parity.harness.inputs.logits import LiteralRows
from sampler_parity.harness.llama_cpp.compiled import flags
from sampler_parity.maintenance.repro.asked import ComparedStage
from sampler_parity.maintenance.repro.program import program
from sampler_parity.reference.chronology import NEWEST
from tests.attack.native.sanitizers import COMMON, FLAGS, WITHOUT_LEAKS, compiled, output_of

CHAIN: list[dict[str, dict[str, Any]]] = [
    {"logit_bias": {"logit_bias": [[2, 0.5], [0, float("-inf")]]}},
    {"penalties": {"penalty_last_n": 4, "penalty_repeat": 1.3, "penalty_freq": 0.2}},
    {"top_k": {"k": 3}},
    {"dist": {"seed": 7}},
]


def repro(folder: Path) -> str:
    """Run a program that compares two steps. Raises AssertionError."""
    case = StagesCase(
        id="t/t", description="a test", why="a test", chain=CHAIN, steps=2, history=[1, 3],
        logits=LiteralRows(rows=[[0.1, 1.0, 2.5, -1.25], [1.0, 1.0, 0.1, 1e-30]]),
    )  # fmt: skip
    source = folder / "repro.cpp"
    source.write_text(program(case, ComparedStage(1, 3, NEWEST, NEWEST), "a test"))
    made = compiled(folder / "repro", [source], *COMMON, *FLAGS["address"], *flags())
    output_of([made], WITHOUT_LEAKS)  # its chain lives until its end: it is written for a reader
    return "two steps, four stages, the same"
