"""Common code of the backends of other grammar engines: `grammar` is theirs, all else the
reference's.

An engine decides for every token whether it may follow; the others get logit -inf, as in llama.cpp.
It gets the vocabulary as llama.cpp's grammar reads it: the bytes of each token, the name of a
control token. All end-of-generation tokens end a text. An accepted one is not passed on, because
llama.cpp's grammar keeps its state and the engines would be finished.
docs/background/grammar-engines.md has all differences.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends import reference
from sampler_parity.harness.protocol.messages import HelloReply
from sampler_parity.reference import SAMPLERS, Candidates, ChainError, Sampler, Vocab
from sampler_parity.reference.samplers.grammar import Grammar


class Matcher(Protocol):
    """A grammar of an engine, and the position of a text in it. Raises InputError."""

    def allowed(self) -> NDArray[np.bool_]:
        """Return for every token whether it may follow."""

    def accept(self, token: int) -> bool:
        """Return whether it accepts the token; it is not called again after a refusal."""

    def reset(self) -> None: ...
    def clone(self) -> "Matcher": ...


class MaskedGrammar:
    name = "grammar"

    def __init__(self, matcher: Matcher, vocab: Vocab) -> None:
        self.matcher, self.vocab = matcher, vocab
        self.refused = False

    def apply(self, cand: Candidates) -> None:
        if self.refused:
            allowed = np.zeros(len(cand), np.bool_)
        else:
            allowed = self.matcher.allowed()[cand.ids]
        cand.logits = np.where(allowed, cand.logits, cand.logits.dtype.type(-np.inf))

    def accept(self, token: int) -> None:
        if token not in self.vocab.eog and not self.refused:
            self.refused = not self.matcher.accept(token)

    def reset(self) -> None:
        self.matcher.reset()
        self.refused = False

    def clone(self) -> "MaskedGrammar":
        twin = MaskedGrammar(self.matcher.clone(), self.vocab)
        twin.refused = self.refused
        return twin


class Worker(reference.Worker):
    """Worker of a grammar engine: `name`, its `hello`, and how it makes a Matcher."""

    name: str

    def __init__(self) -> None:
        self.samplers = dict(SAMPLERS) | {"grammar": self.grammar}
        del self.samplers["grammar_lazy_patterns"]  # neither engine waits for llama.cpp's triggers

    def library_version(self) -> str:
        """Return the library's version. Raises Unsupported if it is not installed."""
        raise NotImplementedError

    def matcher(self, grammar_str: str, grammar_root: str, vocab: Vocab) -> Matcher:
        """Make a matcher. Raises InputError for what the engine refuses, Unsupported for what it
        lacks."""
        raise NotImplementedError

    def hello(self) -> HelloReply:
        return HelloReply(
            name=self.name,
            version=self.library_version(),
            capabilities=["run", "draws", "time"],
            samplers=sorted(self.samplers),
        )

    def grammar(
        self, grammar_str: str, grammar_root: str = "root", vocab: Vocab | None = None
    ) -> Sampler:
        if vocab is None:
            raise ChainError("grammar needs a vocabulary (vocab)")
        if not grammar_str:
            return Grammar(grammar_str, grammar_root, vocab)  # constrains nothing
        return MaskedGrammar(self.matcher(grammar_str, grammar_root, vocab), vocab)
