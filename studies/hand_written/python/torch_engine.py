"""Samplers on torch tensors: float32 on the CPU, in the manner of Hugging Face's processors."""
import math
from collections import deque

import torch

import wire
from wire import Stage, number, real_seed, rejected

INF = float("inf")


class Candidates:
    def __init__(self, ids, logits, p):
        self.ids, self.logits, self.p = ids, logits, p
        self.sorted = False
        self.selected = -1

    def __len__(self):
        return self.ids.numel()

    def copy(self):
        other = Candidates(self.ids.clone(), self.logits.clone(), self.p.clone())
        other.sorted, other.selected = self.sorted, self.selected
        return other

    def token(self):
        return int(self.ids[self.selected]) if 0 <= self.selected < len(self) else None

    def take(self, which):
        self.ids, self.logits, self.p = self.ids[which], self.logits[which], self.p[which]

    def sort(self):
        if self.sorted:
            return
        if self.logits.isnan().any():
            raise rejected("cannot sort NaN")
        self.logits, order = torch.sort(self.logits, descending=True, stable=True)
        self.ids, self.p = self.ids[order], self.p[order]
        self.sorted = True


def need_candidates(c, name):
    if len(c) == 0:
        raise rejected(f"{name}: no candidates")


def first_largest(logits):
    """The first index whose logit no other exceeds. A NaN wins only in front."""
    if logits[0].isnan():
        return 0
    return int(torch.argmax(logits.masked_fill(logits.isnan(), -INF)))


def cut_at(mask, min_keep, n):
    """How many to keep if the first marked one, or a later one, is the last."""
    mask = mask.clone()
    mask[: max(min_keep - 1, 0)] = False
    where = mask.nonzero()
    return int(where[0]) + 1 if where.numel() else n


class Randomness:
    def __init__(self, seed):
        self.seed = seed
        self.generator = torch.Generator()
        self.restart()

    def restart(self):
        self.generator.manual_seed(real_seed(self.seed))

    def copy(self):
        other = Randomness.__new__(Randomness)
        other.seed = self.seed
        other.generator = torch.Generator()
        other.generator.set_state(self.generator.get_state())
        return other

    def uniform(self):
        return torch.rand((), generator=self.generator).item()

    def pick(self, p):
        return int(torch.multinomial(p, num_samples=1, generator=self.generator))

    def pick_many(self, p, n):
        """One row for each draw, as in a batch."""
        found = []
        portion = max(1, (1 << 22) // p.numel())
        for begin in range(0, n, portion):
            rows = p.expand(min(portion, n - begin), -1)
            found.append(torch.multinomial(rows, num_samples=1, generator=self.generator)[:, 0])
        return torch.cat(found)


class TopK(Stage):
    def __init__(self, given, n_vocab):
        self.k = int(given["k"])

    def apply(self, c):
        if self.k > 0 and len(c):
            c.sort()
            c.take(slice(0, self.k))


class TopP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "top_p")
        c.sort()
        c.p = torch.softmax(c.logits, dim=-1)
        cumulative = torch.cumsum(c.p, dim=-1)
        c.take(slice(0, cut_at(cumulative >= self.p, self.min_keep, len(c))))


class MinP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p <= 0 or len(c) == 0:
            return
        margin = torch.log(torch.tensor(self.p, dtype=torch.float32))
        if not c.sorted:
            largest = c.logits.masked_fill(c.logits.isnan(), -INF).max()
            keep = (c.logits >= largest + margin) & (c.logits > -INF)
            count = int(keep.sum())
            if count and count >= self.min_keep:
                c.take(keep)
                return
        c.sort()
        remove = c.logits < c.logits[0] + margin
        remove[: max(self.min_keep, 1)] = False
        where = remove.nonzero()
        if where.numel():
            c.take(slice(0, int(where[0])))


class TypicalP(Stage):
    def __init__(self, given, n_vocab):
        self.p = number(given["p"])
        self.min_keep = int(given.get("min_keep", 0))

    def apply(self, c):
        if self.p >= 1:
            return
        need_candidates(c, "typical_p")
        c.sort()
        normalized = torch.log_softmax(c.logits, dim=-1)
        c.p = torch.softmax(c.logits, dim=-1)
        entropy = -(normalized * c.p).sum(-1)
        shifted = torch.abs(-normalized - entropy)
        _, order = torch.sort(shifted, descending=False, stable=True)
        c.take(order)
        cumulative = torch.cumsum(c.p, dim=-1)
        c.take(slice(0, cut_at(cumulative > self.p, self.min_keep, len(c))))
        c.sorted = False


class Temp(Stage):
    def __init__(self, given, n_vocab):
        self.temp = number(given["temp"])

    def apply(self, c):
        if self.temp == 1 or len(c) == 0:
            return
        if self.temp > 0:
            c.logits = c.logits / torch.tensor(self.temp, dtype=torch.float32)
            return
        best = first_largest(c.logits)
        cold = torch.full_like(c.logits, -INF)
        cold[best] = c.logits[best]
        c.logits = cold


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
        c.p = torch.softmax(c.logits, dim=-1)
        below = (~(c.p >= self.t)).nonzero()
        top = int(below[0]) if below.numel() else len(c)
        removed = top - 1
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
        if possible.numel() == 0:
            return
        threshold = possible.max() - self.n * torch.std(possible, correction=0)
        c.logits = c.logits.masked_fill(c.logits < threshold, -INF)


class Penalties(Stage):
    def __init__(self, given, n_vocab):
        self.n_vocab = n_vocab
        self.repeat = number(given.get("penalty_repeat", 1))
        self.freq = number(given.get("penalty_freq", 0))
        self.present = number(given.get("penalty_present", 0))
        last_n = int(given["penalty_last_n"])
        self.off = last_n <= 0 or (self.repeat == 1 and self.freq == 0 and self.present == 0)
        self.window = deque(maxlen=max(last_n, 0))

    def apply(self, c):
        if self.off or len(c) == 0:
            return
        seen = torch.tensor([t for t in self.window if 0 <= t < self.n_vocab], dtype=torch.int64)
        counts = torch.bincount(seen, minlength=self.n_vocab)[c.ids].to(torch.float32)
        score = torch.where(c.logits <= 0, c.logits * self.repeat, c.logits / self.repeat)
        score = score - (counts * self.freq + self.present)
        c.logits = torch.where(counts > 0, score, c.logits)
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
        self.bias = [(int(token), number(x)) for token, x in given.get("logit_bias", ())]

    def apply(self, c):
        if not self.bias or len(c) == 0:
            return
        c.logits = c.logits.clone()
        done = set()
        for token, x in self.bias:
            # a second bias counts only where the position is the id
            place = (c.ids == token).nonzero().flatten()
            if token in done and not torch.equal(place, torch.tensor([token])):
                continue
            c.logits[place] += x
            done.add(token)


class Greedy(Stage):
    def __init__(self, given, n_vocab):
        pass

    def apply(self, c):
        need_candidates(c, "greedy")
        c.selected = first_largest(c.logits)


class Dist(Stage):
    def __init__(self, given, n_vocab):
        self.random = Randomness(given["seed"])

    def apply(self, c):
        if len(c) == 0:
            c.selected = -1
            return
        c.p = torch.softmax(c.logits, dim=-1)
        c.selected = len(c) - 1 if c.p.isnan().any() else self.random.pick(c.p)

    def draw_many(self, c, n):
        need_candidates(c, "dist")
        c.p = torch.softmax(c.logits, dim=-1)
        if c.p.isnan().any():
            return [c.ids[-1].item()] * n
        return c.ids[self.random.pick_many(c.p, n)].tolist()

    def reset(self):
        self.random.restart()

    def clone(self):
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, random=self.random.copy())
        return other


class MirostatV2(Dist):
    draw_many = Stage.draw_many

    def __init__(self, given, n_vocab):
        super().__init__(given, n_vocab)
        self.tau = torch.tensor(number(given.get("tau", 5)), dtype=torch.float32)
        self.eta = number(given.get("eta", 0.1))
        self.mu = 2 * self.tau

    def reset(self):
        super().reset()
        self.mu = 2 * self.tau

    def apply(self, c):
        need_candidates(c, "mirostat_v2")
        c.sort()
        c.p = torch.softmax(c.logits, dim=-1)
        over = (-torch.log2(c.p) > self.mu).nonzero()
        if over.numel():
            c.take(slice(0, max(int(over[0]), 1)))
        c.p = torch.softmax(c.logits, dim=-1)
        if len(c) == 1 or c.p.isnan().any():
            c.selected = 0
        else:
            c.selected = self.random.pick(c.p)
        self.mu = self.mu - self.eta * (-torch.log2(c.p[c.selected]) - self.tau)


class Engine:
    name = "torch_engine"
    version = torch.__version__
    arithmetic = {
        "logits": "float32",
        "probabilities": "float32",
        "sums": "float32",
        "summation": "unknown",  # vectors in softmax and sum, one by one in cumsum
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
        "xtc": Xtc,
        "top_n_sigma": TopNSigma,
        "penalties": Penalties,
        "logit_bias": LogitBias,
        "greedy": Greedy,
        "dist": Dist,
        "mirostat_v2": MirostatV2,
    }

    def fresh(self, logits):
        n = len(logits)
        return Candidates(torch.arange(n), torch.from_numpy(logits.copy()), torch.zeros(n))

    def export(self, c):
        return c.ids.numpy(), c.logits.numpy(), c.p.numpy()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    wire.serve(Engine())
