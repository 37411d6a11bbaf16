"""Generation with llama.cpp's own grammar sampler, greedy: the baseline of the token trie; and the
cost of both alone: the work of a step, and setting them up."""

import ctypes
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.vocabularies import read_vocab
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.harness.llama_cpp.token_trie import Worker
from sampler_parity.harness.protocol.measured import OwnCosts, SetCosts
from sampler_parity.harness.trie.session import Session, build_tries
from sampler_parity.reference.trie import TrieCache


@dataclass(frozen=True)
class Span:
    """One leaf, generated in one way: ns from the prompt's last token to its end, and for each
    forward pass the ns of decoding and sampling. resampled: tokens that the grammar first refused.
    """

    tokens: tuple[int, ...]
    ns: int
    sampler_ns: list[int]
    decode_ns: list[int]
    resampled: int = 0

    @property
    def saved(self) -> int:
        """Tokens without a forward pass of their own."""
        return max(0, len(self.tokens) - len(self.decode_ns))


class Baseline:
    """first: the grammar masks all tokens, then greedy takes one. Else greedy takes one first; if
    the grammar refuses it, all are masked and greedy takes another.

    texts: of the leaves, at which a generation ends. Raises InputError if llama.cpp cannot read the
    grammar.
    """

    def __init__(
        self, session: Session, worker: Worker, text: str, texts: set[bytes], first: bool
    ) -> None:
        self.session, self.first = session, first
        self.library, self.vocab = session.library, read_vocab(session.model.path)
        self.ends = prefix_free(texts)
        grammar = {"grammar": {"grammar_str": text, "grammar_root": "root"}}
        n, path = session.model.n_vocab, str(session.model.path)
        self.both = worker.build([grammar, {"greedy": {}}], n, path)
        self.greedy = worker.build([{"greedy": {}}], n, path)
        self.grammar = int(self.library.llama_sampler_chain_get(self.both.chain, 0))
        self._one = NativeCandidates(np.ones(1, np.float32))

    def generate(self, most: int) -> Span:
        """Generate from the session's waiting tokens to the end of a leaf. Raises InputError if no
        leaf ends within `most` tokens."""
        context, pending = self.session.context, self.session.pending
        self.reset()
        tokens: list[int] = []
        sampler_ns: list[int] = []
        decode_ns: list[int] = []
        resampled, text = 0, b""
        start = time.perf_counter_ns()
        while text not in self.ends:
            if len(tokens) == most:
                raise InputError("grammar", f"no leaf within {most} tokens", "correct the grammar")
            decoding = time.perf_counter_ns()
            context.decode(pending)
            sampling = time.perf_counter_ns()
            token, was_resampled = self._sample()
            sampler_ns.append(time.perf_counter_ns() - sampling)
            decode_ns.append(sampling - decoding)
            resampled += was_resampled
            if token in self.vocab.eog:
                break
            tokens.append(token)
            text += self.vocab.piece(token)
            pending = [token]
        ns = time.perf_counter_ns() - start
        return Span(tuple(tokens), ns, sampler_ns, decode_ns, resampled)

    def _sample(self) -> tuple[int, bool]:
        """Sample and accept a token; return it and whether it is the second choice."""
        sample, pointer = self.library.llama_sampler_sample, self.session.context.pointer
        if self.first:
            return int(sample(self.both.chain, pointer, -1)), False
        token = int(sample(self.greedy.chain, pointer, -1))
        candidate = self._one
        candidate.data["id"], candidate.data["logit"] = token, 1
        self.library.apply(self.grammar, candidate.array)
        if candidate.data["logit"][0] == -np.inf:
            return int(sample(self.both.chain, pointer, -1)), True
        # llama_sampler_sample has accepted it in the greedy chain only
        self.library.llama_sampler_accept(self.grammar, token)
        return token, False

    def mask(self, logits: NDArray[np.float32]) -> int:
        """Mask a row; return how many tokens stay."""
        candidates = NativeCandidates(logits)
        self.library.apply(self.grammar, candidates.array)
        return int((candidates.data["logit"] != -np.inf).sum())

    def reset(self) -> int:
        """Reset the grammar, which llama.cpp reads again; return the ns."""
        start = time.perf_counter_ns()
        self.library.llama_sampler_reset(self.grammar)
        return time.perf_counter_ns() - start

    def accept(self, token: int) -> None:
        self.library.llama_sampler_accept(self.grammar, token)


def prefix_free(texts: set[bytes]) -> set[bytes]:
    """Return the texts that are no prefix of another: there a generation is done."""
    beginnings = {text[:n] for text in texts for n in range(len(text))}
    return texts - beginnings


Row = NDArray[np.float32]
# compact, and a new llama_sampler of the trie that is measured
Make = Callable[[bool], int]


def own_costs(
    library: Libllama, make: Make, grammar: Baseline, steps: list[tuple[int, Row]], times: int
) -> OwnCosts:
    """Measure the three samplers, which take turns. steps: the tokens of a leaf and the logits
    before each."""
    costs: dict[str, list[int]] = {"masking": [], "compacting": [], "grammar": []}
    for _ in range(times):
        samplers = {
            "masking": make(False),
            "compacting": make(True),
            "grammar": grammar.grammar,
        }
        grammar.reset()
        for token, row in steps:
            for name, sampler in samplers.items():
                costs[name].append(step_ns(library, sampler, token, row))
        for name in ("masking", "compacting"):
            library.llama_sampler_free(samplers[name])
    return OwnCosts(**{name: statistics.median(ns) / 1000 for name, ns in costs.items()})


def trie_left(library: Libllama, make: Make, steps: list[tuple[int, Row]]) -> list[int]:
    """Return how many candidates have a logit above -inf after the trie, at each step of a leaf."""
    sampler = make(False)
    counts = []
    for token, row in steps:
        candidates = NativeCandidates(row)
        library.apply(sampler, candidates.array)
        counts.append(int((candidates.data["logit"] != -np.inf).sum()))
        library.llama_sampler_accept(sampler, token)
    library.llama_sampler_free(sampler)
    return counts


def step_ns(library: Libllama, sampler: int, token: int, row: Row) -> int:
    """Time applying a sampler to a row of its own and accepting the token."""
    candidates = NativeCandidates(row)
    array = ctypes.byref(candidates.array)
    start = time.perf_counter_ns()
    library.llama_sampler_apply(sampler, array)
    library.llama_sampler_accept(sampler, token)
    return time.perf_counter_ns() - start


def set_costs(session: Session, payload_json: str, times: int) -> SetCosts:
    before = session.cache
    cold: list[int] = []
    cached: list[int] = []
    for _ in range(times):
        session.cache = TrieCache(build_tries)
        if session.compiled is not None:
            session.compiled.forget()
        for spent in (cold, cached):
            start = time.perf_counter_ns()
            session.set_token_trie(payload_json, 0)
            spent.append(time.perf_counter_ns() - start)
            session.clear_token_trie()
    session.cache = before
    return SetCosts(cold=statistics.median(cold) / 1000, cached=statistics.median(cached) / 1000)
