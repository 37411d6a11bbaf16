"""Chains applied to literal logits, on the reference and on the native backend."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from sampler_parity.harness.checks.stages.classify import identical
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.inputs.logits import FAMILIES
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.client import Got
from sampler_parity.harness.protocol.process import BackendProcess
from sampler_parity.reference import Candidates, Chain, UndefinedInputError, Vocab
from sampler_parity.reference.random import Mt19937
from sampler_parity.reference.sampler import Sampler

Spec = list[dict[str, dict[str, Any]]]

# The first words of std::mt19937 with its default seed, 5489, as published for the generator.
SEED = 5489
WORDS = (3499211612, 581869302, 3890346734, 3586334585, 545404204, 4161255391)
# Results of uniform_real_distribution<double>, two words each, the later one the more significant.
UNIFORM_DOUBLES = (0.135477, 0.835009, 0.968868)


class FixedWords(Mt19937):
    """A generator whose words we choose."""

    def __init__(self, *words: int) -> None:
        self._left = list(words)

    def words(self, n: int) -> NDArray[np.uint64]:
        taken, self._left = self._left[:n], self._left[n:]
        return np.array(taken, np.uint64)


def logs(*probs: float) -> NDArray[np.float32]:
    """Return logits whose softmax is probs, if they sum to 1; probability 0 is -inf."""
    with np.errstate(divide="ignore"):
        logits: NDArray[np.float32] = np.log(np.array(probs)).astype(np.float32)
    return logits


def chain_of(*stages: tuple[str, dict[str, Any]], **context: Any) -> Chain:
    return build_chain([{name: parameters} for name, parameters in stages], **context)


def applied(
    name: str,
    parameters: dict[str, Any],
    logits: ArrayLike,
    *,
    prompt: Sequence[int] = (),
    history: Sequence[int] = (),
    vocab: Vocab | None = None,
) -> Candidates:
    """Return the candidates after one sampler, which has accepted prompt and history before."""
    cand = Candidates.from_logits(logits)
    chain = chain_of((name, parameters), n_vocab=len(cand), vocab=vocab)
    for token in prompt:
        chain.accept_prompt(token)
    for token in history:
        chain.accept(token)
    chain.apply(cand)
    return cand


def stepped(sampler: Sampler, logits: ArrayLike) -> Candidates:
    """Return the candidates after a sampler of a test's own, which keeps its state."""
    cand = Candidates.from_logits(logits)
    sampler.apply(cand)
    return cand


def native_stages(
    native: BackendProcess,
    spec: Spec,
    logits: ArrayLike,
    *,
    history: Sequence[int] = (),
    steps: int = 1,
    vocab: str | None = None,
) -> list[list[Got]]:
    """Return llama.cpp's candidates after each stage of each step. vocab: a built-in one, bpe or
    spm.

    Raises BackendFailure.
    """
    row = np.array(logits, np.float32)
    path = vocab_path(vocab) if vocab else None
    chain = complete(spec, len(row))
    setting = client.Setting(chain, len(row), str(path) if path else None, list(history))
    return client.run(native, setting, [row], [p.Step(row=0)] * steps, whole_chain=False).stages


def assert_as_native(
    native: BackendProcess,
    spec: Spec,
    logits: ArrayLike,
    *,
    history: Sequence[int] = (),
    steps: int = 1,
    vocab: str | None = None,
    release: str | None = None,
) -> None:
    """Assert that every stage of every step is identical to llama.cpp's, to the bit."""
    words = read_vocab(vocab_path(vocab)) if vocab else None
    chain = build_chain(spec, n_vocab=len(np.asarray(logits)), vocab=words, release=release)
    for token in history:
        chain.accept(token)
    expected = native_stages(native, spec, logits, history=history, steps=steps, vocab=vocab)
    for step, stages in enumerate(expected):
        cand = Candidates.from_logits(np.array(logits, np.float32))
        for stage, want in zip(chain.trace(cand), stages, strict=True):
            assert identical(stage.candidates, want), (
                f"step {step}, {stage.name}: {stage.candidates} is not native's {want}"
            )
        if 0 <= cand.selected < len(cand):
            chain.accept(int(cand.ids[cand.selected]))


def side_by_side(
    worker: Any,
    spec: Spec,
    family: str,
    n: int,
    seed: int,
    history: Sequence[int] = (),
    steps: int = 3,
) -> Iterator[tuple[Candidates, Any]]:
    """Yield candidates of the reference and of a worker, step by step, on random rows of a family.

    If the reference refuses a row, the worker must refuse it too, and nothing follows.
    """
    chain = complete(spec, n)
    reference, instance = build_chain(chain), worker.build(chain, n, None)
    for token in history:
        reference.accept(token)
        instance.accept(token)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        with np.errstate(over="ignore", under="ignore"):
            logits = FAMILIES[family](rng, n).astype(np.float32)
        want, got = Candidates.from_logits(logits), worker.candidates(logits)
        try:
            reference.apply(want)
        except UndefinedInputError:
            with pytest.raises(UndefinedInputError):
                instance.apply(None, got)
            return
        instance.apply(None, got)
        yield want, got
        assert want.token is not None
        reference.accept(want.token)
        instance.accept(want.token)
