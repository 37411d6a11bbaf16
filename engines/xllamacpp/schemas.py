"""Draw JSON schemas at random, and follow a text that obeys one.

The llama-server of xllamacpp leaves schemas to llguidance, so the same library is asked here. A
build without it makes a GBNF grammar, which it reports, and which is then followed.
Source: llama_sampler_init_llg of llama.cpp's common/llguidance.cpp.
"""

import functools
import json
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from sampler_parity.engines.shared.grammars.guidance import Matcher, Tokenizer, library
from sampler_parity.harness.errors import Unsupported
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.samplers.grammar import Grammar
from sampler_parity.reference.vocab import Vocab

_WORDS = ("abacus", "zebra", "line 1", "é", "漢字", "a b", "")
_NAMES = ("name", "age", "a", "b c", "list")


def schema(rng: Random, depth: int = 2) -> Any:
    """Draw a schema. depth: how deep objects, arrays and choices may stand in each other."""
    simple = (_typed, _typed, _choice, _number, _text)
    one = rng.choice((*simple, *((_array, _object, _any) if depth else ())))
    drawn: dict[str, Any] = one(rng, depth)
    if rng.random() < 0.2:
        drawn["description"] = rng.choice(_WORDS) * rng.choice((1, 30))
    return drawn


def _typed(rng: Random, depth: int) -> dict[str, Any]:
    names = rng.sample(("boolean", "null", "integer", "number", "string"), rng.randint(1, 3))
    return {"type": names[0] if len(names) == 1 and rng.random() < 0.8 else names}


def _choice(rng: Random, depth: int) -> dict[str, Any]:
    values = [*_WORDS, 0, -1, 2.5, 1000000, True, False, None]
    if rng.random() < 0.3:
        return {"const": rng.choice(values)}
    return {"enum": rng.sample(values, rng.randint(1, 5))}


def _number(rng: Random, depth: int) -> dict[str, Any]:
    low = rng.randint(-200, 200)
    bounds = {"minimum": low, "maximum": low + rng.randint(0, 300)}
    return {"type": "integer", **{k: v for k, v in bounds.items() if rng.random() < 0.7}}


def _text(rng: Random, depth: int) -> dict[str, Any]:
    if rng.random() < 0.4:
        return {"type": "string", "pattern": rng.choice(("^[a-c]{2,5}$", "^x+y?$", "^(no|yes)$"))}
    low = rng.randint(0, 4)
    return {"type": "string", "minLength": low, "maxLength": low + rng.randint(0, 6)}


def _array(rng: Random, depth: int) -> dict[str, Any]:
    low = rng.randint(0, 3)
    limits = {"minItems": low, "maxItems": low + rng.randint(0, 3)}
    return {"type": "array", "items": schema(rng, depth - 1), **limits}


def _object(rng: Random, depth: int) -> dict[str, Any]:
    names = rng.sample(_NAMES, rng.randint(1, 3))
    return {
        "type": "object",
        "properties": {name: schema(rng, depth - 1) for name in names},
        "required": rng.sample(names, rng.randint(0, len(names))),
        "additionalProperties": False,
    }


def _any(rng: Random, depth: int) -> dict[str, Any]:
    return {"anyOf": [schema(rng, depth - 1) for _ in range(rng.randint(1, 3))]}


@dataclass
class SchemaGrammar:
    """Keep the tokens with which a text can still obey a schema."""

    matcher: Matcher
    name: str = "grammar"

    def apply(self, cand: Candidates) -> None:
        allowed = self.matcher.allowed()[cand.ids]
        cand.logits = np.where(allowed, cand.logits, cand.logits.dtype.type(-np.inf))

    def accept(self, token: int) -> None:
        self.matcher.accept(token)

    def reset(self) -> None:
        self.matcher.reset()

    def clone(self) -> "SchemaGrammar":
        return SchemaGrammar(self.matcher.clone())


class _Tokens(Tokenizer):
    """Name tokens as llama.cpp does: one without a text is special, and one with a blank before a
    mark is the mark alone. So a text may have a blank there that its schema does not allow."""

    def __init__(self, vocab: Vocab) -> None:
        super().__init__(vocab)
        for token, text in enumerate(vocab.detokenized):
            self.tokens[token] = text if vocab.piece(token, special=False) else b"\xff" + text


@functools.lru_cache(maxsize=1)
def _tokenizer(vocab: Vocab) -> Any:
    wrapped = library().TokenizerWrapper(_Tokens(vocab))
    return library().LLTokenizer(wrapped, eos_token=vocab.eot if vocab.eot >= 0 else vocab.eos)


def grammar_of(asked: Any, vocab: Vocab, reported: str = "") -> SchemaGrammar | Grammar:
    """Return the grammar of a schema. reported: by the server. Raises Unsupported, InputError, and
    ChainError for GBNF that the reference refuses."""
    if reported and not reported.startswith("%llguidance"):
        return Grammar(reported, "root", vocab=vocab)
    lark = f"%llguidance {{}}\nstart: %json {json.dumps(asked)}"
    grammar = library().LLMatcher.grammar_from_lark(lark)
    matcher = library().LLMatcher(_tokenizer(vocab), grammar, log_level=0)
    return SchemaGrammar(Matcher(matcher, len(vocab)))


def missing() -> str:
    """Return why no schema can be followed here, or ""."""
    try:
        library()
    except Unsupported as unsupported:
        return str(unsupported)
    return ""
