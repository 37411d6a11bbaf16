"""Models that generate: by name or by path, and checked before anything runs."""

import functools
from pathlib import Path

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs import fixtures
from sampler_parity.harness.inputs.manifest import LogitsEntry, read_manifest
from sampler_parity.harness.inputs.random_model import random_128256_path
from sampler_parity.harness.inputs.vocabularies import read_vocab

GOLDEN = "small"
RANDOM = "random-128256"


@functools.cache
def model_path(name: str) -> Path:
    """Return the file of `small`, the golden model; of `random-128256`; or a GGUF file. Raises
    InputError.

    The golden model must be the one that the golden fixture was made with; the random one is made
    if it is missing.
    """
    if name == RANDOM:
        return random_128256_path()
    if name != GOLDEN:
        path = Path(name)
        if not path.is_file():
            fix = f"use {GOLDEN}, {RANDOM} or the path of a GGUF file"
            raise InputError(name, "no such model", fix)
        return path.resolve()
    folder = fixtures.golden_folder()
    path = folder / "model" / "small.gguf"
    entry = read_manifest(folder).get(GOLDEN)
    if not path.is_file() or not isinstance(entry, LogitsEntry):
        raise InputError(path, "missing, or not in golden/manifest.toml", "restore both")
    check_digest(path, entry.model_sha256)
    return path


def check_digest(path: Path, expected: str) -> None:
    """Raise InputError for another model than the one that the fixture was made with."""
    sha256 = sha256_of(path)
    if sha256 != expected:
        raise InputError(
            path,
            f"SHA-256 is {sha256[:12]}..., the manifest has {expected[:12]}...: another model",
            "restore the one that golden/small.gguf was made with",
        )


def n_vocab_of(name: str) -> int:
    """Return the number of tokens of a model's vocabulary. Raises InputError."""
    return len(read_vocab(model_path(name)))


def golden_prompts(per_prompt: int) -> dict[str, list[int]]:
    """Return prefixes of the golden prompts as token ids, by "PROMPT.LENGTH": per_prompt of each.

    Lengths are spread evenly from 1/per_prompt of a prompt to all of it. No prefix comes twice:
    prefixes that two prompts share, or that are too short to be cut so often, are left out.
    """
    fixture = fixtures.read(fixtures.check(fixtures.golden_folder(), GOLDEN))
    tokens = fixture.tensors["tokens"].tolist()
    names: dict[tuple[int, ...], str] = {}
    at = 0
    lengths = fixture.tensors["prompt_tokens"].tolist()
    for name, n_tokens in zip(fixture.facts["prompt_ids"], lengths, strict=True):
        for i in range(1, per_prompt + 1):
            length = max(1, n_tokens * i // per_prompt)
            names.setdefault(tuple(tokens[at : at + length]), f"{name}.{length}")
        at += n_tokens
    return {name: list(prefix) for prefix, name in names.items()}
