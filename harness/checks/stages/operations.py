"""Scripts of operations on a chain, written as letters, and the steps that they become.

    s   sample and accept the token        r   reset
    p   sample and accept nothing          c   clone: the copy is the second instance from here on
    n   begin with a second instance that is new

Small letters are about the first instance, `S`, `P` and `R` about the second one. A number repeats
the letter before it: `s312cSs`. At the end each instance samples once more, so a script shows what
its last operations left.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import StringConstraints

from sampler_parity.harness.protocol.messages import Step

Operations = Annotated[str, StringConstraints(pattern=r"^n?([sprcSPR]([1-9][0-9]{0,4})?)*$")]

_ONE_INSTANCE, _TWO_INSTANCES = "spr", "sprSPR"  # letters that do not make an instance


def plan_of(scripts: list[str], rows: int) -> tuple[list[Step], int]:
    """Return the steps of all scripts, each on instances of its own, and how many instances there
    are at the start. Rows are taken in turn. Raises ValueError for a second instance that is not
    there."""
    starts = sum(2 if script.startswith("n") else 1 for script in scripts)
    steps: list[Step] = []
    instances, first = starts, 0
    for script in scripts:
        second = first + 1 if script.startswith("n") else None
        before: list[tuple[Literal["reset", "clone"], int]] = []
        for letter in letters(script):
            if letter == "c":
                before.append(("clone", first))
                instances, second = instances + 1, instances
                continue
            at = first if letter.islower() else second
            if at is None:
                raise ValueError(f"{script!r}: no second instance before {letter!r}: write c or n")
            if letter in "rR":
                before.append(("reset", at))
                continue
            accept: Literal["selected"] | None = "selected" if letter in "sS" else None
            row = len(steps) % rows
            steps.append(Step(row=row, instance=at, before=before, accept=accept))
            before = []
        for at in (first, second):
            if at is not None:
                steps.append(Step(row=len(steps) % rows, instance=at, before=before))
                before = []
        first += 2 if script.startswith("n") else 1
    return steps, starts


def letters(script: str) -> Iterator[str]:
    """Yield the operations, repeated ones one by one, without `n`."""
    for letter, count in re.findall(r"([sprcSPR])(\d*)", script):
        yield from letter * int(count or 1)


def exhaustive(length: int) -> list[str]:
    """Return every script of up to so many operations on up to two instances, the short ones first.

    Left out: scripts that end in a sample, which the last samples of a shorter one are; and scripts
    on two new instances that begin with the second, which are others with the names exchanged.
    """
    all_of = [script for n in range(length + 1) for script in _of_length(n)]
    return [script for script in all_of if not script.endswith(("s", "S"))]


def _of_length(n: int) -> Iterator[str]:
    yield from _words("", n, alone=True)
    if n > 0:
        for letter in _ONE_INSTANCE:
            yield from _words("n" + letter, n - 1, alone=False)


def _words(begun: str, n: int, alone: bool) -> Iterator[str]:
    if n == 0:
        yield begun
        return
    for letter in _ONE_INSTANCE if alone else _TWO_INSTANCES:
        yield from _words(begun + letter, n - 1, alone)
    if alone:
        yield from _words(begun + "c", n - 1, alone=False)


def after_draws(rungs: list[int]) -> str:
    """Return a script that makes a clone after each number of samples, and samples from the clone,
    from the first, and from the clone again when it is reset."""
    sampled, script = 0, ""
    for rung in rungs:
        script += (f"s{rung - sampled}" if rung > sampled else "") + "cSsRS"
        sampled = rung + 1  # the script itself samples once from the first
    return script


def simpler(scripts: list[str]) -> Iterator[list[str]]:
    """Yield fewer scripts, and then a script without one of its parts or with half as many
    repetitions."""
    if len(scripts) > 1:
        half = len(scripts) // 2
        yield scripts[:half]
        yield scripts[half:]
        yield from ([*scripts[:i], *scripts[i + 1 :]] for i in range(len(scripts)))
        return
    for script in scripts:
        parts = re.findall(r"n|[sprcSPR]\d*", script)
        for i, part in enumerate(parts):
            yield ["".join(parts[:i] + parts[i + 1 :])]
            count = int(part[1:] or 1)
            if count > 1:
                for fewer in (count // 2, count - 1):
                    yield ["".join([*parts[:i], f"{part[0]}{fewer}", *parts[i + 1 :]])]
