"""The vocabulary of a recorded model: of the model's file if it is there, else as recorded."""

import base64
from pathlib import Path
from typing import Any

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.programs.recording.events import Vocabulary
from sampler_parity.programs.recording.reader import texts_of
from sampler_parity.reference import Vocab


class RecordedVocab(Vocab):
    """The bytes of each token, as the program's libllama gave them. It has no merges, so it cannot
    tokenize a text where the kind needs them."""

    def __post_init__(self) -> None:
        """Take any kind of vocabulary: the bytes are known."""


def vocab_of(folder: Path, model: Vocabulary) -> Vocab | None:
    """Return the vocabulary of a recorded model; None with --no-text. Raises InputError."""
    if not model.file:
        return None
    recorded = texts_of(folder, model)
    vocab = _recorded(recorded, folder / model.file)
    if model.path and Path(model.path).is_file():
        try:
            of_file = read_vocab(Path(model.path))
        except InputError:  # a tokenizer that the reference does not cover
            return vocab
        if of_file.pieces == vocab.pieces and of_file.eog == vocab.eog:
            return of_file
    return vocab


def _recorded(read: dict[str, Any], path: Path) -> Vocab:
    """Return the vocabulary as it was recorded. Raises InputError."""
    try:
        pieces = tuple(base64.b64decode(piece) for piece in read["pieces"])
        texts = tuple(text if isinstance(text, str) else "" for text in read["texts"])
        vocab = RecordedVocab(
            kind=read["kind"],
            texts=texts,
            types=tuple(read["types"]),
            scores=tuple(map(float, read["scores"])),
            eog=frozenset(read["eog"]),
            eos=read["eos"],
            eot=read["eot"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(path, f"is not a recorded vocabulary: {error}") from None
    vars(vocab)["pieces"] = pieces  # in the place of the cached property
    return vocab


def pieces_of(folder: Path, model: Vocabulary) -> list[bytes]:
    """Return the bytes of every token; none with --no-text. Raises InputError."""
    if not model.file:
        return []
    return [base64.b64decode(piece) for piece in texts_of(folder, model)["pieces"]]
