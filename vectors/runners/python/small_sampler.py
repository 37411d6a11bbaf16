"""A small right sampler, and four faults: FAULT=crossing, ties, once or reset."""

import math
import os

FAULT = os.environ.get("FAULT", "")


def sample(name, test):
    """Return the ids and logits that are left, and the token; None for another sampler."""
    ids, logits, of = list(test["ids"]), list(test["logits"]), test["parameters"]
    order = sorted(range(len(ids)), key=lambda i: -logits[i])
    if name == "greedy":
        return ids, logits, ids[order[0]]
    if name == "dist":
        return ids, logits, ids[drawn(probabilities(logits), test["uniform"])]
    if name == "temp" and of["temp"] > 0:
        return ids, [x / of["temp"] for x in logits], None
    if name == "penalties":
        return ids, penalized(ids, logits, test.get("tokens", []), of), None
    n = survivors(name, logits, order, of)
    if n is None:
        return None
    return [ids[i] for i in order[:n]], [logits[i] for i in order[:n]], None


def make(name, parameters, seed):
    """Return a sampler with a state, or None. A generator would take the seed."""
    return WithHistory(name, parameters) if name in ("penalties", "dist") else None


class WithHistory:
    def __init__(self, name, parameters, tokens=()):
        self.name, self.parameters, self.tokens = name, parameters, list(tokens)

    def apply(self, test):
        return sample(self.name, {**test, "parameters": self.parameters, "tokens": self.tokens})

    def accept(self, token):
        self.tokens.append(token)

    def reset(self):
        if FAULT != "reset":
            self.tokens.clear()

    def clone(self):
        return WithHistory(self.name, self.parameters, self.tokens)


def survivors(name, logits, order, of):
    """Return how many of the largest logits stay; None for another sampler."""
    least = max(1, of.get("min_keep", 0))
    if name == "temp":
        return 1
    if name == "top_k":
        k = min(of["k"], len(order)) if of["k"] > 0 else len(order)
        if FAULT == "ties":
            return sum(x >= logits[order[k - 1]] for x in logits)
        return k
    if name == "top_p" and of["p"] < 1:
        shares, mass = probabilities(logits), 0.0
        for n, i in enumerate(order, 1):
            mass += shares[i]
            if mass >= of["p"]:
                return max(n - (FAULT == "crossing"), least)
        return len(order)
    if name == "min_p" and of["p"] > 0:
        cut = max(logits) + math.log(min(of["p"], 1))
        return max(sum(x >= cut for x in logits) if of["p"] <= 1 else 1, least)
    return len(order) if name in ("top_p", "min_p") else None


def probabilities(logits):
    weights = [math.exp(x - max(logits)) for x in logits]
    return [weight / sum(weights) for weight in weights]


def drawn(shares, u):
    mass = 0.0
    for i, share in enumerate(shares):
        mass += share
        if u < mass:
            return i
    return max(i for i, share in enumerate(shares) if share > 0)


def penalized(ids, logits, tokens, of):
    window = tokens[-of["penalty_last_n"] :] if of["penalty_last_n"] > 0 else []
    repeat = of.get("penalty_repeat", 1)
    left = []
    for i, x in zip(ids, logits, strict=True):
        count = window.count(i)
        if count:
            x = x * repeat if x <= 0 else x / repeat
            times = count if FAULT == "once" else 1
            x -= count * of.get("penalty_freq", 0) + times * of.get("penalty_present", 0)
        left.append(x)
    return left
