"""The rules of a grammar, and the check for left recursion.

A rule is a list of elements: its alternatives, separated by ALT, with END behind the last one.

Source: llama_grammar_element, llama_grammar_detect_left_recursion, src/llama-grammar.h and .cpp at
v0.5.0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from sampler_parity.reference.errors import ChainError

MAX_CHAIN = 2_000  # rules in a row, each beginning with the next; see docs/background/grammar.md


class Kind(IntEnum):
    """LLAMA_GRETYPE_*."""

    END = 0
    ALT = 1
    RULE_REF = 2  # value: a rule
    CHAR = 3  # value: a code point, as in the next four
    CHAR_NOT = 4
    CHAR_RNG_UPPER = 5  # the upper end of a range that the element before begins
    CHAR_ALT = 6  # one more character or range of the same class
    CHAR_ANY = 7
    TOKEN = 8  # value: a token
    TOKEN_NOT = 9


class Element(NamedTuple):
    kind: Kind
    value: int = 0


@dataclass(frozen=True)
class Rules:
    """elements by rule, names by rule, and the rule that a text begins with."""

    elements: tuple[tuple[Element, ...], ...]
    names: tuple[str, ...]
    root: int

    def refuse_left_recursion(self) -> None:
        """Raise ChainError for a rule that can begin with itself, as llama.cpp does, and for one
        that does so behind rules that are only indirectly empty, which llama.cpp does not see: it
        then builds ever longer stacks until memory ends."""
        plain = self._begins(self._directly_empty())
        cycle = _cycle([[rule for rule, _ in edges] for edges in plain])
        if cycle:
            path = " -> ".join(self.names[rule] for rule in cycle)
            raise ChainError(f"left recursion: {path}")
        edges = self._begins(self._empty())
        rule = _grows(edges)
        if rule is not None:
            raise ChainError(f"left recursion after an empty rule: {self.names[rule]}")

    def alternatives(self, rule: int) -> Iterator[list[Element]]:
        current: list[Element] = []
        for element in self.elements[rule]:
            if element.kind in (Kind.ALT, Kind.END):
                yield current
                current = []
            else:
                current.append(element)

    def _directly_empty(self) -> set[int]:
        return {rule for rule in range(len(self.elements)) if [] in self.alternatives(rule)}

    def _empty(self) -> set[int]:
        """Return the rules that can be the empty text, directly or through others."""
        users: list[set[int]] = [set() for _ in self.elements]
        for rule in range(len(self.elements)):
            for element in self.elements[rule]:
                if element.kind == Kind.RULE_REF:
                    users[element.value].add(rule)
        empty = self._directly_empty()
        todo = list(empty)
        while todo:
            for rule in users[todo.pop()] - empty:
                if any(_all_in(alternative, empty) for alternative in self.alternatives(rule)):
                    empty.add(rule)
                    todo.append(rule)
        return empty

    def _begins(self, empty: set[int]) -> list[list[tuple[int, bool]]]:
        """Return for each rule the rules that it can begin with, and whether something follows
        there.
        """
        begins: list[list[tuple[int, bool]]] = []
        for rule in range(len(self.elements)):
            edges: dict[tuple[int, bool], None] = {}
            for alternative in self.alternatives(rule):
                for i, element in enumerate(alternative):
                    if element.kind != Kind.RULE_REF:
                        break
                    edges[element.value, i + 1 < len(alternative)] = None
                    if element.value not in empty:
                        break
            begins.append(list(edges))
        return begins


def _all_in(alternative: list[Element], empty: set[int]) -> bool:
    return all(e.kind == Kind.RULE_REF and e.value in empty for e in alternative)


def _cycle(edges: list[list[int]]) -> list[int]:
    """Return a cycle of the graph, its first node again at the end; empty if there is none. Raises
    ChainError for a path of more than MAX_CHAIN: llama.cpp's recursion exhausts its stack."""
    finished = [False] * len(edges)
    for start in range(len(edges)):
        path, at, inside = [start], [0], {start}
        while path and not finished[path[-1]]:
            node = path[-1]
            if at[-1] == len(edges[node]):
                finished[node] = True
                inside.remove(node)
                path.pop()
                at.pop()
                continue
            following = edges[node][at[-1]]
            at[-1] += 1
            if following in inside:
                return [*path[path.index(following) :], following]
            if not finished[following]:
                if len(path) == MAX_CHAIN:
                    raise ChainError(
                        f"over {MAX_CHAIN} rules in a row, each beginning with the next"
                    )
                path.append(following)
                at.append(0)
                inside.add(following)
    return []


def _grows(edges: list[list[tuple[int, bool]]]) -> int | None:
    """Return a rule on a cycle in which something follows: every turn makes the stack longer."""
    remaining = {rule: set(edges[rule]) for rule in range(len(edges))}
    while True:  # remove rules that lie neither on a cycle nor between two cycles
        targets = {to for out in remaining.values() for to, _ in out}
        growing = {
            rule: {(to, more) for to, more in out if to in remaining}
            for rule, out in remaining.items()
            if out and rule in targets
        }
        if growing == remaining:
            break
        remaining = growing
    for rule, out in remaining.items():
        for to, more in out:
            if more and _reaches(remaining, to, rule):
                return rule
    return None


def _reaches(edges: dict[int, set[tuple[int, bool]]], start: int, end: int) -> bool:
    visited, todo = {start}, [start]
    while todo:
        node = todo.pop()
        if node == end:
            return True
        new = {to for to, _ in edges[node]} - visited
        visited |= new
        todo += new
    return False
