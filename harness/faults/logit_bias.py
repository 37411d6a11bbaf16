"""logit_bias, wrong in one way each."""

from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates
from sampler_parity.reference.samplers.logit_bias import LogitBias


class Omitted(LogitBias):
    """The biases are read and checked, but never applied."""

    def apply(self, cand: Candidates) -> None:
        pass


class FirstStepOnly(LogitBias):
    """The biases are applied at the first step only."""

    done = False

    def apply(self, cand: Candidates) -> None:
        if not self.done:
            super().apply(cand)
        self.done = True


class Replaces(LogitBias):
    """The bias takes the place of the logit."""

    def apply(self, cand: Candidates) -> None:
        cand.logits = cand.logits.copy()
        for token, value in self.logit_bias:
            cand.logits[cand.ids == token] = value


class ByPosition(LogitBias):
    """The token is looked up by its position, as if ids were positions."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        cand.logits = cand.logits.copy()
        for token, value in self.logit_bias:
            if 0 <= token < len(cand):
                cand.logits[token] += value


class LastOfSeveral(LogitBias):
    """Of several biases of a token only the last counts."""

    def __init__(self, logit_bias: Any) -> None:
        super().__init__(logit_bias)
        self.logit_bias = list(dict(self.logit_bias).items())


class FirstOfSeveral(LogitBias):
    """Of several biases of a token only the first counts, even in the order of the vocabulary."""

    def __init__(self, logit_bias: Any) -> None:
        super().__init__(logit_bias)
        self.logit_bias = list(dict(self.logit_bias[::-1]).items())[::-1]


class AlwaysBoth(LogitBias):
    """Of several biases of a token all count, even where candidates are out of order."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        cand.logits = cand.logits.copy()
        for token, value in self.logit_bias:
            cand.logits[cand.ids == token] += value


class NegativeIdsWrap(LogitBias):
    """A negative token id counts from the end."""

    @np.errstate(all="ignore")
    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        for token, value in self.logit_bias:
            if -len(cand) <= token < 0:
                cand.logits[token] += value


class BanRemoves(LogitBias):
    """A bias of -inf removes the candidate."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        banned = [token for token, value in self.logit_bias if value == -np.inf]
        if banned:
            cand.keep(~np.isin(cand.ids, banned))


class ClampsTo100(LogitBias):
    """Biases are limited to -100..100, the range of a well-known web API."""

    def __init__(self, logit_bias: Any) -> None:
        super().__init__(logit_bias)
        self.logit_bias = [
            (token, np.float32(min(100.0, max(-100.0, float(value)))))
            for token, value in self.logit_bias
        ]


class FlagCleared(LogitBias):
    """The flag that says `sorted` is cleared, as would be right; llama.cpp leaves it."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        if self.logit_bias:
            cand.sorted = False


class RaisesOnly(LogitBias):
    """Negative biases have no effect."""

    def __init__(self, logit_bias: Any) -> None:
        super().__init__(logit_bias)
        self.logit_bias = [(token, value) for token, value in self.logit_bias if value > 0]


class BanIgnored(LogitBias):
    """-inf is written into a copy: what is banned stays possible."""

    def __init__(self, logit_bias: Any) -> None:
        super().__init__(logit_bias)
        self.logit_bias = [(token, value) for token, value in self.logit_bias if value != -np.inf]


MUTANTS = [
    Mutant("logit_bias/omitted", Omitted, "bug zoo 48", case="logit_bias/ban"),
    Mutant(
        "logit_bias/first-step-only", FirstStepOnly, "bug zoo 48, SG #8734", case="logit_bias/ban"
    ),
    Mutant("logit_bias/replaces", Replaces, case="logit_bias/adds"),
    Mutant("logit_bias/by-position", ByPosition, case="logit_bias/cut-token-stays-cut"),
    Mutant("logit_bias/last-of-several", LastOfSeveral, case="logit_bias/named-twice-in-order"),
    Mutant("logit_bias/first-of-several", FirstOfSeveral, case="logit_bias/named-twice-in-order"),
    Mutant("logit_bias/always-both", AlwaysBoth, case="logit_bias/named-twice-out-of-order"),
    Mutant("logit_bias/negative-ids-wrap", NegativeIdsWrap),
    Mutant("logit_bias/ban-removes", BanRemoves),
    Mutant("logit_bias/clamps-to-100", ClampsTo100, case="logit_bias/push"),
    Mutant("logit_bias/flag-cleared", FlagCleared),
    Mutant("logit_bias/raises-only", RaisesOnly),
    Mutant("logit_bias/ban-ignored", BanIgnored, "bug zoo 78", case="logit_bias/ban"),
]
