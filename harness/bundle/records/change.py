"""A change of meaning between two releases, as a run shows it: one line of JSON."""

from typing import Any, Literal

from sampler_parity.harness.bundle.records import Result
from sampler_parity.harness.bundle.records.case import BackendResult


class ChangeResult(Result):
    """A change between releases, shown on the newest backend with the old meaning."""

    kind: Literal["change"] = "change"
    id: str
    samplers: list[str]
    last_old: str
    """last release with the old meaning"""
    first_new: str
    """first release with the new meaning"""
    old: str
    """the old meaning"""
    new: str
    """the new meaning"""
    cases: dict[str, int]
    """number of cases that need the old meaning, by backend"""
    backend: str = ""
    """backend of the smallest case"""
    suite: str = ""
    case: str = ""
    """the smallest case that needs the old meaning alone"""
    counterexample: dict[str, Any] | None = None
    result: BackendResult | None = None
    """how the backend differs there from the newest meaning"""
