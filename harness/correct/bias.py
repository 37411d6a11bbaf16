"""Search the correct results of a run for bias, and for a stated arithmetic that is too wide.

Bias: errors that bounds allow, but that all lie on one side. With many candidates the bound of a
sum is wide: a backend that always keeps one token too many may stay within it. A cut leans if the
exact sum of the backend's own probabilities gives another one. If the errors are those of correct
rounding it leans late or early with the same chance, so the number of late ones has a binomial
distribution.

Too wide: the results need a narrower arithmetic only. Some correct results are judged again with
narrower arithmetics.
"""

import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sampler_parity.harness.bundle.cases import alike, where
from sampler_parity.harness.bundle.records import CaseResult
from sampler_parity.harness.protocol.arithmetic import SIGNIFICAND, Arithmetic, Format

CHANCE = 1e-6  # of a report about a backend without bias, for each suite


@dataclass(frozen=True)
class Bias:
    """The leaning cuts of a backend in a suite. chance: of so uneven a division under correct
    rounding."""

    suite: str
    backend: str
    late: int
    early: int
    chance: float

    def __str__(self) -> str:
        n, (most, side) = self.late + self.early, max((self.late, "late"), (self.early, "early"))
        return (
            f"biased: in {self.suite} {most:,} of {n:,} leaning cuts of {self.backend} are {side};"
            f" chance {self.chance:.0e} under correct rounding"
        )


def biases(cases: Iterable[CaseResult]) -> list[Bias]:
    """Return the biases of all suites and backends. One case counts once for each side."""
    n_late: defaultdict[tuple[str, str], int] = defaultdict(int)
    n_early: defaultdict[tuple[str, str], int] = defaultdict(int)
    for case, n in alike(cases):
        for name, result in case.backends.items():
            n_late[case.suite, name] += n * (result.late > 0)
            n_early[case.suite, name] += n * (result.early > 0)
    results: list[Bias] = []
    if not any(n_late.values()) and not any(n_early.values()):
        return results
    from scipy.stats import binomtest  # it is slow to load, and most runs have no leaning cut

    for suite, name in {**n_late, **n_early}:
        behind, ahead = n_late[suite, name], n_early[suite, name]
        if behind + ahead:
            chance = float(binomtest(behind, behind + ahead).pvalue)
            if chance < CHANCE:
                results.append(Bias(suite, name, behind, ahead, chance))
    return results


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
    if stated.sums == "float64" or stated.log_domain:
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
