"""Compare kernels that no chain shows with their models: the verification of drafts; long n-grams.

Runs in the engine's environment: `python probe.py NAMESPACE [FAULT]`; a fault of the table `probe`
of kernel_faults.toml. Prints a line for each check: its name and how many rows differ.
"""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

ROWS, PLACES = 48, 3
N_VOCAB = 8200  # one block of 8,192 and a tail


def given(certain: bool) -> SimpleNamespace:
    """Return drafts, probabilities and random numbers of rows, every third of them greedy."""
    rng = np.random.default_rng(5)
    likely = np.array([0, 40, 8191, 8192, 8199])  # in both blocks, at their ends
    logits = rng.normal(-9, 1, (ROWS, PLACES, N_VOCAB)).astype(np.float32)
    logits[:, :, likely] = rng.normal(2, 1, (ROWS, PLACES, len(likely)))
    p = softmax(logits)
    q = softmax(logits + rng.normal(0, 1, logits.shape).astype(np.float32))
    drafts = rng.choice(likely, (ROWS, PLACES))
    drafts[::2] = likely[logits[::2][:, :, likely].argmax(-1)]
    return SimpleNamespace(
        p=p,
        q=None if certain else q,
        drafts=drafts,
        bonus=rng.integers(0, N_VOCAB, ROWS),
        u=rng.random((ROWS, PLACES)),
        inverse=(1 / rng.exponential(size=(ROWS, N_VOCAB))).astype(np.float32),
        greedy=np.arange(ROWS) % 3 == 0,
    )


def softmax(logits: Any) -> Any:
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def expected_of(of: SimpleNamespace) -> list[list[int]]:
    from sampler_parity.engines.lmdeploy.model.rejection import greedy, verified

    tokens = []
    for row in range(ROWS):
        drafts, bonus = of.drafts[row].tolist(), int(of.bonus[row])
        if of.greedy[row]:
            tokens.append(greedy(of.p[row].argmax(-1).tolist(), drafts, bonus))
            continue
        q = None if of.q is None else of.q[row]
        tokens.append(verified(of.p[row], q, drafts, bonus, of.u[row], of.inverse[row]))
    return tokens


def launched(engine: SimpleNamespace, of: SimpleNamespace) -> list[list[int]]:
    """Return the tokens of the kernels, in the order of CudaRejectionSamplingImpl.forward."""
    torch, kernels = engine.torch, engine.rejection
    p, drafts, bonus = (torch.tensor(one) for one in (of.p, of.drafts, of.bonus))
    q = None if of.q is None else torch.tensor(of.q)
    mask = torch.tensor(of.greedy)
    tokens = torch.full((ROWS, PLACES + 1), -7)
    rejected, last, rest = torch.zeros(ROWS).long(), torch.zeros(ROWS).long(), drafts.clone()
    kernels.greedy_rejection_sample(tokens, rejected, last, drafts, p.argmax(-1), bonus, mask)
    kernels.sample_recovered_tokens(rest, drafts, q, p, torch.tensor(of.inverse))
    u = torch.tensor(of.u)
    kernels.random_rejection_sample(tokens, rejected, last, drafts, q, p, bonus, rest, u, mask)
    found = [[token for token in row if token >= 0] for row in tokens.tolist()]
    sound = [
        PLACES + 1 - len(row) == left and row[-1] == end
        for row, left, end in zip(found, rejected.tolist(), last.tolist(), strict=True)
    ]
    return [row if good else [] for row, good in zip(tokens.tolist(), sound, strict=True)]


def drafts(engine: SimpleNamespace) -> int:
    """Compare rows, greedy and others, with the draft's probabilities."""
    of = given(certain=False)
    return differing(launched(engine, of), expected_of(of))


def certain(engine: SimpleNamespace) -> int:
    """Compare rows without the draft's probabilities."""
    of = given(certain=True)
    return differing(launched(engine, of), expected_of(of))


def greedy(engine: SimpleNamespace) -> int:
    """Compare a batch of greedy rows alone, which has no mask, its target a part of a row."""
    from sampler_parity.engines.lmdeploy.model import rejection

    torch, rng = engine.torch, np.random.default_rng(3)
    target = rng.integers(0, 3, (64, PLACES + 1))
    drafts = rng.integers(0, 3, (64, PLACES))
    tokens, rejected, last = torch.zeros(64, PLACES + 1).long(), torch.zeros(64), torch.zeros(64)
    whole, counts = torch.tensor(target), (rejected.long(), last.long())
    parts = (torch.tensor(drafts), whole[:, :-1], whole[:, -1], None)
    engine.rejection.greedy_rejection_sample(tokens, *counts, *parts)
    rows = zip(target.tolist(), drafts.tolist(), strict=True)
    return differing(tokens.tolist(), [rejection.greedy(t[:-1], d, t[-1]) for t, d in rows])


def rest(engine: SimpleNamespace) -> int:
    """Compare the tokens behind a rejection, at every place of every row."""
    from sampler_parity.engines.lmdeploy.model.rejection import rest as of_model

    torch, of = engine.torch, given(certain=False)
    drafts = torch.tensor(of.drafts)
    tokens = torch.zeros_like(drafts)
    arrays = (torch.tensor(of.q), torch.tensor(of.p), torch.tensor(of.inverse))
    engine.rejection.sample_recovered_tokens(tokens, drafts, *arrays)
    wanted = [
        [of_model(of.p[row, at], of.q[row, at], 0, of.inverse[row]) for at in range(PLACES)]
        for row in range(ROWS)
    ]
    return differing(tokens.tolist(), wanted)


def ngram(engine: SimpleNamespace) -> int:
    """Compare texts at the length of the window with the model."""
    from sampler_parity.engines.lmdeploy.model import LmdeployNgram
    from sampler_parity.engines.lmdeploy.requests import Request
    from sampler_parity.engines.lmdeploy.shown import launch
    from sampler_parity.engines.shared.past import Past
    from sampler_parity.reference import Candidates

    chain: Any = [{"lmdeploy_ngram": {"size": 1, "threshold": 2, "stop_token_ids": [3]}}]
    row, wrong = np.zeros((1, 12), np.float32), 0
    for between in (1021, 1022, 1023, 1024):
        output = [9, *([2] * between), 9]
        request = Request.of(engine, chain, Past(output=output))
        got = launch(engine, [request.sequence(1)], row).logits[0]
        stage = LmdeployNgram(12, 1, 2, [3])
        stage.past.output.extend(output)
        candidates = Candidates.from_logits(row[0].copy())
        stage.apply(candidates)
        wrong += not np.array_equal(got, candidates.logits)
    return wrong


def differing(got: list[list[int]], expected: list[list[int]]) -> int:
    return sum(a != b for a, b in zip(got, expected, strict=True))


def main(fault: str) -> None:
    from sampler_parity.engines.lmdeploy.package import lmdeploy
    from sampler_parity.engines.shared.triton_faults import rows
    from sampler_parity.engines.shared.triton_files import edit_of

    edits = [edit_of(row) for row in rows("lmdeploy", "probe") if row["name"] == fault]
    engine = lmdeploy(tuple(edits))
    for check in (greedy, drafts, certain, rest, ngram):
        with np.errstate(all="ignore"):
            print(check.__name__, check(engine), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    main(sys.argv[2] if len(sys.argv) > 2 else "")
