"""Samplers in NumPy that never leave the log domain: float32 log-probabilities.

A mass is the log of a sum (logaddexp), a threshold p is log(p), and a draw is the largest
log-probability plus Gumbel noise. p is only made, as exp, to be shown.
"""
from collections import Counter, deque

import numpy as np

import wire
from wire import Stage, number, real_seed, rejected

F = np.float32
INF = F("inf")
LN2 = F(np.log(2.0))


def log_of(p):
    """log(p) of a parameter; everything below 0 is as 0."""
    return F(np.log(max(p, 0.0)))


def log_softmax(logits):
    shifted = logits - np.max(logits)
    return shifted - np.log(np.sum(np.exp(shifted)))


def log_sum(values):
    """log(sum(exp(values)))."""
    return np.logaddexp.reduce(values)


class Candidates:
    def __init__(self, ids, logits):
        self.ids, self.logits = ids, logits
        self.logp = np.full(len(ids), -INF, dtype=F)
        self.sorted = False
        self.selected = -1

    def __len__(self):
        return len(self.ids)

    def copy(self):
        other = Candidates(self.ids.copy(), self.logits.copy())
        other.logp = self.logp.copy()
        other.sorted, other.selected = self.sorted, self.selected
        return other

    def token(self):
        return int(self.ids[self.selected]) if 0 <= self.selected < len(self) else None

    def take(self, which):
        self.ids, self.logits, self.logp = self.ids[which], self.logits[which], self.logp[which]

    def sort(self):
        if self.sorted:
            return
        if np.isnan(self.logits).any():
            raise rejected("cannot sort NaN")
        self.take(np.argsort(-self.logits, kind="stable"))
        self.sorted = True

    def normalize(self):
        self.logp = log_softmax(self.logits)


def need_candidates(c, name):
    if len(c) == 0:
        raise rejected(f"{name}: no candidates")


def first_largest(values):
    return 0 if np.isnan(values[0]) else int(np.nanargmax(values))


class Randomness:
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

    def log_uniform(self):
        """log(u), u uniform: minus an exponential."""
        return -self.generator.standard_exponential()

    def pick(self, logp):
        """The Gumbel-max trick: -log(exponential) is Gumbel noise."""
        return int(np.argmax(logp - np.log(self.generator.standard_exponential(len(logp)))))

    def pick_many(self, logp, n):
        found = []
        portion = max(1, (1 << 21) // len(logp))
        for begin in range(0, n, portion):
            shape = (min(portion, n - begin), len(logp))
            noise = -np.log(self.generator.standard_exponential(shape))
            found.append(np.argmax(logp + noise, axis=1))
        return np.concatenate(found)


class Drawing(Stage):
    def __init__(self, given, n_vocab):
        self.random = Randomness(given["seed"])

    def reset(self):
        self.random.restart()

    def clone(self):
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, random=self.random.copy())
        return other


class TopK(Stage):
    def __init__(self, given, n_vocab):
        self.k = int(given["k"])

    def apply(self, c):
        if self.k > 0 and len(c):
            c.sort()
            c.take(slice(0, self.k))


def keep_until(c, reached, min_keep):
    """Keep the candidates up to the first reached one, and at least min_keep."""
    reached[: max(min_keep - 1, 0)] = False
    if reached.any():
        c.take(slice(0, int(np.argmax(reached)) + 1))


class TopP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.log_p = log_of(self.p)
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "top_p")
        c.sort()
        c.normalize()
        keep_until(c, np.logaddexp.accumulate(c.logp) >= self.log_p, self.min_keep)


class MinP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.log_p = log_of(self.p)
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p <= 0 or len(c) == 0:
            return
        if not c.sorted:
            largest = np.fmax.reduce(c.logits)
            keep = (c.logits >= largest + self.log_p) & (c.logits > -INF)
            if keep.any() and np.count_nonzero(keep) >= self.min_keep:
                c.take(keep)
                return
        c.sort()
        below = c.logits < c.logits[0] + self.log_p
        below[: max(self.min_keep, 1)] = False
        if below.any():
            c.take(slice(0, int(np.argmax(below))))


class TypicalP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.log_p = log_of(self.p)
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "typical_p")
        c.sort()
        c.normalize()
        surprise = -c.logp
        entropy = np.exp(log_sum(c.logp + np.log(surprise)))
        c.take(np.argsort(np.abs(surprise - entropy), kind="stable"))
        keep_until(c, np.logaddexp.accumulate(c.logp) > self.log_p, self.min_keep)
        c.sorted = False


class Temp(Stage):
    def __init__(self, given, n_vocab):
        self.temp = F(number(given["temp"]))

    def apply(self, c):
        if len(c) == 0 or self.temp == 1:
            return
        if self.temp > 0:
            c.logits = c.logits / self.temp
            return
        best = first_largest(c.logits)
        cold = np.full_like(c.logits, -INF)
        cold[best] = c.logits[best]
        c.logits = cold


class Xtc(Drawing):
    def __init__(self, given, n_vocab):
        super().__init__(given, n_vocab)
        self.p = number(given["p"])
        self.t = number(given["t"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p <= 0 or self.t > 0.5 or len(c) < 2:
            return
        if self.random.log_uniform() > np.log(self.p):
            return
        c.sort()
        c.normalize()
        top = int(np.count_nonzero(np.logical_and.accumulate(c.logp >= log_of(self.t))))
        removed = top - 1
        if removed > 0 and len(c) - removed >= self.min_keep:
            c.take(slice(removed, None))


class TopNSigma(Stage):
    def __init__(self, given, n_vocab):
        self.n = F(number(given["n"]))

    def apply(self, c):
        if self.n <= 0 or len(c) <= 1:
            return
        possible = c.logits[c.logits != -INF]
        if len(possible) == 0:
            return
        # log-probabilities differ from the logits by a constant: same deviation
        lowest = np.max(possible) - self.n * np.std(possible)
        c.logits = np.where(c.logits < lowest, -INF, c.logits)


class Penalties(Stage):
    def __init__(self, given, n_vocab):
        self.repeat = F(number(given.get("penalty_repeat", 1)))
        self.freq = F(number(given.get("penalty_freq", 0)))
        self.present = F(number(given.get("penalty_present", 0)))
        last_n = int(given["penalty_last_n"])
        self.off = last_n <= 0 or (self.repeat == 1 and self.freq == 0 and self.present == 0)
        self.window = deque(maxlen=max(last_n, 0))

    def apply(self, c):
        if self.off or len(c) == 0:
            return
        counted = Counter(self.window)
        counts = np.array([counted.get(i, 0) for i in c.ids.tolist()], dtype=F)
        x = np.where(c.logits <= 0, c.logits * self.repeat, c.logits / self.repeat)
        c.logits = np.where(counts > 0, x - (counts * self.freq + self.present), c.logits)
        c.sorted = False

    def accept(self, token):
        self.window.append(token)

    def reset(self):
        self.window.clear()

    def clone(self):
        other = object.__new__(Penalties)
        other.__dict__.update(self.__dict__, window=self.window.copy())
        return other


class LogitBias(Stage):
    def __init__(self, given, n_vocab):
        self.bias = [(int(token), F(number(x))) for token, x in given.get("logit_bias", ())]

    def apply(self, c):
        if not self.bias or len(c) == 0:
            return
        c.logits = c.logits.copy()
        done = set()
        for token, x in self.bias:
            # a second bias counts only where the position is the id
            place = np.flatnonzero(c.ids == token)
            if token in done and place.tolist() != [token]:
                continue
            c.logits[place] += x
            done.add(token)


class Greedy(Stage):
    def __init__(self, given, n_vocab):
        pass

    def apply(self, c):
        need_candidates(c, "greedy")
        c.selected = first_largest(c.logits)


class Dist(Drawing):
    def apply(self, c):
        if len(c) == 0:
            c.selected = -1
            return
        c.normalize()
        c.selected = len(c) - 1 if np.isnan(c.logp).any() else self.random.pick(c.logp)

    def draw_many(self, c, n):
        need_candidates(c, "dist")
        c.normalize()
        if np.isnan(c.logp).any():
            return np.full(n, c.ids[-1])
        return c.ids[self.random.pick_many(c.logp, n)]


class MirostatV2(Drawing):
    def __init__(self, given, n_vocab):
        super().__init__(given, n_vocab)
        self.tau = F(number(given.get("tau", 5)))
        self.eta = F(number(given.get("eta", 0.1)))
        self.mu = 2 * self.tau

    def reset(self):
        super().reset()
        self.mu = 2 * self.tau

    def apply(self, c):
        need_candidates(c, "mirostat_v2")
        c.sort()
        c.normalize()
        over = -c.logp / LN2 > self.mu
        if over.any():
            c.take(slice(0, max(int(np.argmax(over)), 1)))
        c.normalize()
        if len(c) == 1 or np.isnan(c.logp).any():
            c.selected = 0
        else:
            c.selected = self.random.pick(c.logp)
        self.mu = self.mu - self.eta * (-c.logp[c.selected] / LN2 - self.tau)


class Engine:
    name = "log_engine"
    version = "1.0"
    # p = exp(logp): a rounding of logp near -104 moves p by up to 64 units of its last place,
    # and logp is rounded in log_softmax and in the log of its sum.
    arithmetic = {
        "logits": "float32",
        "probabilities": "float32",
        "sums": "float32",
        "summation": "unknown",
        "exp_ulps": 4.0,
        "log_domain": True,
        "stable_sort": True,
        "flushes_subnormals": False,
    }
    samplers = {
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

    def fresh(self, logits):
        return Candidates(np.arange(len(logits)), logits.copy())

    def export(self, c):
        return c.ids, c.logits, np.exp(c.logp)


if __name__ == "__main__":
    np.seterr(all="ignore")
    wire.serve(Engine())
