"""Generation with a token trie: llama.cpp decodes and samples, forced tokens are skipped over.

    session = Session(worker, model_path("small"), [{"temp": {"temp": 0.8}}, {"dist": {"seed": 1}}])
    session.prefill(prompt)
    session.set_token_trie(payload_json, mode=0)
    generated = session.generate(64, to_leaf=True)

Tokens that were accepted but not decoded wait and go into one batch with the next: the last token
of a prompt, then the forced tokens. So they cost neither a sampling nor a forward pass of their
own, and the longest common prefix of all leaves goes with the prompt.

The life of a span: set_token_trie puts the trie into the chain; at the end of a leaf, and where a
generation fails, it is taken out again; clear_token_trie does so before.
More in docs/background/token-trie.md.
"""

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.inputs.chains import complete
from sampler_parity.harness.llama_cpp.compiled_trie import CompiledTrie
from sampler_parity.harness.llama_cpp.decode import Context, Model
from sampler_parity.harness.llama_cpp.token_trie import FlatTrie, NativeTrie, Position, Worker
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.reference.samplers.token_trie import BEFORE_TRIE
from sampler_parity.reference.trie import Payload, TrieCache


class CompiledTries:
    """Raises InputError if the library cannot be compiled."""

    def __init__(self) -> None:
        self.library = CompiledTrie()
        self._cache: int = self.library.token_trie_cache_init()

    def forget(self) -> None:
        """Forget all payloads, which no sampler uses any more."""
        self.close()
        self._cache = self.library.token_trie_cache_init()

    def sampler(
        self, payload_json: str, mode: int, compact: bool, path: str = "", across: bool = False
    ) -> int:
        """Make a llama_sampler. Raises ChainError if it is refused."""
        parameters = {"path": path.encode(), "compact": compact, "across": across}
        return self.library.init(payload_json, mode, cache=self._cache, **parameters)

    def close(self) -> None:
        self.library.token_trie_cache_free(self._cache)


class CompiledSpan(Position):
    """A sampler of C++, and the same position in Python, from which a session reads forced
    tokens."""

    def __init__(self, pointer: int, tries: tuple[FlatTrie, ...]) -> None:
        super().__init__(tries)
        self.pointer = pointer


@dataclass(frozen=True)
class Tries:
    """A payload and its tries, by path."""

    payload: Payload
    by_path: dict[str, FlatTrie]


def build_tries(payload: Payload) -> Tries:
    return Tries(payload, {d.path: FlatTrie(d.leaves) for d in payload.descriptors})


@dataclass
class TrieGeneration:
    """tokens; how many of them were forced; for each sampled token its time, and how many
    candidates the trie left (None outside a span).

    A forward pass was made for every token that was sampled, and for no other.
    """

    tokens: list[int] = field(default_factory=list)
    forced: int = 0
    valid: list[int | None] = field(default_factory=list)
    sampler_ns: list[int] = field(default_factory=list)
    decode_ns: list[int] = field(default_factory=list)

    @property
    def passes(self) -> int:
        return len(self.sampler_ns)


Progress = Callable[[NDArray[np.float32]], None]


class Session:
    """One sequence of a model with a chain. model_id: what payloads must be for; "" takes any.

    chain: selects a token; the trie goes in behind its leading stages of BEFORE_TRIE. cache: of
    payloads, by default the session's own. compiled: whose samplers replace Python's in the chain;
    it needs the installed llama.cpp. Raises InputError, ChainError.
    """

    def __init__(
        self,
        worker: Worker,
        path: Path,
        chain: ChainSpec,
        n_tokens: int = 1024,
        model_id: str = "",
        cache: TrieCache[Tries] | None = None,
        compiled: CompiledTries | None = None,
    ) -> None:
        self.library, self.model_id, self.compiled = worker.library, model_id, compiled
        self.model = Model(worker.library, path)
        spec = complete(chain, self.model.n_vocab)
        self._built = worker.build(spec, self.model.n_vocab, str(path))
        names = [name for stage in spec for name in stage]
        leading = (i for i, name in enumerate(names) if name not in BEFORE_TRIE)
        self._head = next(leading, len(names))
        self._n_tail = len(names) - self._head
        self._aside: list[int] = []  # the stages behind the trie, while mode 0 does without them
        self.cache = cache if cache is not None else TrieCache(build_tries)
        self.trie: NativeTrie | CompiledSpan | None = None
        self._key = ""
        self.context = Context(self.model, min(n_tokens, self.model.n_context))
        self.pending: list[int] = []

    @property
    def chain(self) -> int:
        """Return the llama_sampler_chain."""
        return self._built.chain

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Tokenize as llama.cpp does. special: add the tokens that begin a text, and read special
        tokens by name."""
        data = text.encode()
        vocab = self.library.llama_model_get_vocab(self.model.model)
        room = (ctypes.c_int32 * (len(data) + 2))()
        arguments = (vocab, data, len(data), room, len(room), special, special)
        return list(room[: self.library.llama_tokenize(*arguments)])

    def prefill(self, tokens: list[int]) -> None:
        """Accept and decode a prompt, all but its last token, which waits."""
        self.model.check(self.model.n_vocab, tokens)
        for token in tokens:
            self._accept(token)
        if len(self.pending) > 1:
            self.context.decode(self.pending[:-1])
            del self.pending[:-1]

    def set_token_trie(
        self, payload_json: str, mode: int, path: str = "", across: bool = False
    ) -> None:
        """Open a span; across: at its leaf's end open the next descriptor's, to the last. A span
        that is open ends before. Raises ChainError for an invalid payload, and then changes
        nothing."""
        key, tries = self.cache.acquire(payload_json)
        try:
            tries.payload.check(self.model.n_vocab, self.model_id)
            descriptors = tries.payload.onward(path)
            nodes = tuple(tries.by_path[descriptor.path] for descriptor in descriptors)
            if mode not in (0, 1):
                raise InputError("token trie", f"mode {mode!r}", "0 is argmax, 1 is sampled")
            nodes = nodes if across else nodes[:1]
            trie: NativeTrie | CompiledSpan
            if self.compiled is None:
                trie = NativeTrie(self.library, nodes[0], mode, compact=True, behind=nodes[1:])
            else:
                pointer = self.compiled.sampler(payload_json, mode, True, path, across)
                trie = CompiledSpan(pointer, nodes)
        except Exception:
            self.cache.release(key)
            raise
        self.clear_token_trie()
        self._key, self.trie = key, trie
        self._aside = self._remove_tail()
        self.library.llama_sampler_chain_add(self.chain, trie.pointer)
        if mode == 1:
            self._restore_tail()

    def clear_token_trie(self) -> None:
        """End the span, if one is open."""
        if self.trie is None:
            return
        removed = self.library.llama_sampler_chain_remove(self.chain, self._head)
        self.library.llama_sampler_free(removed)
        self._restore_tail()
        self.cache.release(self._key)
        self.trie = None

    def generate(
        self,
        n: int,
        skip_ahead: bool = True,
        to_leaf: bool = False,
        progress: Progress | None = None,
    ) -> TrieGeneration:
        """Generate n further tokens. to_leaf: stop at the leaf of the open span. progress: called
        with the logits of every sampled token. Raises InputError if no child can be sampled."""
        generation = TrieGeneration()
        while len(generation.tokens) < n:
            trie = self.trie
            forced = trie.trie.forced(trie.node) if trie and trie.constrains and skip_ahead else []
            if forced:
                for token in forced[: n - len(generation.tokens)]:
                    self._accept(token)
                    generation.tokens.append(token)
                    generation.forced += 1
            else:
                self._sample(generation, progress)
            if trie is not None and not trie.constrains:
                self.clear_token_trie()
                if to_leaf:
                    break
        return generation

    def _sample(self, generation: TrieGeneration, progress: Progress | None) -> None:
        if not self.pending:
            raise InputError("session", "has no tokens to continue from", "prefill a prompt first")
        start = time.perf_counter_ns()
        row = self.context.decode(self.pending)
        decoded = time.perf_counter_ns()
        if progress is not None:
            progress(row)
        trie = self.trie
        constrained = trie is not None and trie.constrains
        # the node before this token: `follow` moves it
        nodes, node = (trie.trie, trie.node) if trie is not None else (None, 0)
        sampling = time.perf_counter_ns()
        token = int(self.library.llama_sampler_sample(self.chain, self.context.pointer, -1))
        generation.sampler_ns.append(time.perf_counter_ns() - sampling)
        generation.decode_ns.append(decoded - start)
        self.pending = [token]
        for sampler in self._aside:
            self.library.llama_sampler_accept(sampler, token)
        if trie is not None:
            trie.follow(token)
        generation.valid.append(len(nodes.children(node)) if nodes and constrained else None)
        if nodes and constrained and nodes.child(node, token) is None:
            self.clear_token_trie()
            problem = "none of the tokens that may follow has a logit above -inf"
            raise InputError("token trie", problem, "do not ban all of them")
        generation.tokens.append(token)

    def _accept(self, token: int) -> None:
        for sampler in (self.chain, *self._aside):
            self.library.llama_sampler_accept(sampler, token)
        if self.trie is not None:
            self.trie.follow(token)
        self.pending.append(token)

    def rewind(self, length: int) -> None:
        """Return to the first tokens that were decoded; reset the chain and end the span."""
        self.clear_token_trie()
        memory = self.library.llama_get_memory(self.context.pointer)
        if not self.library.llama_memory_seq_rm(memory, 0, length, -1):
            raise InputError(
                self.model.path, "cannot remove tokens from its context", "use another model"
            )
        self.context.length = length
        self.library.llama_sampler_reset(self.chain)
        self.pending = []

    def _remove_tail(self) -> list[int]:
        remove = self.library.llama_sampler_chain_remove
        return [int(remove(self.chain, self._head)) for _ in range(self._n_tail)]

    def _restore_tail(self) -> None:
        for sampler in self._aside:
            self.library.llama_sampler_chain_add(self.chain, sampler)
        self._aside = []

    def close(self) -> None:
        self.clear_token_trie()
        self.context.close()


def payload_of(model_id: str, path: str, leaves: dict[str, list[int]]) -> dict[str, Any]:
    """Return a TokenTreePayload with one descriptor, to be written as JSON."""
    listed = [{"name": name, "tokens": tokens} for name, tokens in leaves.items()]
    return {"modelId": model_id, "descriptors": [{"path": path, "leaves": listed}]}
