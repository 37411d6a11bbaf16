"""Grammars on llama.cpp's native sampler: in this process, or in one that may die."""

import sys
from pathlib import Path

import numpy as np

from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.llama_cpp.worker import Worker
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.process import BackendProcess

MEMORY_KB = 1_500_000  # of a process that takes all that it gets


def native_allowed(worker: Worker, chain: NativeChain, n_vocab: int) -> list[int]:
    """Return the tokens that the first stage leaves."""
    cand = worker.candidates(np.zeros(n_vocab, np.float32))
    chain.apply(0, cand)
    data = cand.current()
    return [int(token) for token in data["id"][data["logit"] == 0]]


def limited(timeout_s: float = 60.0) -> BackendProcess:
    """Return a worker with little memory."""
    module = "sampler_parity.harness.backends.worker"
    worker = f"ulimit -v {MEMORY_KB}; exec {sys.executable} -m {module} llama.cpp"
    return BackendProcess("llama.cpp", ["bash", "-c", worker], timeout_s=timeout_s)


def ask(
    native: BackendProcess,
    chain: p.ChainSpec,
    vocab: Path,
    n_vocab: int,
    accept: list[int] | None = None,
) -> set[int]:
    """Return the tokens that are left after those accepted.

    Raises BackendFailure.

    The reference is not asked before, so input that it would refuse gets through.
    """
    native.hello()
    at = native.scratch.write(0, np.zeros(n_vocab, np.float32))
    native.scratch.ensure(at + 12 * n_vocab)
    request = p.RunRequest(
        chain=chain,
        n_vocab=n_vocab,
        vocab=str(vocab),
        rows=p.Rows(at=0, count=1, n=n_vocab),
        history=accept or [],
        steps=[p.Step(row=0, accept=None)],
        out=at,
    )
    reply = native.ask(request, p.RunReply)
    logits = native.scratch.view(reply.stages[0][0].at + 4 * n_vocab, n_vocab, np.float32)
    return {int(token) for token in np.flatnonzero(logits == 0)}
