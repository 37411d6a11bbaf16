"""Samplers and chains that are right up to a size, wrong in one way each."""

from collections import deque
from typing import Any

import numpy as np

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference import Candidates, Chain, Sampler
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.samplers.adaptive_p import AdaptiveP
from sampler_parity.reference.samplers.dist import Dist
from sampler_parity.reference.samplers.dry import Dry
from sampler_parity.reference.samplers.greedy import Greedy
from sampler_parity.reference.samplers.logit_bias import LogitBias
from sampler_parity.reference.samplers.min_p import MinP
from sampler_parity.reference.samplers.mirostat import Mirostat
from sampler_parity.reference.samplers.penalties import Penalties
from sampler_parity.reference.samplers.temp import Temp
from sampler_parity.reference.samplers.top_k import TopK
from sampler_parity.reference.samplers.top_p import TopP
from sampler_parity.reference.samplers.typical_p import TypicalP
from sampler_parity.reference.samplers.xtc import Xtc
from sampler_parity.reference.vocab import Vocab


class ScansSigned16(Greedy):
    """The position of the largest logit is kept in a signed 16-bit integer."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.selected = max(0, int(np.int16(cand.selected & 0x7FFF)))


class DrawsAmong16Bits(Dist):
    """The index that is drawn is cut to 16 bits."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.selected &= 0xFFFF


class Ids16(TopP):
    """What stays is copied through ids of 16 bits."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.ids = cand.ids & 0xFFFF


class Ids17(MinP):
    """The id shares its word with flags: 17 bits are left of it."""

    def apply(self, cand: Candidates) -> None:
        super().apply(cand)
        cand.ids = cand.ids & 0x1FFFF


class BufferOf4096(TypicalP):
    """A static buffer for 4,096 candidates: with more the last ones go unseen."""

    def apply(self, cand: Candidates) -> None:
        cand.keep(slice(4096))
        super().apply(cand)


class TemperatureOf65536(Temp):
    """The loop's counter has 16 bits: the logits beyond are not divided."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits.copy()
        super().apply(cand)
        cand.logits[0x10000:] = before[0x10000:]


class K16(TopK):
    """k is cut to 16 bits."""

    def apply(self, cand: Candidates) -> None:
        TopK(self.k & 0xFFFF if self.k > 0 else self.k).apply(cand)


class MinKeep8(TopP):
    """min_keep is cut to 8 bits."""

    def __init__(self, p: Any, min_keep: Any = 0) -> None:
        super().__init__(p, min_keep)
        self.min_keep &= 0xFF


class XtcMinKeep8(Xtc):
    """min_keep is cut to 8 bits."""

    def __init__(self, p: Any, t: Any, seed: Any, min_keep: Any = 0) -> None:
        super().__init__(p, t, seed, min_keep)
        self.min_keep &= 0xFF


class At128Pairs(Mirostat):
    """A table of 128 logarithms: a larger m is held there."""

    def _k(self, p: Any) -> Any:
        was, self.m = self.m, min(self.m, 128)
        k = super()._k(p)
        self.m = was
        return k


class Occurrences8(Penalties):
    """Occurrences are counted in 8 bits."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits.copy()
        super().apply(cand)
        tokens, counts = self.history.counts()
        for token, count in zip(tokens, counts, strict=True):
            if count > 255 and 0 <= token < len(cand):
                lost = np.float32((count - (count & 0xFF)) * self.penalty_freq)
                cand.logits[token] += lost
        cand.logits[np.isnan(cand.logits)] = before[np.isnan(cand.logits)]


class Window512(Penalties):
    """A static ring of 512 tokens: a longer window is cut."""

    def accept(self, token: int) -> None:
        self.history.size = min(self.history.size, 512)
        super().accept(token)


class Distinct256(Penalties):
    """A table for 256 distinct tokens: those with larger ids are not counted once it is full."""

    def apply(self, cand: Candidates) -> None:
        before = cand.logits.copy()
        super().apply(cand)
        lost = self.history.counts()[0][256:]
        lost = lost[lost < len(cand)]
        cand.logits[lost] = before[lost]


class SharedCounts(Penalties):
    """Occurrences are counted by the low 16 bits of a token: those alike in these share one."""

    def apply(self, cand: Candidates) -> None:
        own = self.history
        tokens, counts = own.counts()
        low = tokens & 0xFFFF
        shared = [int(counts[low == low[i]].sum()) for i in range(len(tokens))]
        self.history = own.copy()
        self.history.counts = lambda: (tokens, np.array(shared, np.int64))  # type: ignore[method-assign]
        super().apply(cand)
        self.history = own


class ForgetsAfter65536(Penalties):
    """The count of accepted tokens has 16 bits: where it wraps, the window is taken for empty."""

    accepted = 0

    def accept(self, token: int) -> None:
        super().accept(token)
        self.accepted = self.accepted + 1 & 0xFFFF
        if self.accepted == 0:
            self.history.clear()


class RingOf512(Dry):
    """A static ring of 512 tokens: a longer window is cut."""

    def apply(self, cand: Candidates) -> None:
        while len(self.history) > 512:
            self.history.popleft()
        super().apply(cand)


class Tokens16(Dry):
    """Repetitions are searched in tokens of 16 bits: those alike in these repeat each other."""

    def apply(self, cand: Candidates) -> None:
        own, newest = self.history, {token & 0xFFFF: token for token in self.history}
        cut = (newest[token & 0xFFFF] for token in own)
        self.history = deque(cut, own.maxlen)
        super().apply(cand)
        self.history = own


class Breakers8(Dry):
    """A table for 8 breakers: those behind are left out."""

    def __init__(
        self,
        dry_multiplier: Any,
        dry_base: Any = 1.75,
        dry_allowed_length: Any = 2,
        dry_penalty_last_n: Any = 64,
        seq_breakers: Any = (),
        vocab: Vocab | None = None,
    ) -> None:
        numbers = dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n
        super().__init__(*numbers, list(seq_breakers)[:8], vocab)


class Biases16(LogitBias):
    """A table for 16 biases: those behind are left out."""

    def __init__(self, logit_bias: Any) -> None:
        super().__init__(logit_bias)
        del self.logit_bias[16:]


class AverageOf4096(AdaptiveP):
    """The average starts anew where a counter of 12 bits wraps."""

    accepted = 0

    def accept(self, token: int) -> None:
        super().accept(token)
        self.accepted = self.accepted + 1 & 0xFFF
        if self.accepted == 0:
            self._forget()


class RefillsOnce(Dist):
    """From the eighth refill of the generator on its words are those of the seventh again."""

    def __init__(self, seed: Any) -> None:
        super().__init__(seed)
        self.rng = _Refills(self.seed)


class _Refills(Mt19937):
    drawn = 0

    def words(self, n: int) -> Any:
        self.drawn += n
        if self.drawn > 8 * 624:
            self.seed(self.seed_cur)
            super().words(7 * 624)
            self.drawn = n
        return super().words(n)


class Stages16(Chain):
    """A chain has room for 16 stages: a further one does nothing."""

    def __init__(self, samplers: list[Sampler]) -> None:
        super().__init__([*samplers[:16], *(Temp(1.0) for _ in samplers[16:])])


MUTANTS = [
    Mutant("greedy/scans-signed-16", ScansSigned16, case="capacities/"),
    Mutant("dist/draws-among-16-bits", DrawsAmong16Bits, case="capacities/"),
    Mutant("top_p/ids-of-16-bits", Ids16, case="capacities/"),
    Mutant("min_p/ids-of-17-bits", Ids17, case="capacities/"),
    Mutant("typical_p/buffer-of-4096", BufferOf4096, case="capacities/"),
    Mutant("temp/counter-of-16-bits", TemperatureOf65536, case="capacities/"),
    Mutant("top_k/k-of-16-bits", K16, case="capacities/"),
    Mutant("top_p/min-keep-of-8-bits", MinKeep8, case="capacities/"),
    Mutant("xtc/min-keep-of-8-bits", XtcMinKeep8, case="capacities/"),
    Mutant("mirostat/m-at-most-128", At128Pairs, case="capacities/"),
    Mutant("penalties/occurrences-of-8-bits", Occurrences8, case="capacities/"),
    Mutant("penalties/window-at-most-512", Window512, case="capacities/"),
    Mutant("penalties/256-distinct-tokens", Distinct256, case="capacities/"),
    Mutant("penalties/counts-by-16-bits", SharedCounts, case="penalties/window/normal-V12-outside"),
    Mutant("penalties/forgets-after-65536", ForgetsAfter65536, case="capacities/"),
    Mutant("dry/window-at-most-512", RingOf512, case="capacities/"),
    Mutant("dry/tokens-of-16-bits", Tokens16, case="capacities/"),
    Mutant("dry/8-breakers", Breakers8, case="capacities/"),
    Mutant("logit_bias/16-biases", Biases16, case="capacities/"),
    Mutant("adaptive_p/average-of-4096", AverageOf4096, case="capacities/"),
    Mutant("dist/refilled-wrongly", RefillsOnce, case="capacities/"),
    Mutant("chain/16-stages", Stages16, at="temp", case="capacities/chain"),
]
