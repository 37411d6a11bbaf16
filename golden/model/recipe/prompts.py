"""Cut ``golden/prompts.jsonl`` out of the held-out documents.

Which documents and how long is fixed by hashes and by the list below, so the
file can be made again.  The model has seen none of these documents.
"""

import argparse
import hashlib
import json
import textwrap
from pathlib import Path

from tokenizers import Tokenizer

from recipe.corpus import Document, split
from recipe.read_gguf import read_tokenizer

# Kind and length in tokens.  0: up to the last ``Action: `` of a transcript.
WANTED: tuple[tuple[str, int], ...] = (
    ("docs", 24), ("docs", 40), ("docs", 56), ("docs", 80), ("docs", 90),
    ("docstring", 22), ("docstring", 36), ("docstring", 52), ("docstring", 72), ("docstring", 84),
    ("action", 0), ("action", 0), ("action", 28), ("action", 44), ("action", 52), ("action", 70),
    ("json", 20), ("json", 32), ("json", 48), ("json", 64), ("json", 76),
    ("code", 30), ("code", 46), ("code", 60),
)  # fmt: skip


def source(document: Document, kind: str) -> str:
    """Return the part of a document that can serve as a prompt of the kind, or ''."""
    text = document.text.split("<|eot|>")[0]
    if kind == "code":
        # An interactive session inside a docstring or a help topic.
        if text.count(">>>") < 3:
            return ""
        start = text.rfind("\n", 0, text.index(">>>")) + 1
        return textwrap.dedent(text[start:]).lstrip()
    if document.kind != kind or (kind == "docstring" and ">>>" in text):
        return ""
    return text


def cut(tokenizer: Tokenizer, text: str, length: int) -> str:
    """Return the first ``length`` tokens of a text, or '' if it is too short."""
    if length == 0:
        end = text.rfind("Action: ")
        prompt = text[: end + len("Action: ")] if end > 0 else ""
        return prompt if 20 <= len(tokenizer.encode(prompt).ids) <= 120 else ""
    ids = tokenizer.encode(text).ids
    return tokenizer.decode(ids[:length]) if len(ids) > length else ""


def choose(tokenizer: Tokenizer, held: list[Document]) -> list[dict[str, str]]:
    """Choose one document for each wanted prompt, none of them twice."""
    held = sorted(held, key=lambda d: hashlib.sha256(("prompt" + d.text).encode()).digest())
    used: set[str] = set()
    prompts = []
    for place, (kind, length) in enumerate(WANTED):
        for document in held:
            text = (
                cut(tokenizer, source(document, kind), length) if document.text not in used else ""
            )
            # Only plain text: a cut inside a character would not come back.
            if text and text.isascii():
                used.add(document.text)
                prompts.append({"id": f"{kind}-{place + 1:02d}", "kind": kind, "text": text})
                break
    return prompts


def main() -> None:
    """Run the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    tokenizer = read_tokenizer(given.gguf)
    prompts = choose(tokenizer, split()[1])
    given.out.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    lengths = [len(tokenizer.encode(prompt["text"]).ids) for prompt in prompts]
    print(f"{len(prompts)} prompts, {sum(lengths)} tokens, {min(lengths)} to {max(lengths)} each")


if __name__ == "__main__":
    main()
