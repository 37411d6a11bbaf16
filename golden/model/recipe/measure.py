"""Loss, entropy and top-1 mass of a model's logits over documents."""

import math
from collections.abc import Callable

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from recipe.corpus import KINDS, Document
from recipe.network import Network
from recipe.settings import BASELINE_SEED, Shape
from recipe.tokenizer import encode_document

BINS = ((0, 4), (4, 8), (8, 16), (16, 32), (32, 64), (64, 128), (128, 256), (256, 512))
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

# (loss, entropy, top-1 mass, position), one row per predicted token.
Rows = Tensor
Summary = dict[str, object]
Logits = Callable[[Tensor], Tensor]


def measure(logits_of: Logits, ids: list[int]) -> Rows:
    """Measure a document in pieces of at most one context."""
    length = Shape.context
    rows = []
    for start in range(0, len(ids) - 1, length):
        piece = torch.tensor(ids[start : start + length + 1])
        logits = logits_of(piece[:-1]).double()
        logp = functional.log_softmax(logits, -1)
        p = logp.exp()
        loss = -logp.gather(1, piece[1:, None])[:, 0]
        position = torch.arange(len(piece) - 1).double()
        rows.append(torch.stack((loss, -(p * logp).sum(1), p.max(1).values, position), 1))
    return torch.cat(rows)


def of_network(network: Network) -> Logits:
    """Return a function that gives the network's logits."""

    def logits_of(ids: Tensor) -> Tensor:
        out: Tensor = network(ids[None])[0]
        return out

    return logits_of


def of_noise(network: Network) -> Logits:
    """Return Gaussian logits with the mean and the spread of the network's rows."""
    generator = torch.Generator().manual_seed(BASELINE_SEED)

    def logits_of(ids: Tensor) -> Tensor:
        real: Tensor = network(ids[None])[0]
        noise = torch.randn(real.shape, generator=generator)
        return real.mean(1, keepdim=True) + real.std(1, keepdim=True) * noise

    return logits_of


def spread(values: Tensor) -> dict[str, float]:
    """Return mean and quantiles."""
    found = {"mean": round(values.mean().item(), 4)}
    for q, value in zip(
        QUANTILES, torch.quantile(values, torch.tensor(QUANTILES).double()), strict=True
    ):
        found[f"q{round(q * 100):02d}"] = round(value.item(), 4)
    return found


def summary(rows: Rows) -> Summary:
    """Summarize the rows, over all and by position."""
    by_position = []
    for low, high in BINS:
        chosen = rows[(rows[:, 3] >= low) & (rows[:, 3] < high)]
        if len(chosen):
            loss, entropy, top, _ = chosen.mean(0).tolist()
            by_position.append(
                {
                    "positions": f"{low}-{high - 1}",
                    "rows": len(chosen),
                    "loss": round(loss, 4),
                    "entropy": round(entropy, 4),
                    "top1": round(top, 4),
                }
            )
    return {
        "rows": len(rows),
        "loss_nats": round(rows[:, 0].mean().item(), 4),
        "perplexity": round(math.exp(rows[:, 0].mean().item()), 3),
        "entropy_nats": spread(rows[:, 1]),
        "top1_mass": spread(rows[:, 2]),
        "by_position": by_position,
    }


def judge(logits_of: Logits, tokenizer: Tokenizer, held: list[Document]) -> dict[str, Summary]:
    """Return summaries by kind and over all the held-out text."""
    by_kind = {
        kind: torch.cat(
            [measure(logits_of, encode_document(tokenizer, d)) for d in held if d.kind == kind]
        )
        for kind in KINDS
    }
    found = {kind: summary(rows) for kind, rows in by_kind.items()}
    found["total"] = summary(torch.cat(list(by_kind.values())))
    return found
