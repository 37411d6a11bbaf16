"""Write the trained weights and the vocabulary as one GGUF file.

Matrices as F16, norms as F32.  ``output.weight`` is left out: llama.cpp then
uses the embeddings for the output as well, as the network does.
"""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer

from recipe.settings import SPECIALS, Shape
from recipe.tokenizer import load_tokenizer, special_id

NAME = "sampler-parity-small"
DESCRIPTION = (
    "A 3.7 M parameter test model, not meant to be useful. Trained on the help topics (pydoc_data) "
    "and the standard library docstrings of Python 3.11, which are under the PSF licence, and on "
    "synthetic action calls and JSON. The weights and the recipe are under Apache-2.0."
)


def add_shape(writer: gguf.GGUFWriter, shape: Shape) -> None:
    """Add the kind and size of the model."""
    writer.add_name(NAME)
    writer.add_description(DESCRIPTION)
    writer.add_license("Apache-2.0")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_layer_norm_rms_eps(shape.norm_epsilon)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_vocab_size(shape.vocabulary)


def add_vocabulary(writer: gguf.GGUFWriter, tokenizer: Tokenizer) -> None:
    """Add tokens, merges and the special ones among them."""
    vocabulary = tokenizer.get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    special = {text: special_id(tokenizer, text) for text in SPECIALS}
    types = [
        gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(special["<|bos|>"])
    writer.add_eos_token_id(special["<|eos|>"])
    writer.add_eot_token_id(special["<|eot|>"])
    writer.add_uint32(gguf.Keys.Tokenizer.FIM_PRE_ID, special["<|fim_prefix|>"])
    writer.add_uint32(gguf.Keys.Tokenizer.FIM_SUF_ID, special["<|fim_suffix|>"])
    writer.add_uint32(gguf.Keys.Tokenizer.FIM_MID_ID, special["<|fim_middle|>"])
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)


def write(out: Path, weights: dict[str, torch.Tensor], tokenizer: Tokenizer, shape: Shape) -> None:
    """Write the file."""
    writer = gguf.GGUFWriter(str(out), "llama")
    add_shape(writer, shape)
    add_vocabulary(writer, tokenizer)
    for name, weight in weights.items():
        kind = np.float16 if weight.dim() == 2 else np.float32
        writer.add_tensor(name, weight.numpy().astype(kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    """Run the stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    weights = torch.load(given.work / "weights.pt", weights_only=True)
    write(given.out, weights, load_tokenizer(given.work / "tokenizer.json"), Shape())
    size = given.out.stat().st_size
    print(f"{given.out}: {size} bytes")
    if size >= 8_000_000:
        raise SystemExit("the file is too large")


if __name__ == "__main__":
    main()
