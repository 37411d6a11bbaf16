"""One input: made from its seed and number, then read. Forbidden outcomes are reported."""

import contextlib
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from sampler_parity.harness.errors import LONGEST, InputError
from tests.attack.fuzzing.table import Fuzzed
from tests.attack.fuzzing.ways import changed

SECONDS = 10.0  # of work for one input; the slowest of ours takes 1
GROWTH = 512 << 20  # bytes of memory that one input may take


TAKEN, REFUSED = "taken", "refused"


class Hangs(BaseException):
    """Timeout that no reader's exception handler catches."""


def made(fuzzed: Fuzzed, samples: list[bytes], seed: int, number: int) -> bytes:
    return changed(Random(f"{seed}/{fuzzed.name}/{number}"), samples, fuzzed.ways)


def outcome(fuzzed: Fuzzed, path: Path) -> str:
    """Return TAKEN, REFUSED, or a failure: a traceback, a refusal of two lines, time, memory."""
    before = _peak()
    try:
        with in_time():
            result = _read(fuzzed, path)
    except Hangs as hangs:
        what = "of work" if hangs.args == (signal.SIGPROF,) else "or six times as long of waiting"
        return f"not read within {SECONDS:g} s {what}"
    grown = _peak() - before
    return f"took {grown >> 20} MiB" if grown > GROWTH else result


def _read(fuzzed: Fuzzed, path: Path) -> str:
    try:
        fuzzed.read(path)
    except InputError as refusal:
        text = str(refusal)
        is_line = text.isprintable() and len(text) <= LONGEST + 100
        return REFUSED if is_line else f"its refusal is no line: {text!r}"
    except fuzzed.refusals:
        return REFUSED
    except Exception:
        return traceback.format_exc()
    return TAKEN


def _peak() -> int:
    """Return the peak memory so far, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Raise Hangs after SECONDS of processor time, or after six times as long by the clock."""

    def ring(number: int, _frame: Any) -> None:
        raise Hangs(number)

    signals = {signal.SIGPROF: (signal.ITIMER_PROF, SECONDS)}
    signals[signal.SIGALRM] = signal.ITIMER_REAL, 6 * SECONDS
    old = {number: signal.signal(number, ring) for number in signals}
    for timer, seconds in signals.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for number, (timer, _) in signals.items():
            signal.setitimer(timer, 0)
            signal.signal(number, old[number])
