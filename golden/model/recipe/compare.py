"""Hold PyTorch and ``tokenizers`` against llama.cpp: same ids, same logits?

Needs ``llama-cpp-python`` besides the recipe's own requirements.
"""

import argparse
import json
from pathlib import Path

import llama_cpp
import numpy as np
import torch
from llama_cpp import Llama

from recipe.corpus import split
from recipe.read_gguf import read_network, read_tokenizer
from recipe.settings import Shape
from recipe.tokenizer import encode_document

# Beyond what the corpus holds: other scripts, marks, odd white space.
EXTRA_LINES = [
    "don't we'll I'VE it's",
    "  two  spaces \t tab\r\n\n\n new lines  ",
    "naïve café Straße — “quoted” … ½ x² 東京 привет 👩‍💻",
    "a1b2c3 1234567890 ١٢٣ __init__ ->",
    "",
]


def same_ids(llama: Llama, gguf_path: Path, lines: list[str]) -> int:
    """Count the lines that both tokenizers split alike."""
    tokenizer = read_tokenizer(gguf_path)
    same = 0
    for line in lines:
        ours = tokenizer.encode(line, add_special_tokens=False).ids
        theirs = llama.tokenize(line.encode(), add_bos=False, special=True)
        same += ours == theirs
        if ours != theirs:
            print(f"differs: {line!r}\n  {ours}\n  {theirs}")
    return same


def main() -> None:
    """Run the comparison and print what it finds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument(
        "--documents", type=int, default=16, help="documents of each kind to compare logits on"
    )
    given = parser.parse_args()
    held = split()[1]
    lines = [line for document in held for line in document.text.split("\n")]
    # A stride, so that every kind has its share.
    lines = (
        lines[:: max(1, len(lines) // 600)]
        + [document.text for document in held[::4]]
        + EXTRA_LINES
    )
    # Float32 cache and no flash attention: as near to PyTorch as it gets.
    llama = Llama(
        str(given.gguf),
        n_ctx=Shape.context,
        n_threads=2,
        logits_all=True,
        type_k=0,
        type_v=0,
        verbose=False,
    )
    same = same_ids(llama, given.gguf, lines)
    network = read_network(given.gguf, Shape())
    tokenizer = read_tokenizer(given.gguf)
    gaps: list[float] = []
    agreed: list[bool] = []
    kinds = sorted({document.kind for document in held})
    for kind in kinds:
        for document in [d for d in held if d.kind == kind][: given.documents]:
            ids = encode_document(tokenizer, document)[: Shape.context]
            llama.reset()
            llama.eval(ids)
            theirs = np.array(llama.scores[: len(ids)])
            with torch.no_grad():
                ours = network(torch.tensor([ids]))[0].numpy()
            gaps += np.abs(ours - theirs).max(1).tolist()
            agreed += (ours.argmax(1) == theirs.argmax(1)).tolist()
    found = {
        "llama_cpp_python": llama_cpp.__version__,
        "lines": len(lines),
        "lines_with_the_same_ids": same,
        "positions": len(gaps),
        "largest_logit_gap": max(gaps),
        "mean_of_each_positions_largest_gap": float(np.mean(gaps)),
        "same_argmax": float(np.mean(agreed)),
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
