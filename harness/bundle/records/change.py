"""A change of meaning between two releases, as a run shows it: one line of JSON."""

from typing import Any, Literal

from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.strict import Strict


class ChangeResult(Strict):
    """A change between releases, as this run shows it: on the newest backend with the old meaning.

    cases: by backend, in how many cases the old meaning is needed. counterexample: the smallest
    case found where it alone is needed, and result how the backend differs there from the newest.
    """

    kind: Literal["change"] = "change"
    id: str
    samplers: list[str]
    last_old: str
    first_new: str
    old: str
    new: str
    cases: dict[str, int]
    backend: str = ""
    suite: str = ""
    case: str = ""
    counterexample: dict[str, Any] | None = None
    result: BackendResult | None = None
