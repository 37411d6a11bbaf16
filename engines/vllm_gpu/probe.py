"""Compare kernels that no chain shows with their models: noise, drafts, the mask of a grammar.

Runs in the engine's environment: `python probe.py NAMESPACE [FAULT]`; a fault of the table `probe`
of kernel_faults.toml. Prints a line for each check: its name and how many values differ.
"""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

NOISE = """@triton.jit
def noise_kernel(out_ptr, seed, pos, BLOCK: tl.constexpr):
    keys = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = murmur3_uniform32(seed, pos, keys)
    tl.store(out_ptr + keys, -tl.log(-_log1p_neg_stable(u)))


def gumbel_sample("""


def noise(engine: SimpleNamespace) -> int:
    """Compare the noise of 2**20 tokens of a draw."""
    from sampler_parity.engines.vllm_gpu.model.noise import gumbel

    torch, differ = engine.torch, 0
    for seed, pos in ((-7, 3), (2**40 + 5, 2**31 + 1)):
        out, n = torch.empty(1 << 20), 1 << 16
        numbers = torch.tensor([seed]), torch.tensor([pos])
        kernel = engine.gumbel.noise_kernel
        with np.errstate(all="ignore"):
            kernel[(16,)](out, *(int(one[0]) for one in numbers), BLOCK=n)
        expected = gumbel(seed, pos, np.arange(1 << 20))
        differ += int((out.numpy().view(np.uint32) != expected.view(np.uint32)).sum())
    return differ


def drafts(engine: SimpleNamespace) -> int:
    """Compare rounds of three drafts, some at temperature 0, with a vocabulary of two blocks."""
    from sampler_parity.engines.shared.past import Past
    from sampler_parity.engines.vllm_gpu.model.rejection import verified
    from sampler_parity.engines.vllm_gpu.requests import Request
    from sampler_parity.engines.vllm_gpu.runner import Runner

    rng, n, n_vocab = np.random.default_rng(1), 16, 8200
    target = rng.normal(0, 3, (4, n_vocab)).astype(np.float32)
    target[:, rng.random(n_vocab) < 0.997] = -np.inf  # some tens of tokens
    target[:, 8195:] = 6.0
    draft = (target[:3] + rng.normal(0, 1, (3, n_vocab))).astype(np.float32)
    likely = np.flatnonzero(target[0] > 1)
    tokens = rng.choice(likely, (n, 3)).astype(np.int32)
    tokens[::4] = target[:3].argmax(1)
    seeds = np.arange(n, dtype=np.uint32) * 7919
    temperatures = [0.0 if i % 4 == 0 else 1.0 for i in range(n)]
    params = [Request.of([{"temp": {"temp": t}}], [], []).params[-1] for t in temperatures]
    runner, past = Runner(engine, n_vocab, n, 2), Past([1], [2])
    context = runner.add(params, [past] * n, tokens)
    runner.seeded(context, seeds)
    sampled, count = runner.verify(context, runner.padded(np.tile(target, (n, 1))), draft)
    got = [row[:m].tolist() for row, m in zip(sampled, count.tolist(), strict=True)]
    given = zip(tokens.tolist(), seeds.tolist(), temperatures, strict=True)
    expected = [verified(target, draft, row, seed, 1, t == 0) for row, seed, t in given]
    return sum(a != b for a, b in zip(got, expected, strict=True))


def grammar(engine: SimpleNamespace) -> int:
    """Compare rows masked by a grammar, one row of the launch without a mask."""
    torch, rng, n_vocab = engine.torch, np.random.default_rng(2), 8233
    logits = torch.tensor(rng.normal(size=(4, n_vocab)).astype(np.float32))
    words = -(-n_vocab // 32)
    bits = rng.integers(-(2**31), 2**31, (3, words), np.int64).astype(np.int32)
    allowed = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :n_vocab] == 1
    expected = logits.numpy().copy()
    for row, mask in zip((0, 1, 3), allowed, strict=True):
        expected[row, ~mask] = -np.inf
    # Requests have 2, 1 and 1 rows; the second is not masked. Two positions of a request at most.
    first = torch.tensor([0, 2, 3, 4], dtype=torch.int32)
    places = torch.tensor([0, 1, 4], dtype=torch.int32)
    options: dict[str, Any] = {"MASK_STRIDE": 2, "BLOCK_SIZE": 8192}
    kernel = engine.structured_outputs._apply_grammar_bitmask_kernel
    masks = torch.tensor(bits)
    kernel[(3, 2)](logits, n_vocab, places, first, masks, words, n_vocab, **options)
    return int((logits.numpy() != expected).sum())


def main(fault: str) -> None:
    from sampler_parity.engines.shared.triton_files import Edit, edit_of
    from sampler_parity.engines.vllm_gpu.edits import ON_GPU
    from sampler_parity.engines.vllm_gpu.package import vllm_gpu
    from sampler_parity.engines.vllm_gpu.worker_faults import rows

    edits = [edit_of(row) for row in rows("probe") if row["name"] == fault]
    probe = Edit("sample.gumbel", "def gumbel_sample(", NOISE)
    engine = vllm_gpu((*ON_GPU, *edits, probe))
    for check in (noise, drafts, grammar):
        print(check.__name__, check(engine), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main(sys.argv[2] if len(sys.argv) > 2 else "")
