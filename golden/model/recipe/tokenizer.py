"""The byte-level BPE: GPT-2's splitting rule, 256 bytes, merges, specials."""

import hashlib
import re
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from recipe.corpus import Document
from recipe.settings import SPECIALS, VOCABULARY


def train_tokenizer(documents: list[Document]) -> Tokenizer:
    """Train the merges on the training documents alone."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - len(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator((d.text.removesuffix("<|eot|>") for d in documents), trainer)
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in SPECIALS]
    )
    if tokenizer.get_vocab_size() != VOCABULARY:
        raise ValueError(f"the vocabulary has {tokenizer.get_vocab_size()} entries")
    return tokenizer


def special_id(tokenizer: Tokenizer, text: str) -> int:
    """Return the id of a special token."""
    found = tokenizer.token_to_id(text)
    if found is None:
        raise ValueError(f"the vocabulary lacks {text}")
    return found


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer that ``train_tokenizer`` made and someone saved."""
    return Tokenizer.from_file(str(path))


def breaks_at_prompt(document: Document) -> bool:
    """Return whether to cut a transcript after ``Action: `` before encoding.

    A prompt that ends in ``Action: `` ends in a lone space token, whereas in running text the space
    belongs to the next word. Half of the transcripts are cut there, so that the model knows both.
    """
    return document.kind == "action" and hashlib.sha256(document.text.encode()).digest()[1] % 2 == 0


def encode_document(tokenizer: Tokenizer, document: Document) -> list[int]:
    """Return the token ids of a document between ``<|bos|>`` and ``<|eos|>``."""
    pieces = [document.text]
    if breaks_at_prompt(document):
        pieces = re.split(r"(?<=^Action: )", document.text, flags=re.MULTILINE)
    ids = [special_id(tokenizer, "<|bos|>")]
    for piece in pieces:
        ids += tokenizer.encode(piece, add_special_tokens=False).ids
    return [*ids, special_id(tokenizer, "<|eos|>")]
