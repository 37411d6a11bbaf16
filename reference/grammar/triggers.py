"""The triggers of a lazy grammar: regular expressions on the text so far.

llama.cpp uses std::regex with ECMAScript's syntax on bytes; a pattern is translated into the same
expression of Python's `re`, and refused if the two have no common meaning.

Source: llama_grammar_trigger_pattern::find, src/llama-grammar.cpp; regex_escape, common/common.cpp;
llama_sampler_init_grammar_impl, src/llama-sampler.cpp at v0.5.0.
"""

import re
from dataclasses import dataclass

from sampler_parity.reference.errors import ChainError

_SAME = set("dDwWsSbBnrtfv")  # escaped letters that both read alike


@dataclass(frozen=True)
class Trigger:
    """A pattern. Raises ChainError, see `translated`."""

    pattern: str

    def find(self, text: bytes) -> int | None:
        """Return the start of the grammar's text: the first non-empty group, else the match. A
        pattern from ^ to $ is tried on the whole text first, then anywhere."""
        compiled = re.compile(translated(self.pattern))
        match = None
        if self.pattern[:1] == "^" and self.pattern[-1:] == "$":
            match = compiled.fullmatch(text)
        match = match or compiled.search(text)
        if match is None:
            return None
        groups = range(1, compiled.groups + 1)
        starts = (match.start(i) for i in groups if match.end(i) > match.start(i))
        return next(starts, match.start())


def escaped(word: str) -> str:
    """Return the pattern of a trigger word, as common_sampler makes it."""
    return re.sub(r"[.^$|()*+?\[\]{}\\]", r"\\\g<0>", word)


def of_words(words: list[str]) -> str:
    """Return the pattern that the deprecated llama_sampler_init_grammar_lazy makes of its words."""
    return f"[\\s\\S]*?({'|'.join(escaped(word) for word in words)})[\\s\\S]*"


def translated(pattern: str) -> bytes:
    """Translate the pattern into Python's syntax.

    Raises ChainError for patterns that std::regex refuses, and for those that it reads in its own
    way: POSIX classes, needless escapes of letters, groups other than (?: (?= (?!, bytes beyond
    ASCII in a class.
    """
    out, at, in_class = "", 0, False
    while at < len(pattern):
        char, following = pattern[at], pattern[at + 1 : at + 2]
        if char == "\\":
            out += _escape(pattern, at)
            at += 2
            continue
        if in_class:
            in_class = char != "]"
            if char == "[" or not char.isascii():
                raise _refusal(pattern, at, "[ or a character beyond ASCII in a class")
            out += "\\" + char if char in "&~|" else char
        elif char == "[":
            in_class = True
            if pattern[at + 1 :].startswith(("]", "^]")):
                raise _refusal(pattern, at, "an empty class")
            out += char
        elif char == "(" and following == "?" and pattern[at + 2 : at + 3] not in (":", "=", "!"):
            raise _refusal(pattern, at, "a group other than (?:, (?= and (?!")
        elif char in "*+?}" and following == "+":
            raise _refusal(pattern, at + 1, "a quantifier of a quantifier")
        elif char == "{" and not re.match(r"\{\d+(,\d*)?\}", pattern[at:]):
            raise _refusal(pattern, at, "{ that begins no quantifier")
        else:
            out += {".": r"[^\n\r]", "$": r"\Z"}.get(char, char)
        at += 1
    try:
        re.compile(out.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise ChainError(f"trigger_patterns: {pattern!r}: {error}") from None
    return out.encode()


def _escape(pattern: str, at: int) -> str:
    char = pattern[at + 1 : at + 2]
    if not char or (char.isalnum() and char not in _SAME) or not char.isascii():
        raise _refusal(pattern, at, "an escape that std::regex and Python read differently")
    return "\\" + char


def _refusal(pattern: str, at: int, what: str) -> ChainError:
    return ChainError(f"trigger_patterns: {pattern!r}: at {at + 1}: {what}")
