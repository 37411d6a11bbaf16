"""The stages of KerasHub, wrong in one way each."""

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.keras_hub.model import (
    Kept,
    KerasHubRandom,
    KerasHubTopK,
    KerasHubTopP,
)
from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.floats import FloatArray


class Multiplied(KerasHubRandom):
    """The temperature multiplies the logits."""

    def probabilities(self, logits: FloatArray) -> FloatArray:
        return super().probabilities(logits * np.float32(self.temperature**2))


class SameNumber(KerasHubRandom):
    """Every draw has the seed [seed, 0]."""

    def counter(self) -> int:
        return 0


class ResetGoesOn(KerasHubRandom):
    """A reset does not restart the draws."""

    def reset(self) -> None:
        pass


class OneMore(KerasHubTopK):
    """One token too many is kept."""

    def kept(self, p: FloatArray) -> Kept:
        ids = np.argpartition(p, -self.k - 1)[-self.k - 1 :]
        return p[ids], ids


class ZeroIsOne(KerasHubTopK):
    """k of 0 keeps the likeliest."""

    def kept(self, p: FloatArray) -> Kept:
        likeliest = np.array([p.argmax()])
        return (p[likeliest], likeliest) if self.k == 0 else super().kept(p)


class BelowZeroIsOff(KerasHubTopK):
    """k below 0 keeps all."""

    def kept(self, p: FloatArray) -> Kept:
        return (p, np.arange(len(p))) if self.k < 0 else super().kept(p)


class CrossingGoes(KerasHubTopP):
    """The token that crosses p goes, too."""

    def stays(self, p: FloatArray) -> NDArray[np.bool_]:
        enough = np.cumsum(p) <= p.dtype.type(self.p)
        enough[:1] = True
        return enough


class EqualIsEnough(KerasHubTopP):
    """A sum that equals p takes no more, as in llama.cpp."""

    def stays(self, p: FloatArray) -> NDArray[np.bool_]:
        enough = np.cumsum(p) < p.dtype.type(self.p)
        return np.concatenate([np.ones_like(enough[:1]), enough[:-1]])


class OfWhatIsLeft(KerasHubTopP):
    """p is normalized after k."""

    def stays(self, p: FloatArray) -> NDArray[np.bool_]:
        return super().stays(np.asarray(p / np.sum(p)))


class KIgnored(KerasHubTopP):
    """k has no effect."""

    def kept(self, p: FloatArray) -> Kept:
        self.k = None
        return super().kept(p)


def _mutant(name: str, make: type[KerasHubRandom], case: str) -> Mutant:
    return Mutant(f"keras_hub_{name}", make, case=f"keras_hub/{case}")


MUTANTS = [
    _mutant("random/multiplied", Multiplied, "random-temperature"),
    _mutant("random/same-number", SameNumber, "random-counts-draws"),
    _mutant("random/reset-goes-on", ResetGoesOn, "random/"),
    _mutant("top_k/one-more", OneMore, "top_k-of-two"),
    _mutant("top_k/zero-is-one", ZeroIsOne, "top_k-zero"),
    _mutant("top_k/below-zero-is-off", BelowZeroIsOff, "top_k-minus-one"),
    _mutant("top_p/crossing-goes", CrossingGoes, "top_p-crossing-token"),
    _mutant("top_p/equal-is-enough", EqualIsEnough, "top_p-sum-equal-to-p"),
    _mutant("top_p/of-what-is-left", OfWhatIsLeft, "top_p-mass-of-all"),
    _mutant("top_p/k-ignored", KIgnored, "top_p-k-first"),
]
