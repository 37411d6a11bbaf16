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
from sampler_parity.harness.inputs.logits import LiteralRows, Literals
from sampler_parity.harness.inputs.validation import FileValidator
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
    ready = prepare(case)
    instances = [ready.build() for _ in range(ready.instances)]
    at = min(step, len(ready.steps) - 1)
    for earlier in ready.steps[:at]:
        reference_step(ready, instances, earlier)
    chain, cand = begin(ready, instances, ready.steps[at])
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
    shown = np.full(n, np.nan)
    known = (ids >= 0) & (ids < n)
    values = logits[known].astype(np.float64)
    if not len(values) or np.isnan(values).any():
        return shown
    top = values.max()
    with np.errstate(invalid="ignore"):
        weights = np.exp(values - top) if np.isfinite(top) else (values == top).astype(np.float64)
    shown[ids[known]] = weights / weights.sum()
    return shown


class Left(NamedTuple):
    """The ids that a backend left after a stage of a step, where they are others than expected."""

    ids: list[int]
    step: int
    stage: int


def of_counterexample(data: Mapping[str, Any] | None, salt: str, left: Left | None = None) -> str:
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
        stages = changes(case, left.step if left else 0)
        if left and 0 <= left.stage < len(stages):
            known = [token for token in left.ids if 0 <= token < case.logits.n]
            stages[left.stage] = stages[left.stage]._replace(kept=known)
        return drawn(stages, salt)
    except (ValidationError, InputError, UndefinedInputError):
        return ""


def of_minimized(small: Small, salt: str) -> str:
    """Return an <svg> element of a minimized input, with the ids that the backend left."""
    left = None
    if set(small.got) != set(small.expected) and small.stage_index is not None:
        left = Left(small.got, small.step or 0, small.stage_index)
    return of_counterexample(small.case, salt, left)


def drawn(stages: list[StageChange], salt: str) -> str:
    """Draw a panel for each stage that changes something; "" where none does."""
    shown = [s for s in stages if _says_something(s)][:PANELS]
    if not shown:
        return ""
    by_probability = np.argsort(-np.nan_to_num(stages[0].before), kind="stable")[:TOKENS]

    def draw(figure: "Figure") -> None:
        panels = figure.subplots(len(shown), sharex=True, squeeze=False)[:, 0]
        for axes, stage in zip(panels, shown, strict=True):
            _panel(axes, stage, by_probability)
        axes.set_xlabel(_tokens(len(stages[0].before)), color=INK)
        if len(by_probability) <= 16:
            axes.set_xticks(range(len(by_probability)), [str(token) for token in by_probability])
        else:
            axes.set_xticks([])
        legend(figure)

    return picture(draw, (WIDTH, 1.6 * len(shown) + 0.8), salt)


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
        shown = np.isin(ids, stage.kept)
        name = "kept by the backend"
        heights = np.nan_to_num(before[shown])
        axes.plot(at[shown], heights, "o", color=BAD, markerfacecolor="none", label=name)
    axes.set_title(one_line(stage.name, 40), color=INK, loc="left", fontsize=9)
    axes.set_ylabel("probability", color=INK)
    axes.set_ylim(bottom=-0.02 * axes.get_ylim()[1])
    plain(axes)
