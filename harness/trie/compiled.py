"""The compiled trie in a session's chain, with a cache of its own."""

from sampler_parity.harness.llama_cpp.compiled_trie import CompiledTrie
from sampler_parity.harness.llama_cpp.token_trie import FlatTrie, Position


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
