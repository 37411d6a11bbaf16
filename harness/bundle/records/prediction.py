"""Whether a case repeats on other platforms, as the reference predicts it: one line of JSON."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.sanitize.data import shallow
from sampler_parity.harness.strict import Strict


class Apart(Strict):
    """A case on a platform whose bits differ from this machine's."""

    order: bool
    """whether the order of the tokens is the same"""
    survivors: bool
    """whether the survivors are the same"""
    tokens: bool | None
    """whether all drawn tokens are the same; null: none is drawn"""
    token: int | None
    """first step with another token"""
    step: int
    """first step that differs"""
    stage: int
    """first stage that differs"""
    sampler: str
    """sampler of that stage"""
    what: str
    """quantity that differs"""
    here: str
    """value on this machine"""
    there: str
    """value on the platform"""
    operations: list[str]
    """operations of the platform that cause it on their own"""


class PredictionResult(Result):
    """A case on all platforms."""

    kind: Literal["prediction"] = "prediction"
    id: str
    suite: str
    samplers: list[str]
    draws: bool
    """whether the case draws tokens that could differ"""
    platforms: list[str]
    """the platforms"""
    apart: dict[str, Apart]
    """platforms with other bits"""


class PartingResult(Result):
    """A minimized case for the operations of a sampler."""

    kind: Literal["parting"] = "parting"
    id: str
    case: str
    """id of the case"""
    sampler: str
    """the sampler"""
    operations: list[str]
    """the operations"""
    smaller: Annotated[dict[str, Any], AfterValidator(shallow)]
    """the minimized case"""
    platforms: dict[str, Apart]
    """platforms that differ in this way"""
