"""Judge the GGUF on held-out text and write ``evaluation.json``.

Perplexity by kind of text; entropy and top-1 mass by position, next to two
baselines: a network of the same shape with random weights, and Gaussian
logits with each row's own mean and spread.  If the trained model's logits
were noise, they would look like one of those.
"""

import argparse
import hashlib
import json
import platform
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch.nn import functional

from recipe.corpus import KINDS, Document, digest, split
from recipe.measure import judge, of_network, of_noise
from recipe.network import Network
from recipe.read_gguf import read_network, read_tokenizer
from recipe.settings import BASELINE_SEED, SPECIALS, Shape
from recipe.tokenizer import encode_document, special_id

PROMPTS = (
    "Action: ",
    "Action:",
    "Question: What is the weather in Oslo?\nAction: ",
    'Question: What is the weather in Oslo?\nAction: get_weather\nAction Input: {"',
    "Raised when",
)


def continuations(network: Network, tokenizer: Tokenizer, prompt: str) -> dict[str, object]:
    """Return the likeliest next tokens after a prompt, and the greedy text."""
    start = [
        special_id(tokenizer, "<|bos|>"),
        *tokenizer.encode(prompt, add_special_tokens=False).ids,
    ]
    p = functional.softmax(network(torch.tensor([start]))[0, -1].double(), -1)
    top = torch.topk(p, 10)
    ids = list(start)
    stops = {special_id(tokenizer, text) for text in SPECIALS}
    while len(ids) < len(start) + 48 and not stops & set(ids[len(start) :]):
        ids.append(int(network(torch.tensor([ids]))[0, -1].argmax()))
    return {
        "prompt": prompt,
        "entropy": round(-(p * p.log()).sum().item(), 4),
        "top": [
            {
                "id": place,
                "text": tokenizer.decode([place], skip_special_tokens=False),
                "p": round(value, 5),
            }
            for value, place in zip(top.values.tolist(), top.indices.tolist(), strict=True)
        ],
        "greedy": tokenizer.decode(ids[len(start) :], skip_special_tokens=False),
    }


def text_statistics(tokenizer: Tokenizer, documents: list[Document]) -> dict[str, object]:
    """Return how much text there is of each kind."""
    found: dict[str, object] = {"sha256": digest(documents)}
    for kind in KINDS:
        chosen = [document for document in documents if document.kind == kind]
        found[kind] = {
            "documents": len(chosen),
            "characters": sum(len(document.text) for document in chosen),
            "tokens": sum(len(encode_document(tokenizer, document)) for document in chosen),
        }
    return found


@torch.no_grad()
def main() -> None:
    """Run the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(2)
    content = given.gguf.read_bytes()
    network, tokenizer = read_network(given.gguf, Shape()), read_tokenizer(given.gguf)
    train, held = split()
    torch.manual_seed(BASELINE_SEED)
    random_weights = Network(Shape()).eval()
    judged = {
        "trained": judge(of_network(network), tokenizer, held),
        "baseline_random_weights": judge(of_network(random_weights), tokenizer, held),
        "baseline_gaussian_logits": judge(of_noise(network), tokenizer, held),
    }
    found = {
        "file": {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()},
        "parameters": sum(p.numel() for p in network.parameters()),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "special_tokens": {text: special_id(tokenizer, text) for text in SPECIALS},
        "text": {
            "training": text_statistics(tokenizer, train),
            "held_out": text_statistics(tokenizer, held),
        },
        **judged,
        "continuations": [continuations(network, tokenizer, prompt) for prompt in PROMPTS],
    }
    given.out.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    for kind, about in judged["trained"].items():
        print(kind, about["perplexity"])


if __name__ == "__main__":
    main()
