"""Read the vocabulary back out of the GGUF, so that prompts are cut by the committed file."""

from pathlib import Path

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from recipe.settings import SPECIALS


def read_tokenizer(path: Path) -> Tokenizer:
    """Rebuild the tokenizer from the file's tokens and merges."""
    fields = gguf.GGUFReader(str(path)).fields
    tokens: list[str] = fields["tokenizer.ggml.tokens"].contents()
    merges: list[str] = fields["tokenizer.ggml.merges"].contents()
    plain = {token: place for place, token in enumerate(tokens) if token not in SPECIALS}
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE(vocab=plain, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in SPECIALS]
    )
    if [tokenizer.id_to_token(place) for place in range(len(tokens))] != tokens:
        raise ValueError("the tokens came back in another order")
    return tokenizer
