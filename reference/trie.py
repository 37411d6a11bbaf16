"""The token trie of a `TokenTreePayload`: reading the JSON, the tries in it, and their cache.

    {"modelId": "...", "descriptors": [{"path": "action", "leaves": [{"name": "THINK",
     "tokens": [100, 101]}, ...]}, ...]}

Each descriptor is a trie of its own: leaves that begin alike share their nodes. Refused, with the
place in the payload: anything that is not this JSON, a descriptor without leaves, a path twice, a
name twice in a descriptor, the same tokens twice, a leaf of more than MAX_LEAF tokens, a token
outside the vocabulary. A leaf that is a prefix of another is refused, too: only the longer one can
continue, so the shorter could never be chosen. End every leaf with the token that closes it.

Source: the seed document of the token-trie sampler, as docs/background/token-trie.md reads it.
Tests: tests/reference/test_token_trie_payload.py, tests/reference/test_token_trie_cache.py
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from sampler_parity.reference.errors import ChainError

T = TypeVar("T")

MAX_LEAF = 500  # tokens; a span of more would run into the safety reset
CACHE_SIZE = 128


@dataclass(frozen=True)
class Leaf:
    name: str
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Descriptor:
    path: str
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class Payload:
    """A payload that was found right, all but the size of the vocabulary."""

    model_id: str
    descriptors: tuple[Descriptor, ...]

    @cached_property
    def largest_token(self) -> int:
        return max(max(leaf.tokens) for d in self.descriptors for leaf in d.leaves)

    def check(self, n_vocab: int | None, model_id: str = "") -> None:
        """Raise ChainError for another model's payload and for tokens beyond n_vocab. Not part of
        reading, because a cached payload meets other models."""
        if model_id and self.model_id != model_id:
            raise ChainError(f"modelId: is for {self.model_id!r}, the model is {model_id!r}")
        if n_vocab is None or self.largest_token < n_vocab:
            return
        for i, descriptor in enumerate(self.descriptors):
            for j, leaf in enumerate(descriptor.leaves):
                if max(leaf.tokens) >= n_vocab:
                    at = next(k for k, token in enumerate(leaf.tokens) if token >= n_vocab)
                    location = f"descriptors[{i}].leaves[{j}].tokens[{at}]"
                    raise ChainError(f"{location}: the vocabulary has no token {leaf.tokens[at]}")

    def onward(self, path: str) -> tuple[Descriptor, ...]:
        """Return the descriptor with this path, and those behind it. Raises ChainError."""
        return self.descriptors[self.descriptors.index(self.descriptor(path)) :]

    def descriptor(self, path: str) -> Descriptor:
        """Return the descriptor with this path; "" names the first. Raises ChainError."""
        if not path:
            return self.descriptors[0]
        for descriptor in self.descriptors:
            if descriptor.path == path:
                return descriptor
        paths = ", ".join(d.path for d in self.descriptors)
        raise ChainError(f"unknown path {path!r}. The payload has: {paths}")


@dataclass(slots=True)
class Node:
    """children: next token -> node. leaf: the name of the leaf that ends here, or None."""

    children: dict[int, "Node"] = field(default_factory=dict)
    leaf: str | None = None

    @property
    def unique_continuation(self) -> bool:
        """Whether exactly one token can follow."""
        return len(self.children) == 1 and self.leaf is None

    def forced(self) -> tuple[int, ...]:
        """Return the tokens that must follow, up to the next choice or the end of the leaf."""
        node, tokens = self, []
        while node.unique_continuation:
            ((token, node),) = node.children.items()
            tokens.append(token)
        return tuple(tokens)


def build_trie(leaves: tuple[Leaf, ...]) -> Node:
    """Build a trie and return its root. Raises ChainError if a leaf is a prefix of another."""
    root = Node()
    for leaf in leaves:
        node = root
        for token in leaf.tokens:
            if node.leaf is not None:
                raise _prefix(node.leaf, leaf.name)
            node = node.children.setdefault(token, Node())
        if node.leaf is not None:
            raise ChainError(f"leaves {node.leaf!r} and {leaf.name!r} have the same tokens")
        if node.children:
            raise _prefix(leaf.name, _first_leaf(node))
        node.leaf = leaf.name
    return root


def _prefix(short: str, long: str) -> ChainError:
    return ChainError(
        f"leaf {short!r} is a prefix of {long!r}: it could never be chosen; end each leaf with the"
        " token that closes it"
    )


def _first_leaf(node: Node) -> str:
    while node.leaf is None:
        node = next(iter(node.children.values()))
    return node.leaf


def count_nodes(root: Node) -> int:
    """Count the nodes, the root included."""
    todo, n = [root], 0
    while todo:
        node = todo.pop()
        n += 1
        todo += node.children.values()
    return n


def read_payload(text: str) -> Payload:
    """Read a payload. Raises ChainError with the place of the problem."""
    if not isinstance(text, str):
        raise ChainError(f"trie_descriptor_json must be JSON text, got {text!r:.40}")
    try:
        data = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except ChainError:
        raise
    except RecursionError:
        raise ChainError("trie_descriptor_json: nested too deeply") from None
    except ValueError as error:
        raise ChainError(f"trie_descriptor_json is not valid JSON: {error}") from None
    top = _table(data, "payload", ("modelId", "descriptors"))
    model_id = _text(top["modelId"], "modelId")
    descriptors = tuple(
        _descriptor(item, f"descriptors[{i}]")
        for i, item in enumerate(_list(top["descriptors"], "descriptors"))
    )
    _no_two([d.path for d in descriptors], "descriptors", "path")
    return Payload(model_id, descriptors)


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ChainError(f"trie_descriptor_json: duplicate key {twice!r} in an object")
    return table


def _no_constant(word: str) -> None:
    raise ChainError(f"trie_descriptor_json is not valid JSON: {word}")


def _descriptor(data: Any, location: str) -> Descriptor:
    table = _table(data, location, ("path", "leaves"))
    items = _list(table["leaves"], f"{location}.leaves")
    leaves = tuple(_leaf(item, f"{location}.leaves[{i}]") for i, item in enumerate(items))
    _no_two([leaf.name for leaf in leaves], f"{location}.leaves", "name")
    try:
        build_trie(leaves)
    except ChainError as error:
        raise ChainError(f"{location}: {error}") from None
    return Descriptor(_text(table["path"], f"{location}.path"), leaves)


def _leaf(data: Any, location: str) -> Leaf:
    table = _table(data, location, ("name", "tokens"))
    tokens = _list(table["tokens"], f"{location}.tokens")
    if len(tokens) > MAX_LEAF:
        raise ChainError(f"{location}.tokens: {len(tokens)} tokens, at most {MAX_LEAF} are allowed")
    for i, token in enumerate(tokens):
        if type(token) is not int or not 0 <= token < 2**31:
            raise ChainError(f"{location}.tokens[{i}]: {token!r:.40} is not a token id")
    return Leaf(_text(table["name"], f"{location}.name"), tuple(tokens))


def _table(data: Any, location: str, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ChainError(f"{location}: must be an object with {' and '.join(keys)}")
    for key in keys:
        if key not in data:
            raise ChainError(f"{location}: {key} is missing")
    unknown = sorted(set(data) - set(keys))
    if unknown:
        raise ChainError(f"{location}: unknown key {unknown[0]!r}; known: {', '.join(keys)}")
    return data


def _list(data: Any, location: str) -> list[Any]:
    if not isinstance(data, list) or not data:
        raise ChainError(f"{location}: must be a list that is not empty")
    return data


def _text(data: Any, location: str) -> str:
    if not isinstance(data, str) or not data:
        raise ChainError(f"{location}: must be a text that is not empty")
    return data


def _no_two(values: list[str], location: str, key: str) -> None:
    unique: set[str] = set()
    for i, value in enumerate(values):
        if value in unique:
            raise ChainError(f"{location}[{i}].{key}: duplicate {value!r}")
        unique.add(value)


def cache_key(text: str) -> str:
    """Return the SHA-256 of the given payload, modelId included: equal keys, equal tries."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass
class Entry(Generic[T]):
    """The value built from a payload, and how many samplers use it."""

    value: T
    users: int = 0


class TrieCache(Generic[T]):
    """Results of `build` for payloads, kept for their next use.

    Not locked: one for each session.

    Beyond `size` entries the least recently used one without users is dropped. If all are in use,
    the cache grows.
    """

    def __init__(self, build: Callable[[Payload], T], size: int = CACHE_SIZE) -> None:
        self.build, self.size = build, size
        self.entries: OrderedDict[str, Entry[T]] = OrderedDict()

    def key(self, text: str) -> str:
        return cache_key(text)

    def acquire(self, text: str) -> tuple[str, T]:
        """Return the key for its release, and the built value. Raises ChainError and then keeps
        nothing."""
        key = self.key(text)
        if key not in self.entries:
            self.entries[key] = Entry(self.build(read_payload(text)))
        entry = self.entries[key]
        entry.users += 1
        self.entries.move_to_end(key)
        self._drop()
        return key, entry.value

    def release(self, key: str) -> None:
        """Release a key once for each acquire. Raises ValueError for one too many."""
        entry = self.entries.get(key)
        if entry is None or entry.users == 0:
            raise ValueError(f"trie {key[:12]} is not in use")
        entry.users -= 1
        self._drop()

    def _drop(self) -> None:
        unused = [key for key, entry in self.entries.items() if entry.users == 0]
        # acquire moves a key to the end: the least recently used come first
        for key in unused[: max(0, len(self.entries) - self.size)]:
            del self.entries[key]
