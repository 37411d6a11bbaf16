"""Judge results whatever their arithmetic: `--accept correct`.

A result is correct if some correctly rounded evaluation of the specification gives it. judges.py
has the judge of each sampler; harness/checks/stages/correct.py follows a run. Every bound is
derived in the docstring of the function that has it.

Sources: Higham, Accuracy and Stability of Numerical Algorithms (2002); for sums Jeannerod and Rump,
SIAM J. Matrix Anal. Appl. 34(2), 2013.
"""

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
