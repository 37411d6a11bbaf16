"""Whether the results of this thread are judged by the specification, whatever their arithmetic."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sampler_parity.harness.verdicts import Accept

_ACCEPT: ContextVar[Accept] = ContextVar("accept", default="identical")


@contextmanager
def accepting(accept: Accept) -> Iterator[None]:
    """Judge by this level within."""
    token = _ACCEPT.set(accept)
    try:
        yield
    finally:
        _ACCEPT.reset(token)


def fairly() -> bool:
    """Return whether a result that is not identical is judged with `correct`."""
    return _ACCEPT.get() == "correct"
