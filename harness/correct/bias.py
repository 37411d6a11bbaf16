"""Errors that bounds allow, but that all lie on one side.

With many candidates the bound of a sum is wide: a backend that always keeps one token too many may
stay within it. A cut leans if the exact sum of the backend's own probabilities gives another one.
If the errors are those of correct rounding it leans late or early with the same chance, so the
number of late ones has a binomial distribution.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from sampler_parity.harness.bundle.cases import alike
from sampler_parity.harness.bundle.records.case import CaseResult

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
