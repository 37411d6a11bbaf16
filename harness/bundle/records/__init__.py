"""The lines of a bundle: one model for each kind of result."""

from typing import Any, Self

from sampler_parity.harness.strict import Strict


class Result(Strict):
    """The record of something that ran."""

    kind: str
    id: str

    def with_crash(self, backend: str, problem: str) -> Self:
        """Return the result with a crash of a backend after its last reply. Results without a field
        `failed` have a method of their own."""
        backends: dict[str, Any] = getattr(self, "backends")  # noqa: B009
        crashed = type(backends[backend])(failed=f"crashed: {problem}")
        return self.model_copy(update={"backends": backends | {backend: crashed}})
