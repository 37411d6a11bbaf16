"""Samplers on torch tensors: float32 on the CPU, in the manner of Hugging Face's processors."""
import torch

import samplers
import wire
from wire import real_seed


class Candidates(samplers.Candidates):
    where = staticmethod(torch.where)

    @staticmethod
    def scalar(x):
        return torch.tensor(x, dtype=torch.float32)

    def order(self, values):
        return torch.argsort(values, stable=True)

    def largest(self):
        return self.logits.masked_fill(self.logits.isnan(), -samplers.INF).max()

    def first_largest(self):
        if self.logits[0].isnan():
            return 0
        return int(torch.argmax(self.logits.masked_fill(self.logits.isnan(), -samplers.INF)))

    def deviation(self, values):
        return torch.std(values, correction=0)

    def counts(self, numbers):
        return torch.tensor(numbers, dtype=torch.float32)

    def log(self, p):
        return torch.log(self.scalar(p))

    def cumulative(self):
        return torch.cumsum(self.p, dim=-1)

    def normalize(self):
        self.p = torch.softmax(self.logits, dim=-1)

    def away_from_entropy(self):
        normalized = torch.log_softmax(self.logits, dim=-1)
        entropy = -(normalized * self.p).sum(-1)
        return torch.abs(-normalized - entropy)

    def bits(self, p):
        return -torch.log2(p)


class Randomness(samplers.Randomness):
    def restart(self):
        self.generator = torch.Generator()
        self.generator.manual_seed(real_seed(self.seed))

    def __deepcopy__(self, _memo):
        other = Randomness(self.seed)
        other.generator.set_state(self.generator.get_state())
        return other

    def exceeds(self, p):
        return torch.rand((), generator=self.generator).item() > p

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
    samplers = samplers.SAMPLERS
    candidates, randomness = Candidates, Randomness

    def fresh(self, logits):
        n = len(logits)
        return Candidates(torch.arange(n), torch.from_numpy(logits.copy()), torch.zeros(n))

    def export(self, c):
        return c.ids.numpy(), c.logits.numpy(), c.p.numpy()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    wire.serve(Engine())
