"""The tokens of a vocabulary as a tree of their characters: of a prefix that many share, a grammar
is asked once, and not at all for what follows one that it refuses.

Changes no result: `allowed` is `Machine.allows` of every token.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sampler_parity.reference.grammar.stacks import Machine, State
from sampler_parity.reference.grammar.utf8 import Decoded, Partial


@dataclass(slots=True)
class Prefix:
    """tokens: those whose characters end here, by what is begun behind them. next: by the next
    character, the longer prefixes."""

    tokens: dict[Partial, list[int]] = field(default_factory=lambda: defaultdict(list))
    next: "dict[int, Prefix]" = field(default_factory=dict)


def tree_of(tokens: Iterable[tuple[int, Decoded]]) -> Prefix:
    root = Prefix()
    for token, decoded in tokens:
        prefix = root
        for code_point in decoded.code_points:
            if code_point == 0:  # a text ends there, as in Machine.allows
                break
            prefix = prefix.next.setdefault(code_point, Prefix())
        prefix.tokens[decoded.partial].append(token)
    return root


def allowed(machine: Machine, state: State, root: Prefix) -> Iterator[int]:
    """Yield the tokens of the tree that may follow."""
    todo = [(state, root)]
    while todo:
        state, prefix = todo.pop()
        if not state.stacks:
            continue
        if machine.expects_tokens(state):  # then a token's id counts, and not only its text
            yield from (t for t, decoded in _below(prefix) if machine.allows(state, t, decoded))
            continue
        for partial, tokens in prefix.tokens.items():
            if machine.may_stop(state, partial):
                yield from tokens
        todo += [(machine.after(state, c), longer) for c, longer in prefix.next.items()]


def _below(root: Prefix) -> Iterator[tuple[int, Decoded]]:
    """Yield every token of a tree, with its characters from the root on."""
    todo: list[tuple[tuple[int, ...], Prefix]] = [((), root)]
    while todo:
        path, prefix = todo.pop()
        for partial, tokens in prefix.tokens.items():
            for token in tokens:
                yield token, Decoded(path, partial)
        todo += [((*path, code_point), longer) for code_point, longer in prefix.next.items()]
