"""Whether a case repeats on other platforms, as the reference predicts it: one line of JSON."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from sampler_parity.harness.sanitize.data import shallow
from sampler_parity.harness.strict import Strict


class Apart(Strict):
    """A case on a platform where its bits are others. order, survivors, tokens: whether they are as
    here all the same; tokens: None where none is drawn. token: the step whose token is the first
    to differ.

    step, stage, sampler: where it parts first; what differs there, with its value here and there;
    operations: of the platform, each of which parts it there alone; none: several together.
    """

    order: bool
    survivors: bool
    tokens: bool | None
    token: int | None
    step: int
    stage: int
    sampler: str
    what: str
    here: str
    there: str
    operations: list[str]


class PredictionResult(Strict):
    """A case on all `platforms`. apart: those on which its bits are others. draws: whether it has
    tokens that could differ."""

    kind: Literal["prediction"] = "prediction"
    id: str
    suite: str
    samplers: list[str]
    draws: bool
    platforms: list[str]
    apart: dict[str, Apart]


class PartingResult(Strict):
    """A case made small that a sampler's operations part. platforms: those on which it parts in
    that way."""

    kind: Literal["parting"] = "parting"
    id: str
    case: str
    sampler: str
    operations: list[str]
    smaller: Annotated[dict[str, Any], AfterValidator(shallow)]
    platforms: dict[str, Apart]
