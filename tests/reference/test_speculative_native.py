"""Rejection sampling along a draft: the very tokens of common_sampler in a newer release."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.reference import Candidates
from sampler_parity.reference.pipelines.common_rejection import Proposal
from sampler_parity.reference.pipelines.common_sampler import CommonSampler, Output, SamplingParams
from sampler_parity.reference.samplers.mirostat_v2 import MirostatV2
from tests.support.native_common import Driver, NativeError, driving
from tests.support.native_common.allow_list import AllowList

N_VOCAB = 303
VOCAB = read_vocab(vocab_path("bpe"))
PLAIN = SamplingParams(seed=1, top_k=0, top_p=1.0, min_p=0.0, temp=1.0)
PARAMS = {
    "plain": PLAIN,
    "filtered": SamplingParams(seed=2, top_k=6, top_p=0.9, temp=1.3),
    "penalized": replace(PLAIN, penalty_repeat=1.5, penalty_freq=0.4, penalty_last_n=8, top_k=9),
    "by chance": replace(PLAIN, xtc_probability=0.5, xtc_threshold=0.05, top_k=12),
    "mirostat": replace(PLAIN, mirostat=2),
    "adaptive": replace(PLAIN, adaptive_target=0.3, samplers=("top_k", "adaptive_p"), top_k=12),
}


@dataclass
class Watching:
    """Behind mirostat: its mu after each of its draws."""

    mirostat: MirostatV2
    seen: list[float]
    name: str = "watching"

    def apply(self, cand: Candidates) -> None:
        self.seen.append(float(self.mirostat.mu))

    def accept(self, token: int) -> None:
        pass

    def reset(self) -> None:
        pass

    def clone(self) -> "Watching":
        return self


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with driving("b11549") as driver:
        yield driver


def few_likely(rng: np.random.Generator) -> Output:
    """Eight tokens have nearly all the mass, so that drafts from a neighbour are often accepted."""
    logits = rng.normal(0, 1, N_VOCAB).astype(np.float32)
    logits[:8] += 8
    return Output(logits)


def certain(token: int) -> Output:
    logits = np.full(N_VOCAB, -np.inf, np.float32)
    logits[token] = 0
    return Output(logits)


def proposal_of(output: Output, rng: np.random.Generator) -> tuple[int, Proposal]:
    """A draft, and the candidates that it was drawn from: those of a noisy, truncated model."""
    logits = output.logits + rng.normal(0, rng.choice([0.0, 0.7]), N_VOCAB).astype(np.float32)
    ids = np.argsort(-logits)[: rng.integers(1, 11)]
    p = np.exp(logits[ids] - logits[ids].max())
    p = (p / p.sum()).astype(np.float32)
    token = int(rng.choice(ids, p=p / p.sum(dtype=np.float64)))
    return token, [(int(i), float(share)) for i, share in zip(ids, p, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [None, [{1, 2, 3, 300}, {1, 2, 4, 5, 6, 7}, {*range(10)}]])
@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
def test_rounds_of_rejection_are_llama_cpps(
    driver: Driver, params: SamplingParams, allowed: list[set[int]] | None
) -> None:
    """12 rounds one after the other: tokens accepted and recovered, and what is sampled then."""
    grammar = AllowList(allowed) if allowed else None
    rng = np.random.default_rng(5)
    driver.init(0, params, grammar=grammar.text() if grammar else "")
    reference = CommonSampler(params, N_VOCAB, VOCAB, grammar=grammar)
    lengths = []
    for i in range(12):
        outputs = [few_likely(rng) for _ in range(4)]
        drafted = [proposal_of(output, rng) for output in outputs[:-1]]
        draft, draft_q = [token for token, _ in drafted], [q for _, q in drafted]
        first = i % 3 == 2
        native = driver.sample_and_accept_n_rejection(0, outputs, draft, draft_q, first)
        assert reference.sample_and_accept_n_rejection(outputs, draft, draft_q, first) == native
        lengths.append(len(native))
        if i == 8:
            reference.reset()
            driver.ask("reset", 0)
    assert len(set(lengths)) > 1, "no rejection or no acceptance"


@pytest.mark.slow
def test_without_dist_the_stream_of_rejection_is_the_same_whatever_the_seed(
    driver: Driver,
) -> None:
    """Half of the mass of the draft is rejected: 8 coins a round.

    The number of accepted tokens shows how they fell.
    """
    rng = np.random.default_rng(4)
    output = few_likely(rng)
    draft, draft_q = [0] * 8, [[(0, 1.0)]] * 8
    lengths: dict[bool, list[int]] = {}
    for has_dist in (True, False):
        last = () if has_dist else ("adaptive_p",)
        params = replace(PLAIN, samplers=("temperature", *last), adaptive_target=0.5)
        lengths[has_dist] = []
        for seed in range(12):
            of_seed = replace(params, seed=seed, logit_bias=((0, 4.0),))
            driver.init(0, of_seed)
            reference = CommonSampler(of_seed, N_VOCAB, VOCAB)
            tokens = reference.sample_and_accept_n_rejection([output] * 9, draft, draft_q)
            assert tokens == driver.sample_and_accept_n_rejection(0, [output] * 9, draft, draft_q)
            lengths[has_dist].append(len(tokens))
    assert len(set(lengths[True])) > 1
    assert len(set(lengths[False])) == 1


@pytest.mark.slow
def test_mirostat_learns_from_the_token_that_it_drew_and_not_from_the_one_that_came_out(
    driver: Driver,
) -> None:
    """The same text, accepted in 12 generations that differ in the other tokens that were drawn."""
    rng = np.random.default_rng(4)
    outputs = [few_likely(rng), few_likely(rng)]
    mus = set()
    for seed in range(12):
        params = replace(PLAIN, seed=seed, mirostat=2, mirostat_tau=4.0, mirostat_eta=0.5)
        driver.init(0, params)
        reference = CommonSampler(params, N_VOCAB, VOCAB)
        mirostat = reference.chain.samplers[-1]
        assert isinstance(mirostat, MirostatV2)
        after_one: list[float] = []
        reference.chain.samplers.append(Watching(mirostat, after_one))
        tokens = reference.sample_and_accept_n_rejection(outputs, [0], [[(0, 1e-6)]])
        assert tokens == driver.sample_and_accept_n_rejection(0, outputs, [0], [[(0, 1e-6)]])
        assert tokens[0] == 0
        mus.add(after_one[0])
    assert len(mus) > 1


def test_a_draft_from_what_cannot_give_it_is_rejected_though_it_comes_again(
    driver: Driver,
) -> None:
    """q(x) = 0: rejected. q is 0 everywhere, so the residual is p, which has x alone: one token."""
    driver.init(0, PLAIN)
    outputs = [certain(5), certain(5)]
    reference = CommonSampler(PLAIN, N_VOCAB, VOCAB)
    assert driver.sample_and_accept_n_rejection(0, outputs, [5], [[(7, 1.0)]]) == [5]
    assert reference.sample_and_accept_n_rejection(outputs, [5], [[(7, 1.0)]]) == [5]


def test_a_clone_continues_the_stream_and_a_reset_does_not_restart_it(driver: Driver) -> None:
    rng = np.random.default_rng(8)
    outputs = [few_likely(rng) for _ in range(9)]
    draft, draft_q = zip(*(proposal_of(output, rng) for output in outputs[:-1]), strict=True)
    driver.init(0, PLAIN)
    driver.ask("clone", 0, 1)
    reference = CommonSampler(PLAIN, N_VOCAB, VOCAB)
    twin = reference.clone()
    seen = []
    for number, sampler in (0, reference), (1, twin), (1, twin), (0, reference):
        sampler.reset()
        driver.ask("reset", number)
        seen.append(driver.sample_and_accept_n_rejection(number, outputs, draft, draft_q))
        assert sampler.sample_and_accept_n_rejection(outputs, draft, draft_q) == seen[-1]
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert seen[2] != seen[0]


def test_the_end_of_the_generation_ends_matching_and_not_rejection(driver: Driver) -> None:
    """The draft goes on behind a token that ends the generation; all of it is certain."""
    (end, *_) = sorted(VOCAB.eog)
    outputs = [certain(token) for token in (end, 3, 4)]
    sure: list[Proposal] = [[(end, 1.0)], [(3, 1.0)]]
    driver.init(0, PLAIN)
    assert driver.sample_and_accept_n(0, outputs, [end, 3], False) == [end]
    assert driver.sample_and_accept_n_rejection(0, outputs, [end, 3], sure) == [end, 3, 4]
    reference = CommonSampler(PLAIN, N_VOCAB, VOCAB)
    assert reference.sample_and_accept_n(outputs, [end, 3]) == [end]
    assert reference.sample_and_accept_n_rejection(outputs, [end, 3], sure) == [end, 3, 4]


@pytest.mark.slow
def test_v0_5_0_has_no_rejection_sampling() -> None:
    outputs = [Output(np.zeros(N_VOCAB, np.float32))] * 2
    with driving() as driver:
        driver.init(0, PLAIN)
        with pytest.raises(NativeError, match="no rejection sampling in this release"):
            driver.sample_and_accept_n_rejection(0, outputs, [1], [[(1, 1.0)]])


def test_outputs_and_proposals_must_fit_the_draft() -> None:
    logits = np.zeros(N_VOCAB, np.float32)
    reference = CommonSampler(PLAIN, N_VOCAB, VOCAB)
    with pytest.raises(ValueError, match="2 outputs and 0 proposals for a draft of 1"):
        reference.sample_and_accept_n_rejection([Output(logits)] * 2, [1], [])
    with pytest.raises(ValueError, match=r"^a draft of 1 needs 2 outputs, got 1$"):
        reference.sample_and_accept_n([Output(logits)], [5])
