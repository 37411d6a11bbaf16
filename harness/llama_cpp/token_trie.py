"""The token trie as a llama_sampler of our own in llama.cpp's native chain.

llama.cpp calls the functions of a `llama_sampler_i`; here they are Python functions behind ctypes.
The trie lies in flat arrays, and while the candidates stand in the order of their ids, which is how
llama.cpp makes them, the children are found without a look at the others.
docs/background/token-trie.md describes both versions, masking and compacting.
"""

import ctypes
import itertools
import logging
from ctypes import CFUNCTYPE, POINTER, Structure, c_int32, c_void_p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.llama_cpp import worker
from sampler_parity.harness.llama_cpp.candidates import TOKEN_DATA, TokenDataArray
from sampler_parity.harness.llama_cpp.libllama import Libllama
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.reference import ChainError
from sampler_parity.reference.samplers.token_trie import LIMIT, SPAN_TOO_LONG
from sampler_parity.reference.trie import Leaf, read_payload

_NAME = CFUNCTYPE(c_void_p, c_void_p)  # an address: ctypes would leak a string at every call
_ACCEPT = CFUNCTYPE(None, c_void_p, c_int32)
_APPLY = CFUNCTYPE(None, c_void_p, POINTER(TokenDataArray))
_CHANGE = CFUNCTYPE(None, c_void_p)
_CLONE = CFUNCTYPE(c_void_p, c_void_p)

_log = logging.getLogger(__name__)


class Interface(Structure):
    """llama_sampler_i of v0.5.0; what a graph would call stays null."""

    _fields_ = (
        ("name", _NAME),
        ("accept", _ACCEPT),
        ("apply", _APPLY),
        ("reset", _CHANGE),
        ("clone", _CLONE),
        ("free", _CHANGE),
        ("_in_graph", c_void_p * 6),
    )


class FlatTrie:
    """Node 0 is the root; the children of node i are the edges start[i] .. start[i + 1].

    tokens: int32, the token of each edge, ascending within a node. node[edge] is where it leads.
    """

    def __init__(self, leaves: tuple[Leaf, ...]) -> None:
        rows = sorted(leaf.tokens for leaf in leaves)
        tokens: list[int] = []
        node: list[int] = []
        start = [0]
        # breadth first: a node is a range of sorted leaves and how many tokens they have in common
        nodes = [(0, len(rows), 0)]
        for low, high, depth in nodes:
            first: dict[int, list[int]] = {}
            for i in range(low, high):
                if len(rows[i]) > depth:
                    first.setdefault(rows[i][depth], []).append(i)
            for token, children in first.items():
                tokens.append(token)
                node.append(len(nodes))
                nodes.append((children[0], children[-1] + 1, depth + 1))
            start.append(len(tokens))
        self.tokens = np.array(tokens, np.int32)
        self.node, self.start = node, start

    def children(self, node: int) -> NDArray[np.int32]:
        return self.tokens[self.start[node] : self.start[node + 1]]

    def child(self, node: int, token: int) -> int | None:
        children = self.children(node)
        at = int(np.searchsorted(children, token))
        if at == len(children) or children[at] != token:
            return None
        return self.node[self.start[node] + at]

    def forced(self, node: int) -> list[int]:
        """Return the tokens that must follow a node, up to the next choice or the end of the
        leaf."""
        tokens = []
        while self.start[node + 1] - self.start[node] == 1:
            tokens.append(int(self.tokens[self.start[node]]))
            node = self.node[self.start[node]]
        return tokens

    @property
    def nbytes(self) -> int:
        """The size of the arrays in C, int32 each."""
        return 4 * (len(self.tokens) + len(self.node) + len(self.start))


class Position:
    """The place of a text in a trie, or in one of the tries that open at the end of each other."""

    def __init__(self, tries: tuple[FlatTrie, ...]) -> None:
        self.tries = tries
        self._go_to(0, active=True)

    def _go_to(self, span: int, active: bool) -> None:
        self.span, self.trie = span, self.tries[span]
        self.node, self.active, self.age = 0, active, 0

    @property
    def constrains(self) -> bool:
        """Return whether apply masks now: the span is open and something can follow."""
        return self.active and self.trie.start[self.node + 1] > self.trie.start[self.node]

    def accept(self, token: int) -> None:
        child = self.trie.child(self.node, token)
        if child is None:
            self.active = False
            child = self.trie.child(0, token) or 0
        self.node = child
        self.age += 1
        if self.active and not self.constrains and self.span + 1 < len(self.tries):
            self._go_to(self.span + 1, active=True)
        self.active = self.constrains
        if self.age == LIMIT:
            _log.warning(SPAN_TOO_LONG, LIMIT)
            self.reset()

    def follow(self, token: int) -> None:
        """Follow a token that a chain has accepted."""
        self.accept(token)

    def reset(self) -> None:
        self._go_to(0, active=False)


class NativeTrie(Position):
    """One llama_sampler; a chain takes `pointer`, and frees it. behind: the tries of the spans that
    it opens by itself, one at the end of the other."""

    def __init__(
        self,
        library: Libllama,
        trie: FlatTrie,
        mode: int,
        compact: bool,
        behind: tuple[FlatTrie, ...] = (),
    ) -> None:
        if library.llama_sampler_init is None:
            raise Unsupported("this build of llama.cpp accepts no samplers from outside")
        super().__init__((trie, *behind))
        self.library, self.mode, self.compact = library, mode, compact
        handle = next(_handles)
        _living[handle] = self
        self.pointer: int = int(library.llama_sampler_init(ctypes.byref(_INTERFACE), handle))

    def apply(self, array: TokenDataArray) -> None:
        if not self.constrains or array.size == 0:
            return
        data = candidates_of(array)
        at = _positions(data["id"], self.trie.children(self.node))
        allowed = data[at]
        array.selected = -1
        if self.compact and (allowed["logit"] != -np.inf).any():
            data[: len(allowed)] = allowed
            array.size = len(allowed)
            at = np.arange(len(allowed))
        else:
            data["logit"] = -np.inf
            data["logit"][at] = allowed["logit"]
            array.sorted = False
        if self.mode == 0:
            array.selected = first_largest(data["logit"], at)

    def follow(self, token: int) -> None:
        """Follow a token: llama.cpp has called accept."""

    def clone(self) -> "NativeTrie":
        first, *behind = self.tries
        twin = NativeTrie(self.library, first, self.mode, self.compact, tuple(behind))
        twin.span, twin.trie = self.span, self.trie
        twin.node, twin.active, twin.age = self.node, self.active, self.age
        return twin


def candidates_of(array: TokenDataArray) -> NDArray[Any]:
    """Return the llama_token_data of an array, in place."""
    room = (ctypes.c_char * (array.size * TOKEN_DATA.itemsize)).from_address(array.data)
    return np.frombuffer(room, TOKEN_DATA)


def first_largest(logits: NDArray[np.float32], at: NDArray[Any]) -> int:
    """Return the first largest of the positions `at`; others are -inf, or behind the array's end.
    As llama.cpp's greedy: a NaN is never the largest, unless it is the very first; of equal logits
    the first, so position 0 if all are -inf."""
    possible = at[logits[at] > -np.inf]
    if np.isnan(logits[0]) or not len(possible):
        return 0
    return int(possible[np.argmax(logits[possible])])


def _positions(ids: NDArray[np.int32], children: NDArray[np.int32]) -> NDArray[Any]:
    """Return the positions of the children, ascending. If nothing was moved, a token's position is
    its id."""
    if children[-1] < len(ids) and (ids[children] == children).all():
        return children
    return np.flatnonzero(np.isin(ids, children))


# By the number that llama.cpp holds as their context. Numbers are never used twice.
_living: dict[int, NativeTrie] = {}
_handles = itertools.count(1)


def _of(sampler: int) -> NativeTrie:
    """Return the trie of a llama_sampler: its context, the second field behind the interface."""
    handle = c_void_p.from_address(sampler + ctypes.sizeof(c_void_p)).value
    assert handle is not None
    return _living[handle]


def _free(sampler: int) -> None:
    _living.pop(c_void_p.from_address(sampler + ctypes.sizeof(c_void_p)).value or 0, None)


# At module level, because llama.cpp calls them as long as a sampler lives.
_TEXT = ctypes.create_string_buffer(b"token_trie")
_INTERFACE = Interface(
    _NAME(lambda _sampler: ctypes.addressof(_TEXT)),
    _ACCEPT(lambda sampler, token: _of(sampler).accept(token)),
    _APPLY(lambda sampler, array: _of(sampler).apply(array.contents)),
    _CHANGE(lambda sampler: _of(sampler).reset()),
    _CLONE(lambda sampler: _of(sampler).clone().pointer),
    _CHANGE(_free),
)


class Worker(worker.Worker):
    """The native samplers and the trie among them."""

    def hello(self) -> HelloReply:
        hello = super().hello()
        samplers = sorted([*hello.samplers, "token_trie"])
        return hello.model_copy(update={"name": "token_trie", "samplers": samplers})

    def _init(self, stage: dict[str, dict[str, Any]], n_vocab: int, vocab: str | None) -> int:
        ((name, parameters),) = stage.items()
        if name != "token_trie":
            return super()._init(stage, n_vocab, vocab)
        if parameters["mode"] not in (0, 1):
            raise ChainError(f"mode must be in 0..1, got {parameters['mode']}")
        payload = read_payload(parameters["trie_descriptor_json"])
        payload.check(parameters["n_vocab"], parameters["model_id"])
        descriptors = payload.onward(parameters["path"])
        tries = [FlatTrie(descriptor.leaves) for descriptor in descriptors]
        behind = tuple(tries[1:]) if parameters.get("across") else ()
        compact = parameters["compact"]
        return NativeTrie(self.library, tries[0], parameters["mode"], compact, behind).pointer
