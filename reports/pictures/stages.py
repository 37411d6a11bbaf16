"""The effect of each stage of a case on the probabilities, before and after, as inline SVG.

The reference runs the case. If a bundle has the ids that a backend left at the first difference,
they are drawn too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.stages.block import GivenCase, StagesCase
from sampler_parity.harness.checks.stages.prepared import begin, prepare, reference_step
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.failures.groups import Small
from sampler_parity.harness.inputs.chains import FileValidator
from sampler_parity.harness.inputs.logits import LiteralRows, Literals
from sampler_parity.harness.sanitize.printable import one_line
from sampler_parity.reference import UndefinedInputError
from sampler_parity.reports.pictures.picture import BAD, DOT, INK, WIDTH, legend, picture, plain

CHART = (
    "The probabilities of this input before and after each stage of the reference, and the tokens "
    "that the backend keeps if they differ."
)
TOKENS = 32  # of a panel: the likeliest before the first stage
PANELS = 8  # of a picture
# Tokens, steps, stages: what a counterexample may ask of a report. A shrunk one has few.
_SMALL = (4096, 64, 16)

Probabilities = NDArray[np.float64]


class StageChange(NamedTuple):
    """A stage on all tokens, by id; nan: not among the candidates. got: of a backend, after it.
    kept: the ids that a backend left, where it is not known with which logits."""

    name: str
    before: Probabilities
    after: Probabilities
    got: Probabilities | None = None
    kept: Sequence[int] = ()


def changes(case: GivenCase, step: int = 0) -> list[StageChange]:
    """Return what the reference does in one step of a case. Raises InputError, and
    UndefinedInputError where the reference stops."""
    prepared = prepare(case)
    instances = [prepared.build() for _ in range(prepared.instances)]
    at = min(step, len(prepared.steps) - 1)
    for earlier in prepared.steps[:at]:
        reference_step(prepared, instances, earlier)
    chain, cand = begin(prepared, instances, prepared.steps[at])
    n = case.logits.n
    before = probabilities(cand.ids, cand.logits, n)
    stages = []
    for stage in chain.trace(cand):
        after = probabilities(stage.candidates.ids, stage.candidates.logits, n)
        stages.append(StageChange(stage.name, before, after))
        before = after
    return stages


def probabilities(ids: NDArray[Any], logits: NDArray[Any], n: int) -> Probabilities:
    """Return the softmax over the candidates, by id of n tokens; nan for those that are none."""
    result = np.full(n, np.nan)
    valid = (ids >= 0) & (ids < n)
    values = logits[valid].astype(np.float64)
    if not len(values) or np.isnan(values).any():
        return result
    top = values.max()
    with np.errstate(invalid="ignore"):
        weights = np.exp(values - top) if np.isfinite(top) else (values == top).astype(np.float64)
    result[ids[valid]] = weights / weights.sum()
    return result


class Left(NamedTuple):
    """The ids that a backend left after a stage of a step, where they are others than expected."""

    ids: list[int]
    step: int
    stage: int


def of_counterexample(
    data: Mapping[str, Any] | None, salt: str, survivors: Left | None = None
) -> str:
    """Return an <svg> element of what a bundle holds as a case, or "" where nothing can be shown of
    it: it is none, or no small one of literal logits, or no stage changes anything."""
    try:
        case = case_from(data)
        literal = isinstance(case.logits, LiteralRows | Literals)
        if not literal or not isinstance(case, StagesCase) or case.vocab:
            return ""
        sizes = (case.logits.n, max(case.steps, case.n_draws), len(case.chain))
        if any(n > most for n, most in zip(sizes, _SMALL, strict=True)):
            return ""
        case.validate_input(FileValidator(Path("counterexample")), case.id)
        stages = changes(case, survivors.step if survivors else 0)
        if survivors and 0 <= survivors.stage < len(stages):
            ids = [token for token in survivors.ids if 0 <= token < case.logits.n]
            stages[survivors.stage] = stages[survivors.stage]._replace(kept=ids)
        return drawn(stages, salt)
    except (ValidationError, InputError, UndefinedInputError):
        return ""


def of_minimized(small: Small, salt: str) -> str:
    """Return an <svg> element of a minimized input, with the ids that the backend left."""
    survivors = None
    if set(small.got) != set(small.expected) and small.stage_index is not None:
        survivors = Left(small.got, small.step or 0, small.stage_index)
    return of_counterexample(small.case, salt, survivors)


def drawn(stages: list[StageChange], salt: str) -> str:
    """Draw a panel for each stage that changes something; "" where none does."""
    changed = [s for s in stages if _says_something(s)][:PANELS]
    if not changed:
        return ""
    by_probability = np.argsort(-np.nan_to_num(stages[0].before), kind="stable")[:TOKENS]

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(len(changed), sharex=True, squeeze=False)[:, 0]
        for axes, stage in zip(panels, changed, strict=True):
            _panel(axes, stage, by_probability)
        axes.set_xlabel(_tokens(len(stages[0].before)), color=INK)
        if len(by_probability) <= 16:
            axes.set_xticks(range(len(by_probability)), [str(token) for token in by_probability])
        else:
            axes.set_xticks([])
        legend(figure)

    return picture(draw, (WIDTH, 1.6 * len(changed) + 0.8), salt)


def _says_something(stage: StageChange) -> bool:
    same = np.array_equal(stage.before, stage.after, equal_nan=True)
    return stage.got is not None or bool(stage.kept) or not same


def _tokens(n: int) -> str:
    return "token, the likeliest first" + (f": {TOKENS} of {n:,}" if n > TOKENS else "")


def _panel(axes: "Axes", stage: StageChange, ids: NDArray[np.intp]) -> None:
    at = np.arange(len(ids))
    before, after = stage.before[ids], stage.after[ids]
    axes.bar(at - 0.2, np.nan_to_num(before), 0.4, color=INK, alpha=0.3, label="before")
    axes.bar(at + 0.2, np.nan_to_num(after), 0.4, color=DOT, label="after")
    gone = ~np.isnan(before) & np.isnan(after)
    if gone.any():
        axes.plot(
            at[gone] + 0.2, np.zeros(gone.sum()), "x", color=INK, label="removed", clip_on=False
        )
    if stage.got is not None:
        got = stage.got[ids]
        held = ~np.isnan(got)
        name = "after, by the backend"
        axes.plot(at[held] + 0.2, got[held], "o", color=BAD, markerfacecolor="none", label=name)
    if stage.kept:
        marked = np.isin(ids, stage.kept)
        name = "kept by the backend"
        heights = np.nan_to_num(before[marked])
        axes.plot(at[marked], heights, "o", color=BAD, markerfacecolor="none", label=name)
    axes.set_title(one_line(stage.name, 40), color=INK, loc="left", fontsize=9)
    axes.set_ylabel("probability", color=INK)
    axes.set_ylim(bottom=-0.02 * axes.get_ylim()[1])
    plain(axes)
