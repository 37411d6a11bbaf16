"""A GGUF model of Llama's architecture as a folder of Hugging Face's: config.json, tokenizer.json
and model.safetensors, for servers that read nothing else. The same weights, to the bit.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import gguf

_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_CONTROL = 3  # of tokenizer.ggml.token_type


def write_folder(model: Path, folder: Path) -> None:
    """Write the files of a model into an existing folder."""
    import gguf

    reader = gguf.GGUFReader(model)
    config = _config(reader)
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(reader)), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps(_tokenizer_config(reader)), encoding="utf-8"
    )
    heads = config["num_attention_heads"], config["num_key_value_heads"]
    _write_safetensors(folder / "model.safetensors", dict(_weights(reader, heads)))


def _value(reader: "gguf.GGUFReader", key: str, default: Any = None) -> Any:
    field = reader.get_field(key)
    return default if field is None else field.contents()


def _config(reader: "gguf.GGUFReader") -> dict[str, Any]:
    def of(key: str, default: Any = None) -> Any:
        return _value(reader, f"llama.{key}", default)

    heads = of("attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": of("embedding_length"),
        "num_hidden_layers": of("block_count"),
        "intermediate_size": of("feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": of("attention.head_count_kv", heads),
        "rms_norm_eps": of("attention.layer_norm_rms_epsilon"),
        "rope_theta": of("rope.freq_base", 10000.0),
        "max_position_embeddings": of("context_length"),
        "vocab_size": len(_value(reader, "tokenizer.ggml.tokens")),
        "tie_word_embeddings": all(tensor.name != "output.weight" for tensor in reader.tensors),
        "bos_token_id": _value(reader, "tokenizer.ggml.bos_token_id"),
        "eos_token_id": _value(reader, "tokenizer.ggml.eos_token_id"),
        "torch_dtype": "float16",
    }


def _tokenizer(reader: "gguf.GGUFReader") -> dict[str, Any]:
    tokens = _value(reader, "tokenizer.ggml.tokens")
    types = _value(reader, "tokenizer.ggml.token_type")
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": i, "content": tokens[i], **flags, "special": True}
            for i, kind in enumerate(types)
            if kind == _CONTROL
        ],
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": True},
        "post_processor": None,
        "decoder": {**level, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in _value(reader, "tokenizer.ggml.merges")],
        },
    }


def _tokenizer_config(reader: "gguf.GGUFReader") -> dict[str, Any]:
    tokens = _value(reader, "tokenizer.ggml.tokens")
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[_value(reader, "tokenizer.ggml.bos_token_id")],
        "eos_token": tokens[_value(reader, "tokenizer.ggml.eos_token_id")],
        "clean_up_tokenization_spaces": False,
    }


def _weights(reader: "gguf.GGUFReader", heads: tuple[int, int]) -> Any:
    """Yield weights by their names there. The order of llama.cpp's rotation of q and k is
    undone."""
    for tensor in reader.tensors:
        stem = tensor.name.removesuffix(".weight")
        data = np.array(tensor.data)
        if stem in _NAMES:
            yield f"{_NAMES[stem]}.weight", data
        elif stem.startswith("blk."):
            _, layer, part = stem.split(".")
            if part in ("attn_q", "attn_k"):
                data = _unrotated(data, heads[part == "attn_k"])
            yield f"model.layers.{layer}.{_LAYER[part]}.weight", data


def _unrotated(data: NDArray[Any], heads: int) -> NDArray[Any]:
    rows, columns = data.shape
    pairs = data.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def _write_safetensors(path: Path, tensors: dict[str, NDArray[Any]]) -> None:
    """Write eight bytes with the length of a JSON header, the header, the data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, data in tensors.items():
        kind = {"float16": "F16", "float32": "F32"}[data.dtype.name]
        ends = [at, at := at + data.nbytes]
        header[name] = {"dtype": kind, "shape": list(data.shape), "data_offsets": ends}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for data in tensors.values():
            file.write(data.tobytes())
