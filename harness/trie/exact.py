"""The effect of constraint on the distribution over the leaves, by walking every spelling of every
leaf.

The model's own distribution over the leaves is conditional: p(leaf) is the product of its tokens'
probabilities, divided by the sum over the leaves. Masking token by token divides at every step
instead, which is another distribution: a prefix is taken for what its next token weighs, whatever
can still follow. Skipping forced tokens changes nothing more, for a lone child has probability 1.

The trie spells each leaf in one way; a grammar takes every sequence of tokens with the same text.
So there are two conditionals: over the leaves as the trie spells them, and over the texts.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from sampler_parity.harness.llama_cpp.decode import Context
from sampler_parity.harness.protocol.measured import LeafDivergence
from sampler_parity.reference.trie import Leaf, Node
from sampler_parity.reference.vocab import Vocab

MOST_SPELLINGS = 1000  # each costs some forward passes


def pieces_of(vocab: Vocab) -> dict[bytes, list[int]]:
    """Return the tokens of each text. Special tokens have no text and are left out."""
    tokens: dict[bytes, list[int]] = defaultdict(list)
    for token in range(len(vocab)):
        piece = vocab.piece(token)
        if piece:
            tokens[piece].append(token)
    return dict(tokens)


def spellings(text: bytes, pieces: dict[bytes, list[int]]) -> Iterator[tuple[int, ...]]:
    """Yield every sequence of tokens with this text."""
    if not text:
        yield ()
    for end in range(1, len(text) + 1):
        for token in pieces.get(text[:end], ()):
            for rest in spellings(text[end:], pieces):
                yield (token, *rest)


def count_spellings(text: bytes, pieces: dict[bytes, list[int]]) -> int:
    @cache
    def count(at: int) -> int:
        if at == len(text):
            return 1
        ends = range(at + 1, len(text) + 1)
        return sum(len(pieces.get(text[at:end], ())) * count(end) for end in ends)

    return count(0)


def divergences(
    context: Context, vocab: Vocab, prompt: list[int], leaves: tuple[Leaf, ...]
) -> LeafDivergence:
    """Compute how far the masks move the distribution after this prompt. The context must be empty,
    and is empty afterwards."""
    pieces = pieces_of(vocab)
    texts = [b"".join(vocab.piece(t) for t in leaf.tokens) for leaf in leaves]
    n = sum(count_spellings(text, pieces) for text in texts)
    beyond = (n - len(leaves)) / n
    if n > MOST_SPELLINGS:
        return LeafDivergence(kl_trie=None, kl_grammar=None, spellings=n, beyond_trie=beyond)
    root = Node()
    for i, text in enumerate(texts):
        for tokens in spellings(text, pieces):
            node = root
            for token in tokens:
                node = node.children.setdefault(token, Node())
            node.leaf = str(i)
    prefixes = {leaf.tokens[:k] for leaf in leaves for k in range(1, len(leaf.tokens) + 1)}
    walk = _Walk(context, len(leaves), prefixes)
    walk.node(root, prompt, (), _Weights(0.0, 0.0, 0.0))
    return LeafDivergence(
        kl_trie=divergence(walk.leaf, walk.by_trie),
        kl_grammar=divergence(walk.text, walk.by_grammar),
        spellings=n,
        beyond_trie=beyond,
    )


def divergence(weights: Any, probabilities: Any) -> float:
    """Return KL(weights || probabilities) in nats; the weights are normalized here."""
    p = np.asarray(weights, np.float64)
    p = p / p.sum()
    q = np.asarray(probabilities, np.float64)
    held = p > 0
    with np.errstate(divide="ignore"):
        nats = float((p[held] * (np.log(p[held]) - np.log(q[held]))).sum())
    return max(nats, 0.0)  # below 0 only by rounding


@dataclass(frozen=True)
class _Weights:
    """Logarithms of a prefix's probability: the model's, under the trie, under the grammar."""

    model: float
    trie: float
    grammar: float


class _Walk:
    def __init__(self, context: Context, n: int, prefixes: set[tuple[int, ...]]) -> None:
        self.context, self.own = context, prefixes
        self.leaf, self.by_trie, self.text, self.by_grammar = (np.zeros(n) for _ in range(4))

    def node(self, node: Node, new: list[int], prefix: tuple[int, ...], so_far: _Weights) -> None:
        """Visit a node. new: the tokens to decode for its logits."""
        if node.leaf is not None:
            i = int(node.leaf)
            self.text[i] += np.exp(so_far.model)
            self.by_grammar[i] += np.exp(so_far.grammar)
            if prefix in self.own:
                self.leaf[i] += np.exp(so_far.model)
                self.by_trie[i] += np.exp(so_far.trie)
            return
        length = self.context.length
        row = self.context.decode(new).astype(np.float64)
        row = row - np.logaddexp.reduce(row)
        tokens = list(node.children)
        mine = [t for t in tokens if (*prefix, t) in self.own]
        by_grammar = np.logaddexp.reduce(row[tokens])
        by_trie = np.logaddexp.reduce(row[mine]) if mine else 0.0
        for token in tokens:
            further = _Weights(
                so_far.model + row[token],
                so_far.trie + row[token] - by_trie,
                so_far.grammar + row[token] - by_grammar,
            )
            self.node(node.children[token], [token], (*prefix, token), further)
        self._back(length)

    def _back(self, length: int) -> None:
        library = self.context.library
        memory = library.llama_get_memory(self.context.pointer)
        library.llama_memory_seq_rm(memory, 0, length, -1)
        self.context.length = length
