"""Reasons why a backend is not identical, one line for each stage, as data: explanations.toml in
the folder of each engine, and in suites/ for llama.cpp's own.

The parity matrix of a report shows them; a difference that is not listed there is not explained. A
backend explains in its reply why it refuses a case (`unsupported`, `rejected`).
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.engines.samplers import ALL_SAMPLERS
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_table
from sampler_parity.harness.strict import Strict
from sampler_parity.harness.suite.ids import shipped, suites_folder
from sampler_parity.harness.verdicts import Verdict

PROPERTIES = tuple(
    name.removeprefix("properties/") for name in shipped() if name.startswith("properties/")
)
# "": the process died, so no stage is known
STAGES = {*ALL_SAMPLERS, *PROPERTIES, "chain", "token", ""}
EXPLAINABLE: tuple[Verdict, ...] = (
    "reordered", "tied", "close", "boundary", "explained", "diverged", "crashed"
)  # fmt: skip


class Explanation(Strict):
    """stage: the first one that differs. Only the listed verdicts are explained at it."""

    backend: str
    stage: str
    verdicts: list[Verdict] = Field(min_length=1)
    why: Annotated[str, Field(min_length=10, max_length=110, pattern=r"^\S[^\n]*\S$")]


class _ExplanationsFile(Strict):
    explanation: list[Explanation]


Key = tuple[str, str, Verdict]  # backend, stage, verdict


def explanation_files() -> list[Path]:
    """Return every explanations.toml: ours, then the engines'."""
    ours = suites_folder() / "explanations.toml"
    return [ours, *sorted(engines_folder().glob("*/explanations.toml"))]


def all_explanations() -> dict[Key, str]:
    """Return the reasons of all files. Raises InputError as `read_explanations`."""
    return {
        key: why for path in explanation_files() for key, why in read_explanations(path).items()
    }


def read_explanations(path: Path) -> dict[Key, str]:
    """Return the reasons by backend, stage and verdict. Raises InputError: bad file, unknown name,
    a repeat."""
    read = read_table(path, _ExplanationsFile)
    reasons: dict[Key, str] = {}
    for explanation in read.explanation:
        _check(path, explanation)
        for verdict in explanation.verdicts:
            key = (explanation.backend, explanation.stage, verdict)
            if key in reasons:
                raise InputError(
                    path, f"{_place(explanation)}: {verdict} is explained twice", "keep one"
                )
            reasons[key] = explanation.why
    return reasons


def _check(path: Path, explanation: Explanation) -> None:
    folder = path.parent.name
    if path.parent.parent == engines_folder() and explanation.backend.partition("/")[0] != folder:
        problem = f"{_place(explanation)}: the backend does not belong to {folder}"
        raise InputError(path, problem, "move it to the folder of its engine")
    if explanation.backend not in ENGINES:
        raise InputError(
            path, f"{_place(explanation)}: unknown backend", f"use {', '.join(ENGINES)}"
        )
    if explanation.stage not in STAGES:
        raise InputError(
            path,
            f"{_place(explanation)}: unknown stage",
            "name a sampler, a property, chain or token",
        )
    wrong = [verdict for verdict in explanation.verdicts if verdict not in EXPLAINABLE]
    if wrong:
        problem = f"{_place(explanation)}: verdict {wrong[0]!r} cannot be explained"
        raise InputError(path, problem, f"use {', '.join(EXPLAINABLE)}")


def _place(explanation: Explanation) -> str:
    return f"{explanation.backend}, stage {explanation.stage!r}"
