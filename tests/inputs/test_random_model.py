"""The random-weight model with 128,256 tokens: its file, its vocabulary, its logits."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import sha256_of
from sampler_parity.harness.inputs import models
from sampler_parity.harness.inputs.models import (
    Shape,
    grow_words,
    make_weights,
    model_path,
    write_model,
)
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp.decode import Context, Model
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.reference.candidates import Candidates

MINI = Shape(n_vocab=600, width=16, heads=2, n_context=32)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own and a model of 600 tokens in the place of the large one."""
    written = tmp_path / "expected.gguf"
    write_model(written, MINI, make_weights(MINI, 4.5), *grow_words(600 - 259))
    monkeypatch.setattr(models, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(models, "RANDOM_128256", MINI)
    monkeypatch.setattr(models, "_SHA256", sha256_of(written))
    return tmp_path / "models"


def make() -> Path:
    return models.random_128256_path.__wrapped__()


def test_random_model_is_the_recorded_file() -> None:
    path = model_path("random-128256")
    assert sha256_of(path).startswith("dc86725473b8")
    assert 30e6 < path.stat().st_size < 40e6


def test_random_model_is_made_once_and_leaves_nothing_else(cache: Path) -> None:
    path = make()
    made_at = path.stat().st_mtime_ns
    assert make() == path
    assert path.stat().st_mtime_ns == made_at
    assert [p.name for p in cache.iterdir()] == ["random-128256.gguf"]


@pytest.mark.parametrize("damage", [b"", b"GGUF", None], ids=["empty", "cut", "one-byte"])
def test_random_model_that_was_damaged_is_made_again(cache: Path, damage: bytes | None) -> None:
    path = make()
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    assert make().read_bytes() == whole


def test_random_model_that_comes_out_otherwise_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "_SPREAD", 4.4)
    with pytest.raises(InputError, match=r"was generated with SHA-256 .*, expected .* - install"):
        make()
    assert list(cache.iterdir()) == []


def test_random_model_without_a_place_to_write_is_refused(cache: Path) -> None:
    cache.parent.mkdir(exist_ok=True)
    cache.write_text("a file in the way")
    with pytest.raises(InputError, match=r"random-128256.gguf: cannot write: .* - free space"):
        make()


@pytest.mark.slow
def test_llama_cpp_and_the_reference_agree_on_the_vocabulary(libllama: Libllama) -> None:
    path = model_path("random-128256")
    vocab = read_vocab(path)
    native = libllama.llama_model_get_vocab(libllama.load_model(path, vocab_only=True))
    assert libllama.llama_vocab_n_tokens(native) == 128_256
    for token in [*range(0, 128_256, 4001), 128_252]:
        piece = vocab.piece(token)
        buffer = (ctypes.c_int32 * 32)()
        n = libllama.llama_tokenize(native, piece, len(piece), buffer, 32, False, False)
        assert list(buffer[:n]) == vocab.tokenize(piece), piece


def entropy(logits: NDArray[np.float32]) -> float:
    """Return the entropy of the softmax, in nats."""
    shifted = logits.astype(np.float64) - float(logits.max())
    total = np.log(np.exp(shifted).sum())
    return float(total - (np.exp(shifted - total) * shifted).sum())


@pytest.mark.slow
def test_logits_are_as_uncertain_as_a_language_models_and_steps_differ(
    libllama: Libllama,
) -> None:
    model = Model(libllama, model_path("random-128256"))
    chain = build_chain([{"dist": {"seed": 3}}], n_vocab=model.n_vocab)
    prompt = [128253, 104, 101, 108, 108, 111]
    context = Context(model, len(prompt) + 41)
    entropies = []
    row = context.decode(prompt).copy()
    for _ in range(40):
        cand = Candidates.from_logits(row)
        chain.apply(cand)
        assert cand.token is not None
        row = context.decode([cand.token]).copy()
        entropies.append(entropy(row))
    context.close()
    # the golden model has 2.4 nats; flat noise has 11.8, a frozen model 0
    assert 2 < np.mean(entropies) < 4.5
    assert np.quantile(entropies, 0.9) - np.quantile(entropies, 0.1) > 2
