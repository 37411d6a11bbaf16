"""The states that a text leads a grammar to, and a vocabulary as a tree: which tokens may follow.

A stack is what is still expected, as positions in the rules, the next one last; it always ends at a
character or token, or is empty: the text may end. A state is the set of stacks of a text.

Source: llama_grammar_advance_stack, llama_grammar_reject_candidates, llama_grammar_accept_token and
what they call, src/llama-grammar.cpp at v0.5.0. llama.cpp walks each token's characters on each
stack; here the states that characters lead to are kept, which changes no result.

The tokens of a vocabulary are a tree of their characters: the grammar is asked once for a prefix
that many share, and not at all for what follows one that it refuses. That changes no result either:
`allowed` is `Machine.allows` of every token.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from sampler_parity.reference.errors import UndefinedInputError
from sampler_parity.reference.grammar.rules import Element, Kind, Rules
from sampler_parity.reference.grammar.utf8 import Decoded, Partial, completions

Stack = tuple[int, ...]

_ENDS = (Kind.END, Kind.ALT)
TOKENS = (Kind.TOKEN, Kind.TOKEN_NOT)
_MOST_STATES = 100_000  # kept; it starts afresh beyond
MAX_STACKS = 10_000


class State:
    """stacks, and the states that characters lead to, as far as they were asked for."""

    def __init__(self, stacks: tuple[Stack, ...]) -> None:
        self.stacks = stacks
        self.next: dict[int, State] = {}

    @property
    def may_end(self) -> bool:
        return () in self.stacks


class Machine:
    """Rules as an automaton.

    Raises ChainError for left recursion.

    Every method raises UndefinedInputError if a text can be read in over MAX_STACKS ways. Their
    number can double with every rule, and llama.cpp then goes on until time or memory ends.
    """

    def __init__(self, rules: Rules) -> None:
        rules.refuse_left_recursion()
        self.elements: list[Element] = []
        self.starts: list[int] = []
        for rule in rules.elements:
            self.starts.append(len(self.elements))
            self.elements += rule
        self._states: dict[tuple[Stack, ...], State] = {}
        self.start = self.state_of(
            stack
            for alternative in self._alternatives(rules.root)
            for stack in self._advance(alternative)
        )

    def allows(self, state: State, token: int, decoded: Decoded) -> bool:
        """Return whether a token may follow.

        It may also follow if its id is what a stack expects at any place inside it; accept_token
        then takes it only if that place is its beginning.
        """
        for code_point in decoded.code_points:
            if code_point == 0:
                break
            if self._expects(state, token):
                return True
            state = self.after(state, code_point)
        return self.may_stop(state, decoded.partial)

    def may_stop(self, state: State, partial: Partial) -> bool:
        """Return whether a token may end here, perhaps inside a character."""
        return any(self._may_stop(stack, partial) for stack in state.stacks)

    def expects_tokens(self, state: State) -> bool:
        """Return whether a token rule, which compares ids, may come next."""
        return any(stack and self.elements[stack[-1]].kind in TOKENS for stack in state.stacks)

    def accept_token(self, state: State, token: int, decoded: Decoded) -> State:
        """Return the state after a token, by id or characters; without stacks if none fits."""
        advanced: list[Stack] = []
        by_characters: list[Stack] = []
        for stack in state.stacks:
            if stack and self.elements[stack[-1]].kind in TOKENS:
                if self._is_token(stack[-1], token):
                    advanced += self._advance(self._rest(stack, stack[-1] + 1))
            elif stack:
                by_characters.append(stack)
        reached = self.state_of(by_characters)
        for code_point in decoded.code_points:
            reached = self.after(reached, code_point)
        return self.state_of([*advanced, *reached.stacks])

    def state_of(self, stacks: Iterable[Stack]) -> State:
        key = tuple(dict.fromkeys(stacks))
        if len(key) > MAX_STACKS:
            raise _too_many()
        if key not in self._states:
            if len(self._states) >= _MOST_STATES:
                self._states.clear()
            self._states[key] = State(key)
        return self._states[key]

    def after(self, state: State, code_point: int) -> State:
        """Return the state after a character."""
        if code_point not in state.next:
            advanced: list[Stack] = []
            for stack in state.stacks:
                if not stack or self.elements[stack[-1]].kind in TOKENS:
                    continue
                matches, behind = self._match(stack[-1], code_point)
                if matches:
                    advanced += self._advance(self._rest(stack, behind))
                    if len(advanced) > MAX_STACKS:  # many of them equal: it would take minutes
                        raise _too_many()
            state.next[code_point] = self.state_of(advanced)
        return state.next[code_point]

    def _expects(self, state: State, token: int) -> bool:
        tops = (stack[-1] for stack in state.stacks if stack)
        return any(self.elements[top].kind in TOKENS and self._is_token(top, token) for top in tops)

    def _is_token(self, position: int, token: int) -> bool:
        element = self.elements[position]
        return (element.value == token) == (element.kind == Kind.TOKEN)

    def _may_stop(self, stack: Stack, partial: Partial) -> bool:
        if partial.n_remain == 0:
            return True
        if not stack or self.elements[stack[-1]].kind in TOKENS:
            return False
        return self._match_partial(stack[-1], partial)

    def _match(self, position: int, code_point: int) -> tuple[bool, int]:
        """Return whether a character is in the class at a position, and the position behind the
        class.
        """
        positive = self.elements[position].kind != Kind.CHAR_NOT
        ranges = self.ranges(position)
        inside = any(low <= code_point <= high for low, high, _ in ranges)
        return inside == positive, ranges[-1][2]

    def _match_partial(self, position: int, partial: Partial) -> bool:
        """Return whether a begun character can be in the class; for [^...], every completion must
        be.
        """
        if partial.n_remain < 0 or (partial.n_remain == 1 and partial.value < 2):
            return False  # no UTF-8, or overlong
        positive = self.elements[position].kind != Kind.CHAR_NOT
        first, last = completions(partial)
        inside = any(low <= last and first <= high for low, high, _ in self.ranges(position))
        return inside == positive

    def ranges(self, position: int) -> list[tuple[int, int, int]]:
        """Return low, high and the position behind, for each character or range of a class."""
        ranges: list[tuple[int, int, int]] = []
        while not ranges or self.elements[position].kind == Kind.CHAR_ALT:
            kind, low = self.elements[position]
            high, length = low, 1
            if kind == Kind.CHAR_ANY:
                low, high = 0, 2**32 - 1
            elif self.elements[position + 1].kind == Kind.CHAR_RNG_UPPER:
                high, length = self.elements[position + 1].value, 2
            position += length
            ranges.append((low, high, position))
        return ranges

    def _rest(self, stack: Stack, behind: int) -> Stack:
        """Return the stack with its top moved on to a position behind it."""
        return stack[:-1] if self.elements[behind].kind in _ENDS else (*stack[:-1], behind)

    def _alternatives(self, rule: int) -> list[Stack]:
        """Return one stack for each alternative of a rule, at its beginning."""
        position, positions = self.starts[rule], []
        while True:
            positions.append(self._rest((position,), position))
            while self.elements[position].kind not in _ENDS:
                position += 1
            if self.elements[position].kind == Kind.END:
                return positions
            position += 1

    def _advance(self, stack: Stack) -> list[Stack]:
        """Return the stacks of a stack once rules are replaced by their alternatives."""
        stacks: list[Stack] = []
        todo, visited = [stack], set()
        while todo:
            current = todo.pop()
            if current in visited:
                continue
            visited.add(current)
            if len(visited) > MAX_STACKS:
                raise _too_many()
            if not current or self.elements[current[-1]].kind != Kind.RULE_REF:
                stacks.append(current)
                continue
            rest = self._rest(current, current[-1] + 1)
            rule = self.elements[current[-1]].value
            todo += [rest + alternative for alternative in self._alternatives(rule)]
        return stacks


def _too_many() -> UndefinedInputError:
    return UndefinedInputError(f"the grammar can be read in over {MAX_STACKS} ways at one place")


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
