"""Decoding with libllama: the logits of a prompt; generation with the native chain.

Then the candidates that a graph returns, the requests of `capture`, and the throughput."""

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.llama_cpp.libllama import Libllama, SequenceSampler
from sampler_parity.harness.protocol import messages as p
from sampler_parity.harness.protocol.interface import Result


class Model:
    """A model in memory. Raises InputError if llama.cpp refuses the file."""

    def __init__(self, library: Libllama, path: Path) -> None:
        self.library, self.path, self.model = library, path, 0
        self.model = library.load_model(path)
        self.n_vocab = int(library.llama_vocab_n_tokens(library.llama_model_get_vocab(self.model)))
        self.n_context = int(library.llama_model_n_ctx_train(self.model))

    def check(self, n_vocab: int, tokens: list[int], further: int = 0) -> None:
        """Raise InputError if tokens, or further ones to come, do not fit the model."""
        self.check_vocabulary(n_vocab, tokens)
        length = len(tokens) + further
        if length > self.n_context:
            problem = f"was trained on {self.n_context} tokens, but {length} are needed"
            raise InputError(self.path, problem, "shorten the prompt or generate fewer")

    def check_vocabulary(self, n_vocab: int, tokens: list[int]) -> None:
        if n_vocab != self.n_vocab:
            problem = f"has a vocabulary of {self.n_vocab} tokens, expected {n_vocab}"
            raise InputError(self.path, problem, "name the model that the prompts were made for")
        unknown = [token for token in tokens if not 0 <= token < self.n_vocab]
        if unknown:
            raise InputError(self.path, f"has no token {unknown[0]}, which the prompt holds")

    def __del__(self) -> None:
        if self.model:
            self.library.llama_model_free(self.model)


@dataclass(frozen=True)
class Further:
    """Tokens of a sequence that are decoded next, from position `start` on."""

    sequence: int
    start: int
    tokens: list[int]


class Context:
    """A llama_context with `sequences` sequences of at most n_tokens each.

    chains: of each sequence a llama_sampler_chain to put into its graph, which must live as long.
    outputs: of one sequence in one batch, at most, where it is sampled in the graph.
    """

    def __init__(
        self, model: Model, n_tokens: int, threads: int = 1, chains: list[int] | None = None,
        sequences: int = 1, outputs: int = 1,
    ) -> None:  # fmt: skip
        self.model, self.library, self.pointer = model, model.library, 0
        params = self.library.llama_context_default_params()
        params.n_ctx = params.n_batch = n_tokens * sequences
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        if sequences > 1 or outputs > 1:  # in the graph each output that may be has a sampler
            params.n_outputs_max, params.n_outputs_max_per_seq = sequences * outputs, outputs
        samplers = (SequenceSampler * sequences)(
            *(SequenceSampler(i, chain) for i, chain in enumerate(chains or []))
        )
        if chains:
            params.samplers, params.n_samplers = ctypes.addressof(samplers), sequences
        self.pointer = int(self.library.llama_init_from_model(model.model, params) or 0)
        if not self.pointer:
            problem = "llama.cpp cannot make a context"
            raise InputError(model.path, problem, "is there enough memory?")
        self.length = 0
        self.delay_s = 0.0  # that decode takes longer, as with a larger model

    def decode(self, tokens: list[int]) -> NDArray[np.float32]:
        """Return the logits after these further tokens: a view that the next call overwrites."""
        row = self.decode_all(tokens, 1)[0]
        if self.delay_s:
            time.sleep(self.delay_s)
        return row

    def decode_all(self, tokens: list[int], n_last: int) -> list[NDArray[np.float32]]:
        """Return the logits after each of the last n_last tokens, all decoded in one batch."""
        n = len(tokens)
        batch = self.library.llama_batch_init(n, 0, 1)
        batch.n_tokens = n
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.logits[i] = token, self.length + i, i >= n - n_last
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
        status = self.library.llama_decode(self.pointer, batch)
        self.library.llama_batch_free(batch)
        rows = [self._row(status, i) for i in range(-n_last, 0)]
        self.length += n
        return rows

    def decode_together(self, parts: Sequence[Further]) -> int:
        """Decode further tokens of several sequences in one batch; return the nanoseconds. The last
        token of each part has an output."""
        n = sum(len(part.tokens) for part in parts)
        batch = self.library.llama_batch_init(n, 0, 1)
        batch.n_tokens = n
        i = 0
        for part in parts:
            for at, token in enumerate(part.tokens):
                batch.token[i], batch.pos[i] = token, part.start + at
                batch.n_seq_id[i], batch.seq_id[i][0] = 1, part.sequence
                batch.logits[i] = at + 1 == len(part.tokens)
                i += 1
        start = time.perf_counter_ns()
        status = self.library.llama_decode(self.pointer, batch)
        # llama_decode may return before a GPU has finished
        self.library.llama_synchronize(self.pointer)
        ns = time.perf_counter_ns() - start
        self.library.llama_batch_free(batch)
        if status != 0:
            problem = f"cannot decode {n} tokens (status {status})"
            raise InputError(self.model.path, problem, "ask for fewer sequences or tokens")
        return ns

    def row(self, output: int) -> NDArray[np.float32]:
        """Return the logits of an output, by its place in the batch: a view that the next batch
        overwrites."""
        return self._row(0, output)

    def sample(self, chain: NativeChain, output: int) -> int:
        """Sample a token from an output; the chain accepts it."""
        return chain.sample(self.pointer, output)

    def copy_sequence(self, source: int, target: int) -> None:
        memory = self.library.llama_get_memory(self.pointer)
        self.library.llama_memory_seq_cp(memory, source, target, -1, -1)

    def remove_sequence(self, sequence: int) -> None:
        memory = self.library.llama_get_memory(self.pointer)
        self.library.llama_memory_seq_rm(memory, sequence, -1, -1)

    def set_sampler(self, sequence: int, chain: int | None) -> None:
        """Put a chain into the graph for a sequence; None takes it out."""
        self.library.llama_set_sampler(self.pointer, sequence, chain)

    def _row(self, status: int, output: int) -> NDArray[np.float32]:
        row: Any = None
        if status == 0:
            row = self.library.llama_get_logits_ith(self.pointer, output)
        if not row:
            problem = f"gives no logits after {self.length} tokens (status {status})"
            raise InputError(self.model.path, problem, "name a model that generates text")
        return np.ctypeslib.as_array(row, (self.model.n_vocab,))

    def close(self) -> None:
        self.library.llama_free(self.pointer)


def decode(model: Model, request: p.DecodeRequest, rows: NDArray[np.float32]) -> None:
    """Fill rows with the logits after every token."""
    context = Context(model, len(request.tokens))
    try:
        rows[:] = context.decode_all(request.tokens, len(request.tokens))
    finally:
        context.close()


def generate(
    model: Model, chain: NativeChain, request: p.GenerateRequest, rows: NDArray[np.float32]
) -> p.GenerateReply:
    """Generate tokens and fill rows with the logits of each step. llama_sampler_sample accepts the
    token that it selects."""
    context = Context(model, len(request.prompt) + request.n_tokens)
    tokens: list[int] = []
    ns = 0
    try:
        for token in request.prompt:
            chain.accept(token)
        logits = context.decode(request.prompt)
        for i in range(request.n_tokens):
            rows[i] = logits
            start = time.perf_counter_ns()
            tokens.append(chain.sample(context.pointer))
            ns += time.perf_counter_ns() - start
            if i + 1 < request.n_tokens:
                logits = context.decode(tokens[-1:])
    finally:
        context.close()
    return p.GenerateReply(tokens=tokens, ns=ns)


def handed_back(context: Context, output: int = -1) -> Result:
    """Copy the candidates of an output; p is 0 if the graph computes none."""
    library, pointer = context.library, context.pointer

    def taken(what: str) -> NDArray[Any] | None:
        n = getattr(library, f"llama_get_sampled_{what}_count_ith")(pointer, output)
        if n == 0:
            return None
        values = getattr(library, f"llama_get_sampled_{what}_ith")(pointer, output)
        return np.ctypeslib.as_array(values, (n,)).copy()

    logits = taken("logits")
    assert logits is not None  # build_sampling always hands back logits
    ids, probs = taken("candidates"), taken("probs")
    ids = np.arange(len(logits), dtype=np.int32) if ids is None else ids
    return ids, logits, np.zeros_like(logits) if probs is None else probs, None, -1


def tokenize(model: Model, request: p.TokenizeRequest) -> p.TokenizeReply:
    if model.n_vocab < 1:
        raise InputError(model.path, "has no vocabulary", "name a model that generates text")
    library = model.library
    vocab = library.llama_model_get_vocab(model.model)
    return p.TokenizeReply(
        tokens=[_tokens(library, vocab, text.encode()) for text in request.texts],
        n_vocab=model.n_vocab,
        n_context=model.n_context,
    )


def _tokens(library: Libllama, vocab: int, text: bytes) -> list[int]:
    """Return the tokens: special tokens parsed, begin-of-text added if the model asks for it."""
    room = len(text) + 8
    buffer = (ctypes.c_int32 * room)()
    n = library.llama_tokenize(vocab, text, len(text), buffer, room, True, True)
    return list(buffer[: max(n, 0)])


def capture(model: Model, request: p.CaptureRequest, rows: NDArray[np.float32]) -> None:
    """Fill rows with the logits after the tokens at the positions, each decoded by itself."""
    model.check_vocabulary(request.n_vocab, request.tokens)
    row_of = {position: i for i, position in enumerate(request.positions)}
    context = Context(model, request.n_context, request.threads)
    try:
        for position in range(max(request.positions) + 1):
            logits = context.decode([request.tokens[position]])
            if position in row_of:
                rows[row_of[position]] = logits
    finally:
        context.close()


def measure(
    model: Model, chains: list[NativeChain], request: p.ThroughputRequest, in_graph: bool
) -> p.ThroughputReply:
    """Decode with a chain for each sequence. in_graph: put the chains into the model's graph."""
    for chain in chains:  # before it is decoded: in the graph, penalties look at the history then
        for token in request.prompt:
            chain.accept(token)
    context = Context(
        model,
        len(request.prompt) + request.n_tokens,
        chains=[chain.chain for chain in chains] if in_graph else None,
        sequences=request.sequences,
    )
    try:
        return _generate(context, chains, request, in_graph)
    finally:
        context.close()


def _generate(
    context: Context, chains: list[NativeChain], request: p.ThroughputRequest, in_graph: bool
) -> p.ThroughputReply:
    prompt_ns = _decode(context, [request.prompt] * len(chains))
    last = len(request.prompt)
    sample_ns, decode_ns, sampled = [], [], []
    for _ in range(request.n_tokens):
        start = time.perf_counter_ns()
        tokens = [
            chain.sample(context.pointer, (i + 1) * last - 1) for i, chain in enumerate(chains)
        ]
        sample_ns.append(time.perf_counter_ns() - start)
        sampled.append(tokens)
        decode_ns.append(_decode(context, [[token] for token in tokens]))
        last = 1
    return p.ThroughputReply(
        prompt_ns=prompt_ns,
        sample_ns=sample_ns,
        decode_ns=decode_ns,
        tokens=sampled,
        in_graph=chains[0].in_graph() if in_graph else 0,
    )


def _decode(context: Context, further: list[list[int]]) -> int:
    """Decode the same number of further tokens of every sequence in one batch; return
    nanoseconds."""
    parts = [Further(i, context.length, tokens) for i, tokens in enumerate(further)]
    ns = context.decode_together(parts)
    context.length += len(further[0])
    return ns
