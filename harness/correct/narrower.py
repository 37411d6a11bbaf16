"""Find backends that state a wider arithmetic than their results need.

Some results that are correct are judged again with narrower arithmetics.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sampler_parity.harness.bundle.cases import where
from sampler_parity.harness.bundle.records.case import CaseResult
from sampler_parity.harness.protocol.arithmetic import SIGNIFICAND, Arithmetic, Format

ONE_IN = 8  # one in so many cases is judged again, by the checksum of its id
LEAST = 20  # results that must fit


@dataclass(frozen=True)
class Wide:
    """A backend whose n results that were judged again all fit a narrower arithmetic."""

    backend: str
    n: int
    fits: str

    def __str__(self) -> str:
        return (
            f"wide: {self.backend} states larger errors than its results show: all {self.n:,} that"
            f" were judged again also fit {self.fits}"
        )


def is_tried(case: str) -> bool:
    """Return whether the results of a case are judged again."""
    return zlib.crc32(case.encode()) % ONE_IN == 0


def narrower(stated: Arithmetic) -> dict[str, Arithmetic]:
    """Return arithmetics with smaller errors than the stated one by a text, the narrowest first."""
    arithmetics: dict[str, Arithmetic] = {}
    of_p = SIGNIFICAND[stated.probabilities]
    if stated.sums == "float64":
        return arithmetics
    kinds: tuple[Format, ...] = ("float64", "float32")
    for kind in kinds:
        if SIGNIFICAND[kind] > of_p:
            changed = {"logits": kind, "probabilities": kind, "sums": kind}
            arithmetics[kind] = stated.model_copy(update=changed)
    if stated.summation in ("unknown", "sequential"):
        for order in ("compensated", "pairwise"):
            arithmetics[f"{order} sums"] = stated.model_copy(update={"summation": order})
    return arithmetics


def wide(cases: Iterable[CaseResult]) -> list[Wide]:
    """Return the backends that state more than they need."""
    fits: defaultdict[str, list[list[str]]] = defaultdict(list)
    for case in where(
        cases, lambda case: any(got.fits is not None for got in case.backends.values())
    ):
        for name, result in case.backends.items():
            if result.fits is not None:
                fits[name].append(result.fits)
    return [
        Wide(name, len(fitting), all_fit[0])
        for name, fitting in fits.items()
        if len(fitting) >= LEAST
        and (
            all_fit := [
                name_of for name_of in fitting[0] if all(name_of in names for names in fitting)
            ]
        )
    ]
