"""Samplers in NumPy that never leave the log domain: float32 log-probabilities.

A mass is the log of a sum (logaddexp), a threshold p is log(p), and a draw is the largest
log-probability plus Gumbel noise. p is only made, as exp, to be shown.
"""
import numpy as np

import samplers
import wire

F = np.float32
LN2 = F(np.log(2.0))


class Candidates(samplers.Candidates):
    """p is the logarithm of the probabilities."""

    scalar = staticmethod(F)

    def normalize(self):
        shifted = self.logits - np.max(self.logits)
        self.p = shifted - np.log(np.sum(np.exp(shifted)))

    def log(self, p):
        """log(p) of a parameter; everything below 0 is as 0."""
        return F(np.log(max(p, 0.0)))

    probability = log

    def cumulative(self):
        return np.logaddexp.accumulate(self.p)

    def away_from_entropy(self):
        surprise = -self.p
        entropy = np.exp(np.logaddexp.reduce(self.p + np.log(surprise)))
        return np.abs(surprise - entropy)

    def bits(self, p):
        return -p / LN2


class Randomness(samplers.Randomness):
    def exceeds(self, p):
        """Compare log(u), u uniform: minus an exponential."""
        return -self.generator.standard_exponential() > np.log(p)

    def pick(self, p):
        """The Gumbel-max trick: -log(exponential) is Gumbel noise."""
        return int(np.argmax(p - np.log(self.generator.standard_exponential(len(p)))))

    def pick_many(self, p, n):
        found = []
        portion = max(1, (1 << 21) // len(p))
        for begin in range(0, n, portion):
            shape = (min(portion, n - begin), len(p))
            noise = -np.log(self.generator.standard_exponential(shape))
            found.append(np.argmax(p + noise, axis=1))
        return np.concatenate(found)


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
    samplers = samplers.SAMPLERS
    candidates, randomness = Candidates, Randomness

    def fresh(self, logits):
        unknown = np.full(len(logits), -samplers.INF, dtype=F)
        return Candidates(np.arange(len(logits)), logits.copy(), unknown)

    def export(self, c):
        return c.ids, c.logits, np.exp(c.p)


if __name__ == "__main__":
    np.seterr(all="ignore")
    wire.serve(Engine())
