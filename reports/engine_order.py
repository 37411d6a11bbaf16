"""Engines as pages set them side by side: in which order, and why one is not identical."""

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.backends.names import without_build
from sampler_parity.harness.bundle.records.case import BackendResult
from sampler_parity.harness.failures.explanations import Key
from sampler_parity.harness.verdicts import Verdict

_OF_LLAMA_CPP = ("llama.cpp", "reference")
_SAID: tuple[Verdict, ...] = (
    "skipped",
    "unsupported",
    "rejected",
)  # the backend's reply gives the reason


def of_llama_cpp(name: str) -> bool:
    """Return whether it is a build of llama.cpp, or the reference, which is its double."""
    return without_build(name) in _OF_LLAMA_CPP


def place(name: str) -> tuple[int, str]:
    """Return the sort key of a backend: as the engines are listed, then all others."""
    base = without_build(name)
    return (list(ENGINES).index(base) if base in ENGINES else len(ENGINES), name)


def reason(name: str, result: BackendResult, explained: dict[Key, str]) -> str:
    """Return why a result is not identical: the backend's words where it refused, that it is
    correct, else our line; or ''."""
    if result.verdict in _SAID:
        return result.detail
    if result.verdict == "correct":
        return "Another rounding, or another order of equals, that the specification allows."
    base = without_build(name)
    return explained.get((base, result.stage, result.verdict), "")
