"""Samplers in NumPy: float64 throughout, parameters as the JSON doubles.

The environment variable MISTAKE plants one of the mistakes of mistakes.toml.
"""
import os
from collections import deque

import numpy as np

import samplers
import wire
from samplers import INF, Drawing, need_candidates
from wire import Stage, number, unsupported

MISTAKE = os.environ.get("MISTAKE", "")


class Candidates(samplers.Candidates):
    def normalize(self):
        weights = np.exp(self.logits - np.max(self.logits))
        self.p = weights / np.sum(weights)

    def away_from_entropy(self):
        surprise = -np.log(self.p)
        entropy = np.sum(self.p * surprise)
        if MISTAKE == "typical-entropy-in-bits":
            entropy = -np.sum(self.p * np.log2(self.p))
        return np.abs(surprise - entropy)

    def deviation(self, values):
        sample = MISTAKE == "top-n-sigma-sample-deviation" and len(values) > 1
        return np.std(values, ddof=1 if sample else 0)


class Randomness(samplers.Randomness):
    def pick(self, p):
        return int(self.pick_many(p, None))

    def pick_many(self, p, n):
        mass = np.cumsum(p)
        u = np.minimum(self.generator.random(n) * mass[-1], np.nextafter(mass[-1], 0))
        return np.searchsorted(mass, u, side="right")


# filters


class TopK(samplers.TopK):
    def cut(self, c):
        if MISTAKE == "top-k-keeps-ties":
            c.take(c.logits >= c.logits[min(self.k, len(c)) - 1])
        else:
            super().cut(c)


class TopP(samplers.TopP):
    def weigh(self, c):
        if MISTAKE == "top-p-stale-probabilities" and c.p.any():
            return  # an earlier stage has already given them their p
        super().weigh(c)


class MinP(samplers.MinP):
    def lowest(self, c, largest):
        if MISTAKE == "min-p-absolute":
            # log(sum exp): the probability itself is compared with p
            numbers = c.logits[~np.isnan(c.logits)]
            largest = largest + np.log(np.sum(np.exp(numbers - largest)))
        return super().lowest(c, largest)


class Xtc(samplers.Xtc):
    def removed(self, top, n):
        if MISTAKE == "xtc-removes-all-top-choices" and 1 < top < n:
            return top
        return super().removed(top, n)


# logits


class TempExt(Stage):
    def read(self, given):
        self.temp = number(given["temp"])
        self.delta = number(given.get("delta", 0))
        self.exponent = number(given.get("exponent", 1))

    def apply(self, c):
        if self.delta <= 0:
            if len(c) and self.temp != 1:
                c.cool(self.temp)
            return
        n = len(c)
        if n <= 1:
            return
        low, high = max(0.0, self.temp - self.delta), self.temp + self.delta
        c.sort()
        c.normalize()
        p = c.p[c.p > 0]
        entropy = -np.sum(p * np.log(p))
        if MISTAKE == "temp-ext-entropy-of-vocabulary":
            n = self.n_vocab
        h = max(entropy / np.log(n), 0.0)
        c.cool(low + (high - low) * h**self.exponent)
        c.normalize()


class Penalties(samplers.Penalties):
    def penalized(self, c, counts):
        if MISTAKE == "penalties-additive-first":
            return self.scaled(c, self.lowered(c, c.logits, counts))
        return super().penalized(c, counts)

    def reset(self):
        if MISTAKE != "penalties-reset-keeps-window":
            super().reset()


class LogitBias(samplers.LogitBias):
    def read(self, given):
        super().read(given)
        if MISTAKE == "logit-bias-last-entry-wins":
            self.bias = list(dict(self.bias).items())


def overlaps(back):
    """The Z function: how far back[k:] equals the beginning of back."""
    n = len(back)
    z = [n] + [0] * (n - 1)
    left = right = 0
    for k in range(1, n):
        length = min(z[k - left], right - k) if k < right else 0
        while k + length < n and back[length] == back[k + length]:
            length += 1
        z[k] = length
        if k + length > right:
            left, right = k, k + length
    return z


class Dry(Stage):
    def read(self, given):
        self.multiplier = number(given["dry_multiplier"])
        self.base = number(given.get("dry_base", 1.75))
        self.allowed = int(given.get("dry_allowed_length", 2))
        self.last_n = int(given.get("dry_penalty_last_n", 64))
        self.breakers = []
        for breaker in given.get("seq_breakers") or ():
            if not breaker:
                continue
            if isinstance(breaker, str):
                raise unsupported("sequence breakers as text: this engine has no vocabulary")
            self.breakers.append(tuple(breaker))
        self.off = self.multiplier == 0 or self.base < 1 or self.last_n <= 0
        self.history = deque(maxlen=max(self.last_n, 0))

    def since_breaker(self, back):
        """Tokens behind the latest breaker. back[0] is the latest token."""
        for i, token in enumerate(back):
            longest = -1
            for head, *rest in self.breakers:
                if head == token and len(rest) <= i and back[i - len(rest) : i] == rest[::-1]:
                    longest = max(longest, len(rest))
            if longest >= 0:
                return i - longest
        return len(back)

    def repetitions(self, back, limit):
        """For each token that followed a copy of the end: the longest such copy."""
        found = {}
        for k, length in enumerate(overlaps(back)):
            if k == 0:
                continue
            length = min(length, limit)
            if length >= self.allowed:
                token = back[k - 1]
                if MISTAKE == "dry-oldest-copy-counts":
                    found[token] = length
                else:
                    found[token] = max(length, found.get(token, length))
        return found

    def apply(self, c):
        if self.off or len(c) == 0:
            return
        back = list(self.history)[::-1]
        if len(back) <= self.allowed:
            return
        limit = self.since_breaker(back)
        if limit < self.allowed:
            return
        largest = int(88.7228391 / np.log(self.base)) if self.base > 1.000001 else 0
        single = {b[0] for b in self.breakers if len(b) == 1}
        places = {token: i for i, token in enumerate(c.ids.tolist())}
        c.logits = c.logits.copy()
        for token, length in self.repetitions(back, limit).items():
            if token in single or token not in places:
                continue
            exponent = length - self.allowed
            if largest > 0:
                exponent = min(exponent, largest)
            c.logits[places[token]] -= self.multiplier * self.base**exponent
        c.sorted = False

    def accept(self, token):
        self.history.append(token)

    def reset(self):
        self.history.clear()


# draws


class MirostatV2(samplers.MirostatV2):
    def judged(self, c, before):
        if MISTAKE == "mirostat-v2-surprise-before-cut":
            return before
        return super().judged(c, before)


class Mirostat(samplers.MirostatV2):
    def read(self, given):
        super().read(given)
        self.m = int(given.get("m", 100))
        self.n_vocab = int(given.get("n_vocab") or self.n_vocab)

    def apply(self, c):
        need_candidates(c, "mirostat")
        c.sort()
        c.normalize()
        pairs = len(c) - 1
        if self.m > 0:
            pairs = min(pairs, self.m - 1)
        i = np.arange(pairs)
        t = np.log((i + 2) / (i + 1))
        b = np.log(c.p[:pairs] / c.p[1 : pairs + 1])
        s = np.float64(np.sum(t * b)) / np.float64(np.sum(t * t))
        e = s - 1
        k = (e * np.float64(2) ** self.mu / (1 - np.float64(self.n_vocab) ** -e)) ** (1 / s)
        k = int(k) if abs(k) < 2**31 else 1
        c.take(slice(0, max(k, 1)))
        c.normalize()
        c.selected = self.draw(c)
        self.learn(c.bits(c.p[c.selected]))


class AdaptiveP(Drawing):
    def read(self, given):
        super().read(given)
        target = number(given["target"])
        self.off = target < 0
        self.first, self.target = target, min(max(target, 0.0), 1.0)
        self.decay = min(max(number(given.get("decay", 0.9)), 0.0), 0.99)
        self.forget()

    def forget(self):
        self.weighted_sum = self.first / (1 - self.decay)
        self.total_weight = 1 / (1 - self.decay)
        self.pending = None

    def reset(self):
        super().reset()
        self.forget()

    def apply(self, c):
        need_candidates(c, "adaptive_p")
        c.normalize()
        if self.off:
            c.selected = self.draw(c)
            return
        original = c.p
        target = 2 * self.target - self.weighted_sum / self.total_weight
        target = min(max(target, 0.0), 1.0)
        d = np.abs(original - target) / 0.3
        c.logits = np.where(c.logits == -INF, -INF, 5 - 10 * d * d / (1 + d))
        c.sorted = None  # the order stays, and no longer means anything
        c.normalize()
        c.selected = self.draw(c)
        recorded = c.p if MISTAKE == "adaptive-p-records-transformed" else original
        self.pending = (c.token(), float(recorded[c.selected]))

    def accept(self, token):
        if self.pending and self.pending[0] == token:
            self.weighted_sum = self.pending[1] + self.decay * self.weighted_sum
            self.total_weight = 1 + self.decay * self.total_weight
        self.pending = None


class Engine:
    name = "numpy_engine"
    version = "1.0"
    arithmetic = {
        "logits": "float64",
        "probabilities": "float64",
        "sums": "float64",
        "summation": "unknown",  # np.sum is pairwise, np.cumsum sequential
        "exp_ulps": 4.0,
        "stable_sort": True,
        "flushes_subnormals": False,
    }
    samplers = samplers.SAMPLERS | {
        "top_k": TopK,
        "top_p": TopP,
        "min_p": MinP,
        "temp_ext": TempExt,
        "xtc": Xtc,
        "penalties": Penalties,
        "logit_bias": LogitBias,
        "dry": Dry,
        "mirostat": Mirostat,
        "mirostat_v2": MirostatV2,
        "adaptive_p": AdaptiveP,
    }
    candidates, randomness = Candidates, Randomness

    def fresh(self, logits):
        n = len(logits)
        return Candidates(np.arange(n), logits.astype(np.float64), np.zeros(n))

    def export(self, c):
        return c.ids, c.logits, c.p


if __name__ == "__main__":
    np.seterr(all="ignore")
    wire.serve(Engine())
