"""Put the documents together and split them into training and held-out text.

The split is by the hash of a key that belongs to the document: the topic's
name, the module's path, or a synthetic document's own text.  Natural
documents repeat each other (one help topic quotes another, a subclass its
parent's docstring), so a paragraph that occurs in a held-out document is cut
out of every training document.
"""

import hashlib
from dataclasses import dataclass
from random import Random

from recipe.actions import action_document
from recipe.json_documents import json_document
from recipe.natural import docstring_documents, topic_documents
from recipe.settings import (
    ACTION_DOCUMENTS,
    FIM_SEED,
    FIM_SHARE,
    HELD_OUT_BELOW,
    JSON_DOCUMENTS,
    SYNTHETIC_SEED,
)

KINDS = ("docs", "docstring", "action", "json")
NATURAL = ("docs", "docstring")


@dataclass(frozen=True)
class Document:
    """One text, what kind it is and the key that decides its side."""

    kind: str
    key: str
    text: str


def all_documents() -> list[Document]:
    """Return every document, each text once, in a fixed order."""
    r = Random(SYNTHETIC_SEED)
    found = [Document("docs", name, text) for name, text in topic_documents()]
    found += [Document("docstring", name, text) for name, text in docstring_documents()]
    for kind, make, count in (
        ("action", action_document, ACTION_DOCUMENTS),
        ("json", json_document, JSON_DOCUMENTS),
    ):
        texts = [make(r) for _ in range(count)]
        found += [Document(kind, text, text) for text in texts]
    return list({document.text: document for document in found}.values())


def is_held_out(document: Document) -> bool:
    """Return whether a document belongs to the held-out side."""
    return hashlib.sha256(document.key.encode()).digest()[0] < HELD_OUT_BELOW


def paragraphs(text: str) -> list[str]:
    """Return the text's paragraphs."""
    return text.split("\n\n")


def bare(paragraph: str) -> str:
    """Return a paragraph without its layout, for comparison."""
    return " ".join(paragraph.split())


def split() -> tuple[list[Document], list[Document]]:
    """Return the training documents and the held-out ones."""
    everything = all_documents()
    held = [document for document in everything if is_held_out(document)]
    seen = {
        bare(p) for document in held if document.kind in NATURAL for p in paragraphs(document.text)
    }
    train = []
    for document in everything:
        if is_held_out(document):
            continue
        if document.kind in NATURAL:
            kept = "\n\n".join(p for p in paragraphs(document.text) if bare(p) not in seen)
            document = Document(document.kind, document.key, kept)
        if document.text.strip():
            train.append(document)
    return train, held


def inside_out(document: Document, r: Random) -> Document:
    """Return the document as a fill-in-the-middle exercise on a part of it."""
    text = document.text.removesuffix("<|eot|>")[:1200]
    a, b = sorted(r.sample(range(len(text) + 1), 2))
    b = min(b, a + 200)
    turned = f"<|fim_prefix|>{text[:a]}<|fim_suffix|>{text[b:]}<|fim_middle|>{text[a:b]}<|eot|>"
    return Document(document.kind, document.key, turned)


def with_fim(train: list[Document]) -> list[Document]:
    """Return the training documents, with a share of them turned inside out as well."""
    r = Random(FIM_SEED)
    return train + [inside_out(d, r) for d in train if len(d.text) > 40 and r.random() < FIM_SHARE]


def digest(documents: list[Document]) -> str:
    """Return the SHA-256 over all texts, to compare two machines."""
    total = hashlib.sha256()
    for document in documents:
        total.update(f"{document.kind}\0{document.text}\0".encode())
    return total.hexdigest()
