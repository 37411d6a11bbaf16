"""A failing case minimized on a backend: one line of JSON."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.sanitize.data import shallow
from sampler_parity.harness.strict import Strict


class Known(Strict):
    """A planted fault that gives exactly what the backend gives on the small case. explains: in how
    many of `tried` cases of the group it differs as the backend does, to the value."""

    name: str
    """name of the fault"""
    fault: str
    """the change that it makes"""
    explains: int
    """in how many cases it differs like the backend"""
    tried: int
    """how many cases were tried"""


class CounterexampleResult(Result):
    """A minimized failure."""

    kind: Literal["counterexample"] = "counterexample"
    id: str
    case: str
    """id of the case"""
    backend: str
    """the backend that fails"""
    smaller: Annotated[dict[str, Any] | None, AfterValidator(shallow)] = None
    """the minimized case; null: none was found"""
    result: BackendResult | None = None
    """result of the minimized case"""
    got: list[int] = []
    """ids that the backend left at the stage that differs"""
    expected: list[int] = []
    """ids that the reference left"""
    said: str = ""
    """why there is no minimized case"""
    known: list[Known] = []
    """planted faults with the same effect"""
