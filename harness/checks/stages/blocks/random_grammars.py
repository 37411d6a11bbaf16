"""Random grammars, and random walks through a grammar token by token."""

import random
from collections.abc import Iterable

import numpy as np

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.reference import Candidates, Chain, ChainError, UndefinedInputError, Vocab

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
