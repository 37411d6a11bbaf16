"""Make the corpus and the tokenizer, train the network, save all in WORK."""

import argparse
import json
import math
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from recipe.corpus import digest, split, with_fim
from recipe.network import Network
from recipe.settings import TRAIN_SEED, Schedule, Shape
from recipe.tokenizer import encode_document, train_tokenizer


def rate_at(step: int, schedule: Schedule) -> float:
    """Return the learning rate: linear warm-up, then half a cosine down to the final rate."""
    if step < schedule.warm_up:
        return schedule.peak_rate * (step + 1) / schedule.warm_up
    along = (step - schedule.warm_up) / max(1, schedule.steps - schedule.warm_up)
    return (
        schedule.final_rate
        + (schedule.peak_rate - schedule.final_rate) * (1 + math.cos(math.pi * along)) / 2
    )


def windows(documents: list[list[int]], length: int, chosen: torch.Generator) -> Tensor:
    """Return one pass over the documents in a new order, cut into equal windows."""
    order = torch.randperm(len(documents), generator=chosen).tolist()
    stream = torch.tensor([token for place in order for token in documents[place]])
    count = len(stream) // length
    return stream[: count * length].view(count, length)


def fit(documents: list[list[int]], shape: Shape, schedule: Schedule, half: bool) -> Network:
    """Train a new network on the documents; ``half``: products in bfloat16."""
    torch.manual_seed(TRAIN_SEED)
    torch.set_num_threads(schedule.threads)
    torch.use_deterministic_algorithms(True)
    chosen = torch.Generator().manual_seed(TRAIN_SEED)
    network = Network(shape, schedule.dropout)
    matrices = [p for p in network.parameters() if p.dim() == 2]
    vectors = [p for p in network.parameters() if p.dim() == 1]
    groups = [
        {"params": matrices, "weight_decay": schedule.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=schedule.peak_rate, betas=(0.9, 0.95))
    rows = torch.empty(0, shape.context + 1, dtype=torch.long)
    began = time.monotonic()
    for step in range(schedule.steps):
        if len(rows) < schedule.batch:
            rows = windows(documents, shape.context + 1, chosen)
        batch, rows = rows[: schedule.batch], rows[schedule.batch :]
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, schedule)
        # The weights stay in float32.  With the processor's instructions for
        # bfloat16 a step takes half the time.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            logits = network(batch[:, :-1])
        loss = functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())
        optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(network.parameters(), schedule.clip)
        optimiser.step()
        if step % 20 == 0 or step == schedule.steps - 1:
            print(
                f"step {step} loss {loss.item():.4f} seconds {time.monotonic() - began:.0f}",
                flush=True,
            )
    return network.eval()


def main() -> None:
    """Run the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=Path, required=True, help="a folder for what the recipe makes on the way"
    )
    parser.add_argument(
        "--steps", type=int, default=Schedule.steps, help="fewer steps for a trial run"
    )
    parser.add_argument("--float32", action="store_true", help="do without bfloat16")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    train, held = split()
    tokenizer = train_tokenizer(train)
    tokenizer.save(str(given.work / "tokenizer.json"))
    documents = [encode_document(tokenizer, document) for document in with_fim(train)]
    print(
        f"{len(train)} + {len(held)} documents, {sum(map(len, documents))} training tokens",
        flush=True,
    )
    network = fit(documents, Shape(), Schedule(steps=given.steps), not given.float32)
    torch.save(network.state_dict(), given.work / "weights.pt")
    facts = {
        "train_digest": digest(train),
        "held_out_digest": digest(held),
        "training_tokens_per_pass": sum(map(len, documents)),
        "steps": given.steps,
        "products": "float32" if given.float32 else "bfloat16",
        "seconds": round(time.monotonic() - began),
    }
    (given.work / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
