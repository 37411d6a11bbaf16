"""Many sequences in one context of libllama, as a server's slots: they join, leave and are copied
while others go on.

In the graph each slot has the chain that joined it there. The model's logits then come from a
second context without chains, which decodes the same batches (docs/background/in-graph.md).
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp.candidates import NativeCandidates
from sampler_parity.harness.llama_cpp.chain import NativeChain
from sampler_parity.harness.llama_cpp.decode import Context, Further, Model, handed_back
from sampler_parity.harness.protocol.interface import Result
from sampler_parity.harness.protocol.messages import ChainSpec, SequencesReply, SequencesRequest
from sampler_parity.harness.protocol.sequences import SequencesStep, SlotChange


class Native(Protocol):
    """The methods of llama_cpp.worker.Worker that slots need."""

    def build(self, chain: ChainSpec, n_vocab: int, vocab: str | None) -> NativeChain: ...

    def candidates(self, logits: NDArray[np.float32]) -> NativeCandidates: ...

    def model_of_sequences(self, request: SequencesRequest) -> Model: ...


@dataclass
class Slot:
    """A sequence of the context. further: the tokens to be decoded next. length: those that are in
    its memory. forced: what follows in place of sampled tokens."""

    chain: NativeChain
    further: list[int]
    forced: list[int]
    length: int = 0


@dataclass
class Slots:
    """The slots of the contexts, by number. graph: the context whose graph samples, if one does."""

    worker: Native
    request: SequencesRequest
    plain: Context
    graph: Context | None
    slots: dict[int, Slot] = field(default_factory=dict)
    in_graph: list[int] = field(default_factory=list)
    ns: int = 0

    @property
    def contexts(self) -> list[Context]:
        return [self.plain, *([self.graph] if self.graph else [])]

    def change(self, change: SlotChange) -> None:
        slot = change.slot
        if change.do == "join":
            self.slots[slot] = self.joined(change.text or 0)
            self._put(slot)
            if self.graph:
                self.in_graph[change.text or 0] = self.slots[slot].chain.in_graph()
        elif change.do == "copy":
            self.slots[slot] = self.copied(change.other or 0, slot)
            self._put(slot)
        elif change.do == "reset":
            self.slots[slot].chain.reset()
        else:
            self.left(slot)

    def joined(self, text: int) -> Slot:
        request = self.request.texts[text]
        chain = self.worker.build(request.chain, self.request.n_vocab, self.request.model)
        # before it is decoded: in the graph, penalties look at it then
        for token in request.prompt:
            chain.accept(token)
        return Slot(chain, list(request.prompt), list(request.forced))

    def copied(self, source: int, target: int) -> Slot:
        """Return a copy: its memory, and a clone of its chain."""
        for context in self.contexts:
            context.copy_sequence(source, target)
        slot = self.slots[source]
        return Slot(slot.chain.clone(), list(slot.further), list(slot.forced), slot.length)

    def left(self, slot: int) -> None:
        for context in self.contexts:
            context.remove_sequence(slot)
        if self.graph:
            self.graph.set_sampler(slot, None)
        del self.slots[slot]

    def _put(self, slot: int) -> None:
        if self.graph:
            self.graph.set_sampler(slot, self.slots[slot].chain.chain)

    def take(
        self, step: SequencesStep, rows: NDArray[np.float32]
    ) -> tuple[list[int], list[Result]]:
        """Return the tokens of a step in sampling order, and the candidates that the graph returned
        for each. rows: filled with their logits."""
        for change in step.before:
            self.change(change)
        outputs = self.decode(step.batch)
        for row, slot in zip(rows, step.sample, strict=True):
            row[:] = self.plain.row(outputs[slot])
        results = [handed_back(self.graph, outputs[slot]) for slot in step.sample if self.graph]
        tokens = self.tokens(step.sample, outputs, rows)
        for slot, token in zip(step.sample, tokens, strict=True):
            self.slots[slot].further = [token]
        return tokens, results

    def decode(self, batch: list[int]) -> dict[int, int]:
        """Decode the next tokens of these slots; return the place of each output in the batch."""
        slots = [(number, self.slots[number]) for number in batch]
        parts = [Further(number, slot.length, slot.further) for number, slot in slots]
        for context in self.contexts:
            # both contexts: the graph of one may sample, the plain one has the logits
            context.decode_together(parts)
        for _, slot in slots:
            slot.length += len(slot.further)
        ends = np.cumsum([len(part.tokens) for part in parts])
        return {number: int(end) - 1 for number, end in zip(batch, ends, strict=True)}

    def tokens(
        self, sample: list[int], outputs: dict[int, int], rows: NDArray[np.float32]
    ) -> list[int]:
        start = time.perf_counter_ns()
        if self.request.threads == 1:
            tokens = [self.sample(slot, outputs[slot]) for slot in sample]
        else:
            with ThreadPoolExecutor(self.request.threads) as pool:
                tokens = list(pool.map(self.sample_apart, sample, rows))
        self.ns += time.perf_counter_ns() - start
        return tokens

    def sample(self, number: int, output: int) -> int:
        """Sample from an output by llama_sampler_sample, which accepts the token that it
        selects."""
        slot = self.slots[number]
        if slot.forced:
            return self._forced(slot)
        return (self.graph or self.plain).sample(slot.chain, output)

    def sample_apart(self, number: int, row: NDArray[np.float32]) -> int:
        """Sample from a copy of the candidates, for threads: only one thread at a time may use a
        context. The native call lets other threads of Python run."""
        slot = self.slots[number]
        if slot.forced:
            return self._forced(slot)
        candidates = self.worker.candidates(row)
        slot.chain.apply(None, candidates)
        token = int(candidates.current()["id"][candidates.array.selected])
        slot.chain.accept(token)
        return token

    def _forced(self, slot: Slot) -> int:
        token = slot.forced.pop(0)
        slot.chain.accept(token)
        return token


def follow(
    worker: Native, request: SequencesRequest, rows: NDArray[np.float32], in_graph: bool = False
) -> tuple[SequencesReply, list[Result]]:
    """Execute the steps. in_graph: put the chains into the model's graph. Raises InputError for a
    bad model, Unsupported."""
    if in_graph and (request.threads > 1 or any(text.forced for text in request.texts)):
        raise Unsupported("neither samples in threads nor takes tokens that are forced")
    model = worker.model_of_sequences(request)
    with _contexts(model, request, 1 + in_graph) as contexts:
        graph = contexts[1] if in_graph else None
        return take_all(Slots(worker, request, contexts[0], graph), rows)


def take_all(slots: Slots, rows: NDArray[np.float32]) -> tuple[SequencesReply, list[Result]]:
    """Execute the steps of the request one after the other."""
    slots.in_graph = [0] * len(slots.request.texts)
    tokens: list[int] = []
    results: list[Result] = []
    for step in slots.request.steps:
        further = slots.take(step, rows[len(tokens) : len(tokens) + len(step.sample)])
        tokens += further[0]
        results += further[1]
    return SequencesReply(tokens=tokens, ns=slots.ns, in_graph=slots.in_graph), results


@contextmanager
def _contexts(model: Model, request: SequencesRequest, n: int) -> Iterator[list[Context]]:
    longest = max(len(text.prompt) for text in request.texts) + len(request.steps)
    with ExitStack() as stack:
        contexts = [Context(model, longest, sequences=request.slots) for _ in range(n)]
        for context in contexts:
            stack.callback(context.close)
        yield contexts
