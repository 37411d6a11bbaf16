"""A failing case made small on a backend: one line of JSON."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from sampler_parity.harness.checks.stages.record import BackendResult
from sampler_parity.harness.sanitize.data import shallow
from sampler_parity.harness.strict import Strict


class Known(Strict):
    """A planted fault that gives exactly what the backend gives on the small case. explains: in how
    many of `tried` cases of the group it differs as the backend does, to the value."""

    name: str
    fault: str
    explains: int
    tried: int


class CounterexampleResult(Strict):
    """One of a group of failures (harness/failures/groups.py), in as little as shows the same.

    smaller: the case; None: there is none, and `said` says why. result: of the small case. got,
    expected: the ids that are left there, of the stage that differs. known: faults that do the
    same.
    """

    kind: Literal["counterexample"] = "counterexample"
    id: str
    case: str
    backend: str
    smaller: Annotated[dict[str, Any] | None, AfterValidator(shallow)] = None
    result: BackendResult | None = None
    got: list[int] = []
    expected: list[int] = []
    said: str = ""
    known: list[Known] = []
