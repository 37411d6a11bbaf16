"""The rules of a grammar as items that other engines have: rules, tokens and classes."""

from collections.abc import Iterator
from typing import NamedTuple

from sampler_parity.reference.grammar import Element, Kind, Rules

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
SURROGATES = range(0xD800, 0xE000)


class Rule(NamedTuple):
    number: int


class Token(NamedTuple):
    number: int
    positive: bool


class Class(NamedTuple):
    """One character in the ranges, or in none of them. No range begins or ends with a surrogate,
    which no text has and no engine accepts."""

    ranges: Ranges
    positive: bool


Item = Rule | Token | Class


def alternatives_of(rules: Rules, rule: int) -> Iterator[list[Item]]:
    for alternative in rules.alternatives(rule):
        yield list(_items(alternative))


def _items(alternative: list[Element]) -> Iterator[Item]:
    at = 0
    while at < len(alternative):
        kind, value = alternative[at]
        if kind == Kind.RULE_REF:
            yield Rule(value)
        elif kind in (Kind.TOKEN, Kind.TOKEN_NOT):
            yield Token(value, kind == Kind.TOKEN)
        elif kind == Kind.CHAR_ANY:
            yield Class(((0, LAST),), True)
        else:
            ranges, at = _ranges(alternative, at)
            yield Class(ranges, kind == Kind.CHAR)
            continue
        at += 1


def _ranges(alternative: list[Element], at: int) -> tuple[Ranges, int]:
    """Read the ranges of the class that begins here; return them and the place after it."""
    ranges: Ranges = ()
    start = at
    while at < len(alternative) and (at == start or alternative[at].kind == Kind.CHAR_ALT):
        low = high = alternative[at].value
        at += 1
        if at < len(alternative) and alternative[at].kind == Kind.CHAR_RNG_UPPER:
            high = alternative[at].value
            at += 1
        ranges += _range(low, high)
    return ranges, at


def _range(low: int, high: int) -> Ranges:
    """Return the range as characters, or nothing if it has none."""
    low = SURROGATES.stop if low in SURROGATES else low
    high = SURROGATES.start - 1 if high in SURROGATES else min(high, LAST)
    return ((low, high),) if low <= high else ()
