"""What the engines share: parameters, memory, and which candidates a sampler touches in which order.

The arithmetic is the engine's: `Candidates` and `Randomness`, which it derives from those below. They
are written for NumPy arrays of any type.
"""
import copy
from collections import Counter, deque

import numpy as np

from wire import Stage, number, real_seed, rejected

INF = float("inf")


class Candidates:
    """Arrays of ids and logits, and p: probabilities, or what the engine has in their place."""

    def __init__(self, ids, logits, p):
        self.ids, self.logits, self.p = ids, logits, p
        self.sorted = False
        self.selected = -1

    def __len__(self):
        return len(self.ids)

    def copy(self):
        return copy.deepcopy(self)

    def token(self):
        return int(self.ids[self.selected]) if 0 <= self.selected < len(self) else None

    def take(self, which):
        """Keep the candidates that an index array, a mask or a slice names, in its order."""
        self.ids, self.logits, self.p = self.ids[which], self.logits[which], self.p[which]

    def keep_until(self, reached, min_keep):
        """Keep the candidates up to the first reached one, and at least min_keep."""
        reached[: max(min_keep - 1, 0)] = False
        self.take(slice(0, first(reached, len(self)) + 1))

    def sort(self):
        if self.sorted:
            return
        if has_nan(self.logits):
            raise rejected("cannot sort NaN")
        self.take(self.order(-self.logits))
        self.sorted = True

    def cool(self, temperature):
        """Divide by a temperature. At 0 the first largest logit stays."""
        if temperature > 0:
            self.logits = self.logits / temperature
            return
        best, warm = self.first_largest(), self.logits
        self.logits = copy.deepcopy(warm)
        self.logits[:] = -INF
        self.logits[best] = warm[best]

    # arithmetic

    scalar = staticmethod(float)
    where = staticmethod(np.where)

    def order(self, values):
        """The places of values in rising order, equal ones in the order in which they stand."""
        return np.argsort(values, kind="stable")

    def largest(self):
        """The largest logit that is no NaN."""
        return np.fmax.reduce(self.logits)

    def first_largest(self):
        """The first index whose logit no other exceeds. A NaN wins only in front."""
        return 0 if np.isnan(self.logits[0]) else int(np.nanargmax(self.logits))

    def deviation(self, values):
        return np.std(values)

    def counts(self, numbers):
        """Whole numbers in the type of the logits."""
        return np.array(numbers, dtype=self.logits.dtype)

    def probability(self, p):
        """A probability as p has it."""
        return p

    def log(self, p):
        return np.log(p)

    def cumulative(self):
        return np.cumsum(self.p)

    def normalize(self):
        """Set p to the softmax over these candidates."""
        raise NotImplementedError

    def away_from_entropy(self):
        """How far the surprise of each candidate is from the mean surprise."""
        raise NotImplementedError

    def bits(self, p):
        """The surprise of p in bits."""
        return -np.log2(p)


def has_nan(values):
    return bool((values != values).any())


def first(mask, otherwise):
    """The first marked place."""
    places = np.flatnonzero(mask)
    return int(places[0]) if len(places) else otherwise


def need_candidates(c, name):
    if len(c) == 0:
        raise rejected(f"{name}: no candidates")


class Randomness:
    """A PCG64 stream that can be started again and copied."""

    def __init__(self, seed):
        self.seed = seed
        self.restart()

    def restart(self):
        self.generator = np.random.Generator(np.random.PCG64(real_seed(self.seed)))

    def exceeds(self, p):
        """Whether a uniform number is above p."""
        return self.generator.random() > p

    def pick(self, p):
        """An index drawn with the weights p. Zero weights are never drawn."""
        raise NotImplementedError

    def pick_many(self, p, n):
        raise NotImplementedError


# filters


class TopK(Stage):
    def read(self, given):
        self.k = int(given["k"])

    def apply(self, c):
        if self.k > 0 and len(c):
            c.sort()
            self.cut(c)

    def cut(self, c):
        c.take(slice(0, self.k))


class Threshold(Stage):
    def read(self, given):
        self.p = number(given["p"])
        self.min_keep = int(given.get("min_keep", 0))


class TopP(Threshold):
    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "top_p")
        c.sort()
        self.weigh(c)
        c.keep_until(c.cumulative() >= c.probability(self.p), self.min_keep)

    def weigh(self, c):
        c.normalize()


class MinP(Threshold):
    def apply(self, c):
        if self.p <= 0 or len(c) == 0:
            return
        if not c.sorted:
            keep = (c.logits >= self.lowest(c, c.largest())) & (c.logits > -INF)
            if keep.any() and int(keep.sum()) >= self.min_keep:
                c.take(keep)
                return
        c.sort()
        below = c.logits < self.lowest(c, c.logits[0])
        below[: max(self.min_keep, 1)] = False
        c.take(slice(0, first(below, len(c))))

    def lowest(self, c, largest):
        return largest + c.log(self.p)


class TypicalP(Threshold):
    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "typical_p")
        c.sort()
        c.normalize()
        c.take(c.order(c.away_from_entropy()))
        c.keep_until(c.cumulative() > c.probability(self.p), self.min_keep)
        c.sorted = False


class TopNSigma(Stage):
    def read(self, given):
        self.n = number(given["n"])

    def apply(self, c):
        n = c.scalar(self.n)
        if n <= 0 or len(c) <= 1:
            return
        possible = c.logits[c.logits != -INF]
        if len(possible) == 0:
            return
        lowest = possible.max() - n * c.deviation(possible)
        c.logits = copy.deepcopy(c.logits)
        c.logits[c.logits < lowest] = -INF


# logits


class Temp(Stage):
    def read(self, given):
        self.temp = number(given["temp"])

    def apply(self, c):
        if len(c) and self.temp != 1:
            c.cool(c.scalar(self.temp))


class Penalties(Stage):
    def read(self, given):
        self.repeat = number(given.get("penalty_repeat", 1))
        self.freq = number(given.get("penalty_freq", 0))
        self.present = number(given.get("penalty_present", 0))
        last_n = int(given["penalty_last_n"])
        self.off = last_n <= 0 or (self.repeat == 1 and self.freq == 0 and self.present == 0)
        self.window = deque(maxlen=max(last_n, 0))

    def apply(self, c):
        if self.off or len(c) == 0:
            return
        counted = Counter(self.window)
        counts = c.counts([counted.get(token, 0) for token in c.ids.tolist()])
        c.logits = c.where(counts > 0, self.penalized(c, counts), c.logits)
        c.sorted = False

    def penalized(self, c, counts):
        return self.lowered(c, self.scaled(c, c.logits), counts)

    def scaled(self, c, x):
        repeat = c.scalar(self.repeat)
        return c.where(x <= 0, x * repeat, x / repeat)

    def lowered(self, c, x, counts):
        return x - (counts * c.scalar(self.freq) + c.scalar(self.present))

    def accept(self, token):
        self.window.append(token)

    def reset(self):
        self.window.clear()


class LogitBias(Stage):
    def read(self, given):
        self.bias = [(int(token), number(x)) for token, x in given.get("logit_bias", ())]

    def apply(self, c):
        if not self.bias or len(c) == 0:
            return
        c.logits = copy.deepcopy(c.logits)
        done = set()
        places = {token: i for i, token in enumerate(c.ids.tolist())}
        for token, x in self.bias:
            # a second bias counts only where the position is the id
            if token not in places or (token in done and places[token] != token):
                continue
            c.logits[places[token]] += c.scalar(x)
            done.add(token)


# draws


class Greedy(Stage):
    def apply(self, c):
        need_candidates(c, "greedy")
        c.selected = c.first_largest()


class Drawing(Stage):
    """A stage with a stream of its own."""

    def read(self, given):
        self.random = self.engine.randomness(given["seed"])

    def reset(self):
        self.random.restart()

    def draw(self, c):
        """Select with the weights c.p. Without usable weights the first one comes out."""
        return 0 if len(c) == 1 or has_nan(c.p) else self.random.pick(c.p)


class Xtc(Drawing):
    def read(self, given):
        super().read(given)
        self.p = number(given["p"])
        self.t = number(given["t"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p <= 0 or self.t > 0.5 or len(c) < 2:
            return
        if self.random.exceeds(self.p):
            return
        c.sort()
        c.normalize()
        removed = self.removed(first(~(c.p >= c.probability(self.t)), len(c)), len(c))
        if removed > 0 and len(c) - removed >= self.min_keep:
            c.take(slice(removed, None))

    def removed(self, top, n):
        """How many of the top choices go."""
        return top - 1


class Dist(Drawing):
    def apply(self, c):
        if len(c) == 0:
            c.selected = -1
            return
        c.normalize()
        c.selected = len(c) - 1 if has_nan(c.p) else self.random.pick(c.p)

    def draw_many(self, c, n):
        need_candidates(c, "dist")
        c.normalize()
        if has_nan(c.p):
            return [int(c.ids[-1])] * n
        return c.ids[self.random.pick_many(c.p, n)].tolist()


class MirostatV2(Drawing):
    def read(self, given):
        super().read(given)
        scalar = self.engine.candidates.scalar
        self.tau = scalar(number(given.get("tau", 5)))
        self.eta = scalar(number(given.get("eta", 0.1)))
        self.mu = 2 * self.tau

    def reset(self):
        super().reset()
        self.mu = 2 * self.tau

    def apply(self, c):
        need_candidates(c, "mirostat_v2")
        c.sort()
        c.normalize()
        c.take(slice(0, max(first(c.bits(c.p) > self.mu, len(c)), 1)))
        before = c.p
        c.normalize()
        c.selected = self.draw(c)
        self.learn(c.bits(self.judged(c, before)[c.selected]))

    def judged(self, c, before):
        """The p whose surprise moves mu. before: as it was before the cut."""
        return c.p

    def learn(self, surprise):
        self.mu = self.mu - self.eta * (surprise - self.tau)


SAMPLERS = {
    "top_k": TopK,
    "top_p": TopP,
    "min_p": MinP,
    "typical_p": TypicalP,
    "temp": Temp,
    "xtc": Xtc,
    "top_n_sigma": TopNSigma,
    "penalties": Penalties,
    "logit_bias": LogitBias,
    "greedy": Greedy,
    "dist": Dist,
    "mirostat_v2": MirostatV2,
}
