"""Compare rounds of drafts and draws of drafts with their models, seed for seed."""

from types import SimpleNamespace

import numpy as np

from sampler_parity.engines.shared.past import Past
from sampler_parity.engines.vllm_gpu.model.noise import gumbel
from sampler_parity.engines.vllm_gpu.model.rejection import verified, verified_as_block
from sampler_parity.engines.vllm_gpu.requests import Request
from sampler_parity.engines.vllm_gpu.runner import Runner

N, N_VOCAB = 64, 8200  # rounds of a launch; a vocabulary of two blocks
SALT = 1 << 30  # _DRAFT_NOISE_SALT, gumbel.py 18


def drafts(engine: SimpleNamespace) -> int:
    """Compare rounds of three drafts, some at temperature 0, some with a placeholder."""
    return _differ(engine)


def drafts64(engine: SimpleNamespace) -> int:
    """Compare the same with noise in float64."""
    return _differ(engine, use_fp64=True)


def blocks(engine: SimpleNamespace) -> int:
    """Compare the same with block verification."""
    return _differ(engine, use_block_verification=True)


def _differ(engine: SimpleNamespace, **options: bool) -> int:
    """Return how many rounds differ. options: of rejection_sample."""
    rng = np.random.default_rng(1)
    target = rng.normal(0, 1, (4, N_VOCAB)).astype(np.float32)
    target[:, rng.random(N_VOCAB) < 0.997] = -np.inf  # some tens of tokens
    target[:, 8195:] = rng.normal(2, 1, (4, 5))
    draft = (target[:3] + rng.normal(0, 2, (3, N_VOCAB))).astype(np.float32)
    tokens = (draft + rng.gumbel(size=(N, 3, N_VOCAB))).argmax(2).astype(np.int32)
    tokens[::4] = target[:3].argmax(1)
    for i in range(2, N, 6):
        tokens[i, i % 9 // 3] = -1
    seeds = np.arange(N, dtype=np.uint32) * 7919
    temperatures = [0.0 if i % 4 == 0 else 1.0 for i in range(N)]
    params = [Request.of([{"temp": {"temp": t}}], [], []).params[-1] for t in temperatures]
    runner, past = Runner(engine, N_VOCAB, N, 2), Past([1], [2])
    context = runner.add(params, [past] * N, tokens)
    runner.seeded(context, seeds)
    rows = runner.padded(np.tile(target, (N, 1)))
    sampled, count = runner.verify(context, rows, draft, **options)
    differ = 0
    for i, row in enumerate(tokens.tolist()):
        seed, greedy = int(seeds[i]), temperatures[i] == 0
        if options.get("use_block_verification") and not greedy:
            expected = verified_as_block(target, draft, row, seed, 1)
        else:
            fp64 = options.get("use_fp64", False)
            expected = verified(target, draft, row, seed, 1, greedy=greedy, fp64=fp64)
        differ += sampled[i][: count[i]].tolist() != expected
    return differ


def padding(engine: SimpleNamespace) -> int:
    """Compare drafts that are drawn in a batch with padding rows, slot -1, as a CUDA graph has.

    The cache of logits gets those of the real rows, before their temperature, and nothing else.
    """
    torch, rng = engine.torch, np.random.default_rng(4)
    slots, pos = [2, -1, 0, -1], [5, 6, 7, 8]
    rows = rng.normal(size=(4, 2060)).astype(np.float32)
    temperature, seeds = np.array([0.5, 0.7, 9.0, 1.3], np.float32), np.array([99, 3, 4, 5])
    cache = torch.full((4, 2, 2060), -7.0)
    # Slot -1 is in front of the memory of slot 0: parameters that no row may have.
    drawn = engine.gumbel.gumbel_sample(
        torch.tensor(rows),
        torch.tensor(slots, dtype=torch.int32),
        torch.tensor(temperature)[1:],
        torch.tensor(seeds)[1:],
        torch.tensor(pos),
        apply_temperature=True,
        is_drafting=True,
        logits_cache=cache[1:],
        logits_cache_col=torch.tensor(1, dtype=torch.int32),
    ).tolist()
    expected, left = [], np.full((4, 2, 2060), np.float32(-7))
    for row, slot, at in zip(rows, slots, pos, strict=True):
        scores = row
        if slot >= 0:
            left[1 + slot, 1] = row
            noise = gumbel(int(seeds[1 + slot]), at + SALT, np.arange(2060))
            scores = row / temperature[1 + slot] + noise
        expected.append(int(scores.argmax()))
    same = [a == b for a, b in zip(drawn, expected, strict=True)]
    return same.count(False) + int((cache.numpy() != left).sum())
