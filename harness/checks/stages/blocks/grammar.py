"""Blocks of a suite about grammars: `grammar` and `random_grammars`.

docs/background/grammar.md explains them. A case is a text, token by token. Before each token, and
after the last one, the set of tokens that the grammar leaves is compared."""

import functools
import random
import zlib
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from sampler_parity.harness.backends.engines import ENGINES
from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.checks.cases import case_from
from sampler_parity.harness.checks.grid import NamedBlock
from sampler_parity.harness.checks.stages.block import Script
from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.strict import Count, Random, Seed, Steps, Token, Tokens
from sampler_parity.harness.verdicts import Verdict
from sampler_parity.reference import Candidates, Chain, ChainError, UndefinedInputError, Vocab
from sampler_parity.reference.vocab import TokenType

_RULES = ("root", "a", "b", "c")
_LITERALS = (
    "a", "b", "ab", "abc", "hello", " world", "é", "ü", "…", "日本", "🙂", "1", "\\n", "\\x41",
    "\\u00e9", "\\U0001F642", "\\\\", '\\"', "",
)  # fmt: skip
_CLASSES = (
    "[a-z]", "[^a-z]", "[abc]", "[^\\n]", "[0-9]", "[é-ü]", "[^é]", "[a-]", "[\\]x]", ".",
    "[ぁ-ゟ]", "[^\\x00-\\x7F]", "[\\U00010000-\\U0010FFFF]", "[ \\t]",
)  # fmt: skip
_REPEATS = ("*", "+", "?", "{2}", "{0,2}", "{1,3}", "{2,}", "{0}")


def random_grammar(rng: random.Random, n_vocab: int) -> str:
    """Return GBNF text of up to four rules, which may be left-recursive or undefined."""
    rules = _RULES[: rng.randint(1, len(_RULES))]
    lines = []
    for i, name in enumerate(rules):
        # mostly rules further down, or most grammars would be left-recursive
        callable_rules = rules[i + 1 :] if rng.random() < 0.8 else rules
        lines.append(f"{name} ::= {_alternatives(rng, callable_rules, n_vocab, 2)}")
    return "\n".join(lines) + "\n"


def _alternatives(rng: random.Random, rules: tuple[str, ...], n_vocab: int, depth: int) -> str:
    sequences = (
        " ".join(_item(rng, rules, n_vocab, depth) for _ in range(rng.choice((0, 1, 1, 2, 2, 3))))
        for _ in range(rng.choice((1, 1, 2, 3)))
    )
    return " | ".join(sequences)


def _item(rng: random.Random, rules: tuple[str, ...], n_vocab: int, depth: int) -> str:
    kind = rng.random()
    if kind < 0.3:
        item = f'"{rng.choice(_LITERALS)}"'
        if item == '""':
            return item  # it cannot be repeated
    elif kind < 0.55:
        item = rng.choice(_CLASSES)
    elif kind < 0.65:
        item = f"{rng.choice(('', '!'))}<[{rng.randrange(n_vocab)}]>"
    elif kind < 0.8 and rules:
        item = rng.choice(rules)
    elif depth:
        item = f"({_alternatives(rng, rules, n_vocab, depth - 1)})"
    else:
        item = '"x"'
    return item + rng.choice(_REPEATS) if rng.random() < 0.35 else item


def usable_grammar(rng: random.Random, vocab: Vocab) -> str:
    """Return a random grammar that the reference accepts."""
    while True:
        text = random_grammar(rng, len(vocab))
        try:
            build_chain([{"grammar": {"grammar_str": text}}], vocab=vocab)
        except ChainError:
            continue
        return text


def walk(chain: Chain, vocab: Vocab, rng: random.Random, steps: int) -> list[int]:
    """Return up to steps tokens, each allowed by the chain. It ends with the first that ends a
    generation, or if no allowed token is accepted."""
    tokens: list[int] = []
    while len(tokens) < steps and not (tokens and tokens[-1] in vocab.eog):
        ids = allowed(chain, len(vocab))
        ends = [token for token in ids if token in vocab.eog]
        candidates = [token for token in ids if token not in vocab.eog]
        if ends and (not candidates or rng.random() < 0.1):
            candidates = ends
        token = _accepted(chain, rng.sample(candidates, min(8, len(candidates))))
        if token is None:
            break
        tokens.append(token)
    return tokens


def allowed(chain: Chain, n_vocab: int) -> list[int]:
    """Return the tokens that a chain leaves."""
    cand = Candidates.from_logits(np.zeros(n_vocab))
    chain.apply(cand)
    return [int(token) for token in cand.ids[cand.logits != -np.inf]]


def allows(chain: Chain, token: int) -> bool:
    """Return whether a chain leaves a token."""
    cand = Candidates.from_logits([0.0])
    cand.ids[0] = token
    chain.apply(cand)
    return bool(cand.logits[0] != -np.inf)


def _accepted(chain: Chain, tokens: Iterable[int]) -> int | None:
    """Accept and return the first token that the chain can accept; None if there is none."""
    for token in tokens:
        try:
            chain.clone().accept(token)
        except UndefinedInputError:  # allowed, but see docs/findings.md
            continue
        chain.accept(token)
        return token
    return None


Spelling = Literal["longest", "bytes"]
Text = Annotated[str, Field(max_length=limits.GRAMMAR)] | list[str | Token]

# of the quick profile: each vocabulary and each spelling once
_QUICK: dict[str, Spelling] = {"bpe": "longest", "spm": "bytes", "small": "longest"}
_QUICK_TEXTS = 2  # that are accepted, and as many that are not

_ENGINES = {row.name: row.grammars for row in ENGINES.values() if row.grammars}
_OF_LAZY: dict[str, list[Verdict]] = {name: ["unsupported"] for name in _ENGINES}


class Grammars(NamedBlock):
    """A grammar with texts that it accepts and texts that it does not.

    A text is a string, or a list of strings and token ids. Each is spelled in two ways: `longest`,
    from left to right the longest token that continues it, and `bytes`, a token for each byte.
    walks: random walks of up to walk_steps tokens. With triggers the sampler is
    grammar_lazy_patterns. requires: the verdicts of a backend, in place of the general ones.
    """

    grammar: str = Field(max_length=limits.GRAMMAR)
    """GBNF"""
    root: str = "root"
    """rule that a text begins with"""
    trigger_patterns: list[str] = []
    """triggers of `grammar_lazy_patterns`: regular expressions"""
    trigger_tokens: Tokens = []
    """triggers: token ids"""
    trigger_words: list[str] = []
    """triggers: words, in place of patterns"""
    accepted: list[Text] = []
    """texts that the grammar accepts: a string, or a list of strings and token ids"""
    rejected: list[Text] = []
    """texts that the grammar does not accept"""
    walks: Random = 0
    """number of random walks"""
    walk_steps: Steps = 12
    """most tokens of a walk"""
    vocabs: list[Literal["bpe", "spm", "small"]] = ["bpe", "spm"]
    """vocabularies"""
    scripts: list[Script] = ["plain", "reset", "clone"]
    requires: dict[str, list[Verdict]] = {}
    quick: bool = True

    @model_validator(mode="after")
    def _something(self) -> "Grammars":
        if not (self.accepted or self.rejected or self.walks):
            raise ValueError("give accepted, rejected or walks")
        return self

    def items(self, quick: bool) -> Iterator[Case]:
        """Yield the cases. Raises ValueError if the grammar does not accept or reject a text as
        expected."""
        if quick and not self.quick:
            return
        for name in self.vocabs:
            vocab = read_vocab(vocab_path(name))
            spellings: list[Spelling] = [_QUICK[name]] if quick else ["longest", "bytes"]
            for spelling in spellings:
                yield from self._texts(name, vocab, spelling, quick)
            for i in range(min(self.walks, 1) if quick else self.walks):
                rng = random.Random(zlib.crc32(f"{self.id} {name} {i}".encode()))
                tokens = walk(self._build(vocab), vocab, rng, self.walk_steps)
                yield from self._scripts(f"{name}-walk-{i}", name, len(vocab), tokens, {}, quick)

    def _texts(self, name: str, vocab: Vocab, spelling: Spelling, quick: bool) -> Iterator[Case]:
        for kind, texts in (("accepted", self.accepted), ("rejected", self.rejected)):
            for i, text in enumerate(texts[:_QUICK_TEXTS] if quick else texts):
                tokens = spell(text, vocab, spelling)
                fitting, refused = self._fitting(vocab, tokens)
                if (refused is None) != (kind == "accepted"):
                    raise ValueError(f"{kind}[{i}] {text!r} ({name}): the reference disagrees")
                expect = {
                    "allowed" if refused is None else "masked": [
                        vocab.eos if refused is None else refused
                    ]
                }
                point = f"{name}-{spelling}-{kind}-{i}"
                yield from self._scripts(point, name, len(vocab), fitting, expect, quick)

    def _fitting(self, vocab: Vocab, tokens: list[int]) -> tuple[list[int], int | None]:
        """Return the tokens before the first masked one, and that one; EOS is tried last."""
        chain = self._build(vocab)
        for i, token in enumerate([*tokens, vocab.eos]):
            if not allows(chain, token):
                return tokens[:i], token
            if i < len(tokens):
                chain.accept(token)
        return tokens, None

    def _scripts(
        self, point: str, vocab: str, n: int, tokens: list[int], expect: Any, quick: bool
    ) -> Iterator[Case]:
        few = quick and bool(expect) and not point.endswith("accepted-0")
        for script in self.scripts[:1] if few else self.scripts:
            if script != "plain" and len(tokens) < 2:
                continue
            yield _case(
                self, point, script, vocab, n, self._chain(), tokens,
                expect if script == "plain" else {}, self.requires,
            )  # fmt: skip

    def _build(self, vocab: Vocab) -> Chain:
        try:
            return build_chain(self._chain(), n_vocab=len(vocab), vocab=vocab)
        except ChainError as error:
            raise ValueError(str(error)) from None

    def _chain(self) -> ChainSpec:
        parameters: dict[str, Any] = {"grammar_str": self.grammar, "grammar_root": self.root}
        if self.trigger_words:
            parameters |= {"trigger_words": self.trigger_words}
        elif not (self.trigger_patterns or self.trigger_tokens):
            return [{"grammar": parameters}]
        parameters |= {
            "trigger_patterns": self.trigger_patterns,
            "trigger_tokens": self.trigger_tokens,
        }
        return [{"grammar_lazy_patterns": parameters}]


class RandomGrammars(NamedBlock):
    """Random grammars, with a walk through each."""

    vocab: str
    count: Count
    quick: Random
    steps: Steps = 16
    seed: Seed = 0

    def items(self, quick: bool, shift: int = 0) -> Iterator[Case]:
        vocab = read_vocab(vocab_path(self.vocab))
        for i in range(self.quick if quick else self.count):
            rng = random.Random(f"{self.seed + shift} {i}")
            while True:
                text = usable_grammar(rng, vocab)
                chain: ChainSpec = [{"grammar": {"grammar_str": text, "grammar_root": "root"}}]
                try:
                    tokens = walk(build_chain(chain, vocab=vocab), vocab, rng, self.steps)
                except UndefinedInputError:
                    continue  # too many ways to read it
                break
            script: Script = rng.choice(("plain", "plain", "reset", "clone"))
            yield _case(
                self, f"{self.vocab}-{i}", script if len(tokens) > 1 else "plain", self.vocab,
                len(vocab), chain, tokens, {}, _of_random(text),
            )  # fmt: skip


def _case(
    block: Grammars | RandomGrammars,
    point: str,
    script: Script,
    vocab: str,
    n: int,
    chain: ChainSpec,
    tokens: list[int],
    expect: dict[str, list[int]],
    requires: dict[str, list[Verdict]],
) -> Case:
    lazy = "grammar" not in chain[0]
    return case_from(
        block.about(point + ("" if script == "plain" else f"-{script}"))
        | {
            "chain": chain,
            "logits": {"family": "equal", "n": n},
            "vocab": vocab,
            "accept": tokens,
            "steps": len(tokens) + 1,
            "script": script,
            "expect": expect or None,
            "requires": _OF_LAZY if lazy else _ENGINES | requires,
        }
    )


def _of_random(text: str) -> dict[str, list[Verdict]]:
    """Return the required verdicts for a random grammar: the known differences may be anywhere in
    it, in engines of token rules only if it has such rules."""
    names = _ENGINES if "<[" in text else ("llguidance", "xgrammar")
    return {name: [*_ENGINES[name], "diverged"] for name in names}


def spell(text: Text, vocab: Vocab, spelling: Spelling) -> list[int]:
    """Return tokens whose pieces together are the text. Raises ValueError if there are none."""
    ids = _ids(vocab)
    longest = max(map(len, ids)) if spelling == "longest" else 1
    tokens: list[int] = []
    for part in [text] if isinstance(text, str) else text:
        if isinstance(part, int):
            tokens.append(part)
            continue
        rest = part.encode()
        while rest:
            lengths = range(min(longest, len(rest)), 0, -1)
            length = next((n for n in lengths if rest[:n] in ids), 0)
            if not length:
                raise ValueError(f"{part!r} cannot be spelled with this vocabulary")
            tokens.append(ids[rest[:length]])
            rest = rest[length:]
    return tokens


@functools.lru_cache(maxsize=8)
def _ids(vocab: Vocab) -> dict[bytes, int]:
    """Return the token of each text of an ordinary token; the last of several."""
    ordinary = (TokenType.NORMAL, TokenType.BYTE)
    return {vocab.piece(t): t for t in range(len(vocab)) if vocab.types[t] in ordinary}
