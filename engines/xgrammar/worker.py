"""xgrammar (the extra `xgrammar`): GBNF unchanged, because its EBNF is meant to be GBNF."""

import functools
import importlib
import importlib.metadata
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.grammars import engine
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.reference import Vocab

_PLACE = re.compile(r"^\[[\d:]+\] \S*/")  # the time, and the folder it was compiled in


@functools.cache
def library() -> Any:
    """Import xgrammar. Raises Unsupported if it is not installed."""
    try:
        module = importlib.import_module("xgrammar")
    except ImportError:
        extra = "pip install sampler-parity[xgrammar]"
        raise Unsupported(f"xgrammar or torch is not installed: {extra}") from None
    importlib.import_module("torch").set_num_threads(1)
    return module


@functools.cache
def compiler_of(vocab: Vocab) -> Any:
    """Make a compiler with one thread and no cache, which would hide a grammar's cost."""
    info = library().TokenizerInfo(
        list(vocab.pieces), library().VocabType.RAW, stop_token_ids=sorted(vocab.eog)
    )
    return library().GrammarCompiler(info, max_threads=1, cache_enabled=False)


class Matcher:
    def __init__(self, matcher: Any, n_vocab: int) -> None:
        self.matcher, self.n_vocab = matcher, n_vocab
        self.mask = library().allocate_token_bitmask(1, n_vocab)

    def allowed(self) -> NDArray[np.bool_]:
        try:
            self.matcher.fill_next_token_bitmask(self.mask)
        except RuntimeError as error:
            raise refusal(error) from None
        words = self.mask.numpy()[0].view(np.uint8)
        return np.unpackbits(words, count=self.n_vocab, bitorder="little").view(np.bool_)

    def accept(self, token: int) -> bool:
        return bool(self.matcher.accept_token(token))

    def reset(self) -> None:
        self.matcher.reset()

    def clone(self) -> "Matcher":
        return Matcher(self.matcher.fork(), self.n_vocab)


def refusal(error: RuntimeError) -> InputError:
    return InputError("xgrammar", _PLACE.sub("", " ".join(str(error).split())))


class Worker(engine.Worker):
    name = "xgrammar"

    def library_version(self) -> str:
        library()
        version = importlib.metadata.version
        return f"xgrammar {version('xgrammar')}, torch {version('torch')}"

    def ebnf_of(self, grammar_str: str, grammar_root: str, vocab: Vocab) -> tuple[str, str]:
        """Return the text and the name of its root."""
        return grammar_str, grammar_root

    def matcher(self, grammar_str: str, grammar_root: str, vocab: Vocab) -> Matcher:
        text, root = self.ebnf_of(grammar_str, grammar_root, vocab)
        try:
            read = library().Grammar.from_ebnf(text, root_rule_name=root)
            compiled = compiler_of(vocab).compile_grammar(read)
        except RuntimeError as error:
            raise refusal(error) from None
        return Matcher(library().GrammarMatcher(compiled), len(vocab))
