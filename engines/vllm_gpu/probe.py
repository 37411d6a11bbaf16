"""Compare kernels that no chain shows with their models: noise, drafts, ranks, a grammar's mask.

Runs in the engine's environment: `python probe.py NAMESPACE [FAULT]`; a fault of the table `probe`
of kernel_faults.toml, with the one check that must catch it. Prints a line for each check: its name
and how many values differ. probe_drafts.py has the checks of drafts.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray


def noise(engine: SimpleNamespace) -> int:
    """Compare the noise of 2**20 tokens of two draws."""
    from sampler_parity.engines.vllm_gpu.model.noise import gumbel

    out = engine.torch.empty(1 << 20)
    return _noise(engine.gumbel.noise_kernel, engine.torch, out, gumbel)


def noise64(engine: SimpleNamespace) -> int:
    """Compare the noise in float64 of 2**20 tokens of two draws."""
    from sampler_parity.engines.vllm_gpu.model.noise import gumbel_of_64_bits

    out = engine.torch.empty(1 << 20, dtype=engine.torch.float64)
    return _noise(engine.gumbel.noise64_kernel, engine.torch, out, gumbel_of_64_bits)


def _noise(kernel: Any, torch: Any, out: Any, model: Callable[..., NDArray[Any]]) -> int:
    differ = 0
    for seed, pos in ((-7, 3), (2**40 + 5, 2**31 + 1)):
        numbers = torch.tensor([seed]), torch.tensor([pos])
        with np.errstate(all="ignore"):
            kernel[(16,)](out, *(int(one[0]) for one in numbers), BLOCK=1 << 16)
        differ += int((out.numpy() != model(seed, pos, np.arange(1 << 20))).sum())
    return differ


def ranks(engine: SimpleNamespace) -> int:
    """Compare the ranks of selected tokens and the tokens whose logprobs a request gets: as many
    as the most likely, or its own, or the selected alone."""
    from sampler_parity.engines.vllm_gpu.model.rejection import log_softmax

    torch, rng, n, n_vocab = engine.torch, np.random.default_rng(3), 4, 8233
    rows = rng.normal(size=(n, n_vocab)).astype(np.float32).round(2)  # many are equal
    rows[:, rng.random(n_vocab) < 0.1] = -np.inf
    selected, own = np.flatnonzero(rows[0] > -np.inf)[[9, 99, 999, 7000]], [7, 8192, 8232]
    selected[3] = np.flatnonzero(rows[3] == -np.inf)[0]
    state = engine.logprob.LogprobTokenIdsState(n + 2, torch.device("cpu"))
    make = engine.sampling_params.SamplingParams
    state.add_request(4, make(logprob_token_ids=own))
    state.apply_staged_writes()
    slots = torch.tensor([5, 4, 3, 2], dtype=torch.int32)
    given = engine.logprob.compute_topk_scores(
        torch.tensor(rows),
        5,
        torch.tensor(selected),
        logprob_token_ids_state=state,
        expanded_idx_mapping=slots,
        max_per_req_token_ids=3,
    )
    expected = (rows >= rows[np.arange(n), selected][:, None]).sum(1)
    expected[3] += -n_vocab % 8192  # the lanes behind the row are -inf as well
    differ = int((given.selected_token_ranks.numpy() != expected).sum())
    ids, scores = given.logprob_token_ids.numpy(), given.logprobs.numpy()
    for i, row in enumerate(rows):
        # Of equal logits any may be among the most likely.
        best = row[own] if slots[i] == 4 else np.sort(row)[:-6:-1]
        wanted = np.array([row[selected[i]], *best])
        n = len(wanted)
        differ += int((row[ids[i, :n]] != wanted).sum()) + int(ids[i, 0] != selected[i])
        logs = log_softmax(row)[ids[i, :n]]
        differ += int((~np.isclose(scores[i, :n], logs, rtol=0, atol=1e-5)).sum())
        differ += int((scores[i, n:] != -np.inf).sum())
    return differ


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
    from sampler_parity.engines.shared.triton_faults import rows
    from sampler_parity.engines.shared.triton_files import Edit, edit_of
    from sampler_parity.engines.vllm_gpu.edits import ON_GPU
    from sampler_parity.engines.vllm_gpu.package import vllm_gpu
    from sampler_parity.engines.vllm_gpu.probe_drafts import blocks, drafts, drafts64, padding

    planted = [row for row in rows("vllm_gpu", "probe") if row["name"] == fault]
    kernels = Path(__file__).with_name("probe_noise.txt").read_text(encoding="utf-8")
    probe = Edit("sample.gumbel", "def gumbel_sample(", kernels.removesuffix("\n"))
    engine = vllm_gpu((*ON_GPU, *map(edit_of, planted), probe))
    for check in (noise, noise64, ranks, grammar, drafts, drafts64, blocks, padding):
        if not planted or check.__name__ == planted[0]["case"]:
            print(check.__name__, check(engine), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main(sys.argv[2] if len(sys.argv) > 2 else "")
