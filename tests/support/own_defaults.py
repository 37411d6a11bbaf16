"""Random defaults of a llama-server: keys of a model's metadata, and flags."""

from pathlib import Path
from random import Random
from typing import Any

import gguf

# Fields of llama.cpp's sampling parameters: their key, their flag, and values.
KEYS: dict[str, tuple[str, str, list[Any]]] = {
    "top_k": ("general.sampling.top_k", "--top-k", [1, 5, 20, 64, 0]),
    "top_p": ("general.sampling.top_p", "--top-p", [0.3, 0.8, 0.9, 1.0]),
    "min_p": ("general.sampling.min_p", "--min-p", [0.0, 0.01, 0.1, 0.5]),
    "xtc_probability": ("general.sampling.xtc_probability", "--xtc-probability", [0.0, 0.5, 1.0]),
    "xtc_threshold": ("general.sampling.xtc_threshold", "--xtc-threshold", [0.05, 0.2]),
    "temp": ("general.sampling.temp", "--temp", [0.0, 0.3, 0.6, 1.0, 1.5]),
    "penalty_last_n": ("general.sampling.penalty_last_n", "--repeat-last-n", [0, 16, 128, -1]),
    "penalty_repeat": ("general.sampling.penalty_repeat", "--repeat-penalty", [1.0, 1.05, 1.3]),
    "mirostat": ("general.sampling.mirostat", "--mirostat", [0, 1, 2]),
    "mirostat_tau": ("general.sampling.mirostat_tau", "--mirostat-ent", [3.0, 5.0, 8.0]),
    "mirostat_eta": ("general.sampling.mirostat_eta", "--mirostat-lr", [0.05, 0.1, 0.3]),
    "samplers": (
        "general.sampling.sequence",
        "--samplers",
        ["top_k;temperature", "penalties;top_p;min_p;temperature", "temperature;top_k;top_p;xtc"],
    ),
}
FLAGS: dict[str, tuple[str, list[Any]]] = {
    **{name: (flag, values) for name, (_, flag, values) in KEYS.items()},
    "penalty_freq": ("--frequency-penalty", [0.3, 1.1]),
    "penalty_present": ("--presence-penalty", [0.4, 1.5]),
    "dry_multiplier": ("--dry-multiplier", [0.8, 2.0]),
    "dry_base": ("--dry-base", [1.5, 2.5]),
    "dry_allowed_length": ("--dry-allowed-length", [1, 4]),
    "typ_p": ("--typical", [0.5, 0.95]),
    "dynatemp_range": ("--dynatemp-range", [0.3]),
    "dynatemp_exponent": ("--dynatemp-exp", [1.7]),
    "adaptive_target": ("--adaptive-target", [0.4]),
    "seed": ("--seed", [42, 4294967295]),
}


def random_metadata(seed: int) -> dict[str, Any]:
    """Return one to twelve keys with values."""
    rng = Random(seed)
    names = rng.sample(sorted(KEYS), rng.randint(1, len(KEYS)))
    return {KEYS[name][0]: rng.choice(KEYS[name][2]) for name in names}


def random_flags(seed: int) -> dict[str, Any]:
    """Return one to eight fields with values."""
    rng = Random(seed)
    return {
        name: rng.choice(FLAGS[name][1]) for name in rng.sample(sorted(FLAGS), rng.randint(1, 8))
    }


def as_flags(fields: dict[str, Any]) -> str:
    return " ".join(f"{FLAGS[name][0]} {value}" for name, value in fields.items())


def write_model(source: Path, path: Path, metadata: dict[str, Any]) -> None:
    """Copy a GGUF file, with more keys of metadata."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        if field.types[0] == gguf.GGUFValueType.ARRAY:
            writer.add_array(key, field.contents())
        else:
            writer.add_key_value(key, field.contents(), field.types[0])
    for key, value in metadata.items():
        kinds = {int: gguf.GGUFValueType.INT32, float: gguf.GGUFValueType.FLOAT32}
        writer.add_key_value(key, value, kinds.get(type(value), gguf.GGUFValueType.STRING))
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
