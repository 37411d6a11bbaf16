"""akunu_gumbel, wrong in one way each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.akunu.model import pipeline as akunu
from sampler_parity.engines.akunu.model.gumbel_max import (
    U_MAX,
    U_MIN,
    AkunuGumbel,
    element_seed,
    gumbel,
    uniforms,
)
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, floats
from sampler_parity.reference.random import pcg_floats, pcg_hash


class Steps(AkunuGumbel):
    """akunu_gumbel with each step a method, so that a fault replaces one of them."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        akunu.require_vocabulary(cand)
        cand.logits = akunu.to_half(cand.logits)
        akunu.penalize(cand.logits, self.prev_tokens, self.repeat_penalty)
        if self.temperature > 0:
            self._filter(cand.logits)
            cand.logits = self.stored(cand.logits + self.scaled(self.noise_of(len(cand))))
        cand.selected = self.largest(cand.logits)
        self.position += 1

    def noise_of(self, n: int) -> NDArray[Any]:
        return gumbel(self.uniforms(element_seed(self.position, self.seed_offset), n))

    def uniforms(self, first: int, n: int) -> NDArray[np.float32]:
        return uniforms(first, n)

    def scaled(self, noise: NDArray[Any]) -> NDArray[Any]:
        return self.temperature * noise

    def stored(self, logits: NDArray[Any]) -> NDArray[Any]:
        return akunu.to_half(logits) if self.noise == "f16" else logits

    def largest(self, logits: NDArray[Any]) -> int:
        return int(floats.first_largest(logits))


class DividedByOneLess(Steps):
    """The hash is divided by 2**32 - 1, in double (in float the two divisors are one)."""

    def uniforms(self, first: int, n: int) -> NDArray[np.float32]:
        words = np.array([pcg_hash((first + i) % 2**32) for i in range(n)], np.float64)
        return (words / 4294967295.0).astype(np.float32).clip(U_MIN, U_MAX)


class Upper24Bits(Steps):
    """The uniform is made of the upper 24 bits of the hash."""

    def uniforms(self, first: int, n: int) -> NDArray[np.float32]:
        words = np.array([pcg_hash((first + i) % 2**32) >> 8 for i in range(n)], np.float32)
        return (words / np.float32(2**24)).clip(U_MIN, U_MAX)


class NotClamped(Steps):
    """u is not clamped: 0 gives -inf and 1 gives inf."""

    @np.errstate(divide="ignore")
    def uniforms(self, first: int, n: int) -> NDArray[np.float32]:
        return pcg_floats(first, n)  # type: ignore[no-any-return]


class SameForEveryPosition(Steps):
    """The position does not enter the hash."""

    def noise_of(self, n: int) -> NDArray[Any]:
        return gumbel(uniforms(element_seed(0, self.seed_offset), n))


class SeedNotSpread(Steps):
    """Position and offset are not multiplied: the next position shifts the noise by one token."""

    def noise_of(self, n: int) -> NDArray[Any]:
        return gumbel(uniforms((self.position + self.seed_offset) % 2**32, n))


class NoiseNotScaled(Steps):
    """The noise is not multiplied by the temperature."""

    def scaled(self, noise: NDArray[Any]) -> NDArray[Any]:
        return noise


class ExponentialNoise(Steps):
    """-log(u) in the place of -log(-log(u))."""

    def noise_of(self, n: int) -> NDArray[Any]:
        u = uniforms(element_seed(self.position, self.seed_offset), n)
        return -floats.log(u)  # type: ignore[no-any-return]


class AlwaysFloat32(Steps):
    """The sum is never stored as float16."""

    def stored(self, logits: NDArray[Any]) -> NDArray[Any]:
        return logits


class HighestOfEquals(Steps):
    """The highest id of equal sums is taken."""

    def largest(self, logits: NDArray[Any]) -> int:
        return len(logits) - 1 - int(np.argmax(logits[::-1]))


class FiltersIgnoreTemperature(Steps):
    """The filters see the probabilities at temperature 1."""

    def _filter(self, logits: NDArray[Any]) -> None:
        temperature, self.temperature = self.temperature, np.float32(1)
        super()._filter(logits)
        self.temperature = temperature


class CutByRank(Steps):
    """top_k keeps exactly k, the lowest ids of equals."""

    def _filter(self, logits: NDArray[Any]) -> None:
        super()._filter(logits)
        ranked = np.argsort(-logits, kind="stable")
        logits[ranked[akunu.effective_k(self.top_k, len(logits)) :]] = -np.inf


class ResetKeepsPosition(Steps):
    """Reset forgets the history but goes on with the position."""

    def reset(self) -> None:
        self.prev_tokens = []


class CloneStartsAnew(Steps):
    """A clone starts at the first position."""

    def clone(self) -> AkunuGumbel:
        twin = super().clone()
        twin.position = self.first_position
        return twin


MUTANTS = [
    Mutant("akunu_gumbel/divided-by-one-less", DividedByOneLess),
    Mutant("akunu_gumbel/upper-24-bits", Upper24Bits),
    Mutant("akunu_gumbel/not-clamped", NotClamped, case="akunu_gumbel/clamped-from"),
    Mutant("akunu_gumbel/same-for-every-position", SameForEveryPosition),
    Mutant("akunu_gumbel/seed-not-spread", SeedNotSpread),
    Mutant("akunu_gumbel/noise-not-scaled", NoiseNotScaled),
    Mutant("akunu_gumbel/exponential-noise", ExponentialNoise),
    Mutant("akunu_gumbel/always-float32", AlwaysFloat32),
    Mutant("akunu_gumbel/highest-of-equals", HighestOfEquals),
    Mutant("akunu_gumbel/filters-ignore-temperature", FiltersIgnoreTemperature),
    Mutant("akunu_gumbel/cut-by-rank", CutByRank, case="akunu_gumbel/ties-stay-together"),
    Mutant(
        "akunu_gumbel/reset-keeps-position",
        ResetKeepsPosition,
        case="akunu_gumbel/state/normal-V20-reset",
    ),
    Mutant(
        "akunu_gumbel/clone-starts-anew",
        CloneStartsAnew,
        case="akunu_gumbel/state/normal-V20-clone",
    ),
]
