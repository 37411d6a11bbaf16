"""Samplers in NumPy: float64 throughout, parameters as the JSON doubles.

The environment variable MISTAKE plants one of the mistakes of mistakes.toml.
"""
import os
from collections import Counter, deque

import numpy as np

import wire
from wire import Stage, number, real_seed, rejected, unsupported

MISTAKE = os.environ.get("MISTAKE", "")
INF = float("inf")


class Candidates:
    def __init__(self, ids, logits, p):
        self.ids, self.logits, self.p = ids, logits, p
        self.sorted = False
        self.selected = -1

    def __len__(self):
        return len(self.ids)

    def copy(self):
        other = Candidates(self.ids.copy(), self.logits.copy(), self.p.copy())
        other.sorted, other.selected = self.sorted, self.selected
        return other

    def token(self):
        return int(self.ids[self.selected]) if 0 <= self.selected < len(self) else None

    def take(self, which):
        """Keep the candidates that an index array, a mask or a slice names, in its order."""
        self.ids, self.logits, self.p = self.ids[which], self.logits[which], self.p[which]

    def sort(self):
        if self.sorted:
            return
        if np.isnan(self.logits).any():
            raise rejected("cannot sort NaN")
        self.take(np.argsort(-self.logits, kind="stable"))
        self.sorted = True

    def softmax(self):
        """Normalize p over these candidates."""
        weights = np.exp(self.logits - np.max(self.logits))
        self.p = weights / np.sum(weights)


def need_candidates(c, name):
    if len(c) == 0:
        raise rejected(f"{name}: no candidates")


def first_largest(logits):
    """The first index whose logit no other exceeds. A NaN wins only in front."""
    if np.isnan(logits[0]):
        return 0
    return int(np.nanargmax(logits))


class Randomness:
    """A PCG64 stream that can be started again and copied."""

    def __init__(self, seed):
        self.seed = seed
        self.restart()

    def restart(self):
        self.generator = np.random.Generator(np.random.PCG64(real_seed(self.seed)))

    def copy(self):
        other = Randomness.__new__(Randomness)
        other.seed = self.seed
        bits = np.random.PCG64()
        bits.state = self.generator.bit_generator.state
        other.generator = np.random.Generator(bits)
        return other

    def uniform(self, n=None):
        return self.generator.random(n)

    def pick(self, p, n=None):
        """Indices drawn with the weights p. Zero weights are never drawn."""
        mass = np.cumsum(p)
        u = np.minimum(self.uniform(n) * mass[-1], np.nextafter(mass[-1], 0))
        return np.searchsorted(mass, u, side="right")


# filters


class TopK(Stage):
    def __init__(self, given, n_vocab):
        self.k = int(given["k"])

    def apply(self, c):
        if self.k <= 0 or len(c) == 0:
            return
        c.sort()
        k = min(self.k, len(c))
        if MISTAKE == "top-k-keeps-ties":
            c.take(c.logits >= c.logits[k - 1])
            return
        c.take(slice(0, k))


class TopP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "top_p")
        c.sort()
        if MISTAKE == "top-p-stale-probabilities" and c.p.any():
            pass  # an earlier stage has already given them their p
        else:
            c.softmax()
        reached = np.cumsum(c.p) >= self.p
        reached[: max(self.min_keep - 1, 0)] = False
        if reached.any():
            c.take(slice(0, int(np.argmax(reached)) + 1))


class MinP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p <= 0 or len(c) == 0:
            return
        margin = np.log(self.p)
        if not c.sorted:
            largest = np.fmax.reduce(c.logits)
            if MISTAKE == "min-p-absolute":
                # log(sum exp): the probability itself is compared with p
                finite = c.logits[~np.isnan(c.logits)]
                largest = largest + np.log(np.sum(np.exp(finite - largest)))
            passing = (c.logits >= largest + margin) & (c.logits > -INF)
            if passing.any() and np.count_nonzero(passing) >= self.min_keep:
                c.take(passing)
                return
        c.sort()
        top = c.logits[0]
        if MISTAKE == "min-p-absolute":
            top = top + np.log(np.sum(np.exp(c.logits - top)))
        failing = c.logits < top + margin
        failing[: max(self.min_keep, 1)] = False
        if failing.any():
            c.take(slice(0, int(np.argmax(failing))))


class TypicalP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "typical_p")
        c.sort()
        c.softmax()
        surprise = -np.log(c.p)
        entropy = np.sum(c.p * surprise)
        if MISTAKE == "typical-entropy-in-bits":
            entropy = -np.sum(c.p * np.log2(c.p))
        c.take(np.argsort(np.abs(surprise - entropy), kind="stable"))
        beyond = np.cumsum(c.p) > self.p
        beyond[: max(self.min_keep - 1, 0)] = False
        if beyond.any():
            c.take(slice(0, int(np.argmax(beyond)) + 1))
        c.sorted = False


class Xtc(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.t = number(given["t"])
        self.min_keep = int(given.get("min_keep", 0))
        self.random = Randomness(given["seed"])

    def apply(self, c):
        if self.p <= 0 or self.t > 0.5 or len(c) < 2:
            return
        if self.random.uniform() > self.p:
            return
        c.sort()
        c.softmax()
        top = int(np.count_nonzero(np.logical_and.accumulate(c.p >= self.t)))
        removed = top - 1
        if MISTAKE == "xtc-removes-all-top-choices" and 1 < top < len(c):
            removed = top
        if removed > 0 and len(c) - removed >= self.min_keep:
            c.take(slice(removed, None))

    def reset(self):
        self.random.restart()

    def clone(self):
        other = object.__new__(Xtc)
        other.__dict__.update(self.__dict__, random=self.random.copy())
        return other


class TopNSigma(Stage):
    def __init__(self, given, n_vocab):
        self.n = number(given["n"])

    def apply(self, c):
        if self.n <= 0 or len(c) <= 1:
            return
        possible = c.logits[c.logits != -INF]
        if len(possible) == 0:
            return
        spread = np.std(possible)
        if MISTAKE == "top-n-sigma-sample-deviation" and len(possible) > 1:
            spread = np.std(possible, ddof=1)
        c.logits = np.where(c.logits < np.max(possible) - self.n * spread, -INF, c.logits)


# logits


def cool(logits, temperature):
    if temperature > 0:
        return logits / temperature
    best = first_largest(logits)
    cold = np.full_like(logits, -INF)
    cold[best] = logits[best]
    return cold


class Temp(Stage):
    def __init__(self, given, n_vocab):
        self.temp = number(given["temp"])

    def apply(self, c):
        if len(c) and self.temp != 1:
            c.logits = cool(c.logits, self.temp)


class TempExt(Stage):
    def __init__(self, given, n_vocab):
        self.temp = number(given["temp"])
        self.delta = number(given.get("delta", 0))
        self.exponent = number(given.get("exponent", 1))
        self.n_vocab = n_vocab

    def apply(self, c):
        if self.delta <= 0:
            if len(c) and self.temp != 1:
                c.logits = cool(c.logits, self.temp)
            return
        n = len(c)
        if n <= 1:
            return
        low, high = max(0.0, self.temp - self.delta), self.temp + self.delta
        c.sort()
        c.softmax()
        p = c.p[c.p > 0]
        entropy = -np.sum(p * np.log(p))
        if MISTAKE == "temp-ext-entropy-of-vocabulary":
            n = self.n_vocab
        h = max(entropy / np.log(n), 0.0)
        c.logits = cool(c.logits, low + (high - low) * h**self.exponent)
        c.softmax()


class Penalties(Stage):
    def __init__(self, given, n_vocab):
        self.last_n = int(given["penalty_last_n"])
        self.repeat = number(given.get("penalty_repeat", 1))
        self.freq = number(given.get("penalty_freq", 0))
        self.present = number(given.get("penalty_present", 0))
        self.off = self.last_n <= 0 or (self.repeat == 1 and self.freq == 0 and self.present == 0)
        self.window = deque(maxlen=max(self.last_n, 0))

    def apply(self, c):
        if self.off or len(c) == 0:
            return
        counted = Counter(self.window)
        counts = np.array([counted.get(i, 0) for i in c.ids.tolist()], dtype=np.float64)
        seen = counts > 0
        x = c.logits[seen]
        if MISTAKE == "penalties-additive-first":
            x = x - (counts[seen] * self.freq + self.present)
            x = np.where(x <= 0, x * self.repeat, x / self.repeat)
        else:
            x = np.where(x <= 0, x * self.repeat, x / self.repeat)
            x = x - (counts[seen] * self.freq + self.present)
        c.logits = c.logits.copy()
        c.logits[seen] = x
        c.sorted = False

    def accept(self, token):
        self.window.append(token)

    def reset(self):
        if MISTAKE == "penalties-reset-keeps-window":
            return
        self.window.clear()

    def clone(self):
        other = object.__new__(Penalties)
        other.__dict__.update(self.__dict__, window=self.window.copy())
        return other


class LogitBias(Stage):
    def __init__(self, given, n_vocab):
        self.bias = [(int(token), number(x)) for token, x in given.get("logit_bias", ())]
        if MISTAKE == "logit-bias-last-entry-wins":
            self.bias = list(dict(self.bias).items())

    def apply(self, c):
        if not self.bias or len(c) == 0:
            return
        c.logits = c.logits.copy()
        done = set()
        places = {token: i for i, token in enumerate(c.ids.tolist())}
        for token, x in self.bias:
            # a second bias counts only where the position is the id
            if token not in places or (token in done and places[token] != token):
                continue
            c.logits[places[token]] += x
            done.add(token)


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
    def __init__(self, given, n_vocab):
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

    def clone(self):
        other = object.__new__(Dry)
        other.__dict__.update(self.__dict__, history=self.history.copy())
        return other


# draws


class Greedy(Stage):
    def __init__(self, given, n_vocab):
        pass

    def apply(self, c):
        need_candidates(c, "greedy")
        c.selected = first_largest(c.logits)


class Drawing(Stage):
    """A stage with a stream of its own."""

    def __init__(self, given, n_vocab):
        self.random = Randomness(given["seed"])

    def reset(self):
        self.random.restart()

    def clone(self):
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, random=self.random.copy())
        return other

    def draw(self, c):
        """Select with the weights c.p. Without usable weights the first one comes out."""
        if len(c) == 1 or np.isnan(c.p).any():
            return 0
        return int(self.random.pick(c.p))


class Dist(Drawing):
    def apply(self, c):
        if len(c) == 0:
            c.selected = -1
            return
        c.softmax()
        if np.isnan(c.p).any():
            c.selected = len(c) - 1
        else:
            c.selected = int(self.random.pick(c.p))

    def draw_many(self, c, n):
        need_candidates(c, "dist")
        c.softmax()
        if np.isnan(c.p).any():
            return np.full(n, c.ids[-1])
        return c.ids[self.random.pick(c.p, n)]


class Mirostat(Drawing):
    def __init__(self, given, n_vocab):
        super().__init__(given, n_vocab)
        self.tau = number(given.get("tau", 5))
        self.eta = number(given.get("eta", 0.1))
        self.m = int(given.get("m", 100))
        self.n_vocab = int(given.get("n_vocab") or n_vocab)
        self.mu = 2 * self.tau

    def reset(self):
        super().reset()
        self.mu = 2 * self.tau

    def learn(self, p):
        self.mu -= self.eta * (-np.log2(p) - self.tau)

    def apply(self, c):
        need_candidates(c, "mirostat")
        c.sort()
        c.softmax()
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
        c.softmax()
        c.selected = self.draw(c)
        self.learn(c.p[c.selected])


class MirostatV2(Mirostat):
    def apply(self, c):
        need_candidates(c, "mirostat_v2")
        c.sort()
        c.softmax()
        surprising = -np.log2(c.p) > self.mu
        if surprising.any():
            c.take(slice(0, max(int(np.argmax(surprising)), 1)))
        before = c.p
        c.softmax()
        c.selected = self.draw(c)
        if MISTAKE == "mirostat-v2-surprise-before-cut":
            self.learn(before[c.selected])
        else:
            self.learn(c.p[c.selected])


class AdaptiveP(Drawing):
    def __init__(self, given, n_vocab):
        super().__init__(given, n_vocab)
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
        c.softmax()
        if self.off:
            c.selected = self.draw(c)
            return
        original = c.p
        target = 2 * self.target - self.weighted_sum / self.total_weight
        target = min(max(target, 0.0), 1.0)
        d = np.abs(original - target) / 0.3
        c.logits = np.where(c.logits == -INF, -INF, 5 - 10 * d * d / (1 + d))
        c.sorted = None  # the order stays, and no longer means anything
        c.softmax()
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
    samplers = {
        "top_k": TopK,
        "top_p": TopP,
        "min_p": MinP,
        "typical_p": TypicalP,
        "temp": Temp,
        "temp_ext": TempExt,
        "xtc": Xtc,
        "top_n_sigma": TopNSigma,
        "penalties": Penalties,
        "logit_bias": LogitBias,
        "dry": Dry,
        "greedy": Greedy,
        "dist": Dist,
        "mirostat": Mirostat,
        "mirostat_v2": MirostatV2,
        "adaptive_p": AdaptiveP,
    }

    def fresh(self, logits):
        n = len(logits)
        return Candidates(np.arange(n), logits.astype(np.float64), np.zeros(n))

    def export(self, c):
        return c.ids, c.logits, c.p


if __name__ == "__main__":
    np.seterr(all="ignore")
    wire.serve(Engine())
