"""GBNF text to rules.

    rule: name ::= alternatives, to the end of the line
    alternatives: sequences with | between them
    item: "text"  [class]  [^class]  .  name  ( alternatives )  <token>  <[id]>  !<token>
    repetition: item*  item+  item?  item{m}  item{m,}  item{m,n}
    escape: \\xHH \\uHHHH \\UHHHHHHHH \\t \\r \\n \\\\ \\" \\[ \\] \\-
    comment: # to the end of the line

Groups and repetitions become rules of their own, named after the rule around them. The last
definition of a rule counts. n > 2000 in {m,n} is no limit at all.

Refused with line and column: everything that llama.cpp refuses, misreads or does not survive. It
misreads a NUL (it would end the text) and text that is not Unicode. It does not survive m > n (it
adds rules until memory ends), over MAX_NESTING nested groups (its recursion exhausts the stack) and
over MAX_ELEMENTS elements (repetitions of long items take all memory).

Source: llama_grammar_parser, src/llama-grammar.cpp at v0.5.0.
"""

from sampler_parity.reference.errors import ChainError
from sampler_parity.reference.grammar.rules import Element, Kind, Rules
from sampler_parity.reference.vocab import TokenType, Vocab

MAX_REPETITIONS = 2000  # MAX_REPETITION_THRESHOLD
MAX_NESTING = 100
MAX_ELEMENTS = 1_000_000

_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")
_ESCAPED = {"t": "\t", "r": "\r", "n": "\n", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
_HEX = {"x": 2, "u": 4, "U": 8}


def parse(text: str | bytes, root: str = "root", vocab: Vocab | None = None) -> Rules:
    """Parse a grammar to rules. vocab: for tokens by name. Raises ChainError with the place."""
    parser = _Parser(_decoded(text), vocab)
    parser.parse()
    if root not in parser.ids:
        raise ChainError(f"the grammar has no rule {root!r}")
    elements = tuple(tuple(parser.rules[i]) for i in range(max(parser.rules) + 1))
    return Rules(elements, tuple(parser.ids), parser.ids[root])


def _decoded(text: str | bytes) -> str:
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        decoded.encode()  # a str may hold halves of surrogate pairs
    except UnicodeDecodeError as error:
        assert isinstance(text, bytes)
        line = text.count(b"\n", 0, error.start) + 1
        raise ChainError(f"line {line}: byte {error.start} is not UTF-8") from None
    except UnicodeEncodeError as error:
        raise ChainError(f"{_place(error.object, error.start)}: not a character") from None
    if "\0" in decoded:
        raise ChainError(f"{_place(decoded, decoded.index(chr(0)))}: a NUL")
    return decoded


def _place(text: str, at: int) -> str:
    line = text.count("\n", 0, at) + 1
    return f"line {line}, column {at - text.rfind(chr(10), 0, at)}"


class _Parser:
    def __init__(self, text: str, vocab: Vocab | None) -> None:
        self.text, self.vocab = text, vocab
        self.at = 0
        self.ids: dict[str, int] = {}  # of rules, in order
        self.rules: dict[int, list[Element]] = {}
        self.used: dict[int, int] = {}  # rule -> where it was first referred to
        self.nesting = 0
        self.n_elements = 0

    def parse(self) -> None:
        self.space(newlines=True)
        while self.at < len(self.text):
            self.rule()
        if not self.rules:
            raise self.error("no rule")
        names = list(self.ids)
        for rule, at in sorted(self.used.items(), key=lambda used: used[1]):
            if rule not in self.rules:
                raise self.error(f"undefined rule {names[rule]!r}", at)

    def error(self, problem: str, at: int | None = None) -> ChainError:
        return ChainError(f"{_place(self.text, self.at if at is None else at)}: {problem}")

    def peek(self, ahead: int = 0) -> str:
        """Return a character of the text, "" behind its end."""
        return self.text[self.at + ahead : self.at + ahead + 1]

    def expect(self, literal: str) -> None:
        if not self.text.startswith(literal, self.at):
            raise self.error(f"expected {literal!r}")
        self.at += len(literal)

    def space(self, newlines: bool) -> None:
        """Skip blanks and comments."""
        blank = " \t\r\n" if newlines else " \t"
        while (char := self.peek()) and (char in blank or char == "#"):
            if char == "#":
                while self.peek() not in ("", "\r", "\n"):
                    self.at += 1
            else:
                self.at += 1

    def run_of(self, allowed: frozenset[str], what: str) -> str:
        start = self.at
        while self.peek() in allowed:
            self.at += 1
        if self.at == start:
            raise self.error(f"expected {what}")
        return self.text[start : self.at]

    def rule(self) -> None:
        name = self.run_of(_WORD, "a name")
        self.space(newlines=False)
        rule = self.ids.setdefault(name, len(self.ids))
        self.expect("::=")
        self.space(newlines=True)
        self.alternatives(name, rule, nested=False)
        if self.peek() == "\r":
            self.at += 2 if self.peek(1) == "\n" else 1
        elif self.peek() == "\n":
            self.at += 1
        elif self.peek():
            raise self.error("expected an item, | or the end of the line")
        self.space(newlines=True)

    def new_rule(self, name: str) -> int:
        rule = len(self.ids)
        self.ids[f"{name}_{rule}"] = rule  # _ is in no name of the text
        return rule

    def alternatives(self, name: str, rule: int, nested: bool) -> None:
        elements: list[Element] = []
        self.sequence(name, elements, nested)
        while self.peek() == "|":
            elements.append(Element(Kind.ALT))
            self.at += 1
            self.space(newlines=True)
            self.sequence(name, elements, nested)
        self.define(rule, [*elements, Element(Kind.END)])

    def define(self, rule: int, elements: list[Element]) -> None:
        self.rules[rule] = elements
        self.n_elements += len(elements)
        if self.n_elements > MAX_ELEMENTS:
            raise self.error(f"the grammar has over {MAX_ELEMENTS} elements")

    def sequence(self, name: str, elements: list[Element], nested: bool) -> None:
        item = len(elements)  # where the last item begins
        n_rules = 1  # that a repetition of it repeats
        while char := self.peek():
            if char in "*+?{":
                low, high = self.bounds(nested)
                n_rules = self.repeat(name, elements, item, low, high, n_rules)
                continue
            start, n_rules = len(elements), 1
            if char == '"':
                self.literal(elements)
            elif char == "[":
                self.character_class(elements)
            elif char in "<!":
                elements.append(self.token())
            elif char in _WORD:
                at = self.at
                rule = self.ids.setdefault(self.run_of(_WORD, "a name"), len(self.ids))
                self.used.setdefault(rule, at)
                elements.append(Element(Kind.RULE_REF, rule))
            elif char == "(":
                before = len(self.ids)
                elements.append(self.group(name))
                n_rules = max(1, len(self.ids) - before)
            elif char == ".":
                self.at += 1
                elements.append(Element(Kind.CHAR_ANY))
            else:
                return
            item = start
            self.space(newlines=nested)

    def literal(self, elements: list[Element]) -> None:
        self.at += 1
        while self.peek() != '"':
            elements.append(Element(Kind.CHAR, self.character()))
        self.at += 1

    def character_class(self, elements: list[Element]) -> None:
        self.at += 1
        kind = Kind.CHAR
        if self.peek() == "^":
            self.at += 1
            kind = Kind.CHAR_NOT
        while self.peek() != "]":
            elements.append(Element(kind, self.character()))
            kind = Kind.CHAR_ALT
            if self.peek() == "-" and self.peek(1) != "]":
                self.at += 1
                elements.append(Element(Kind.CHAR_RNG_UPPER, self.character()))
        self.at += 1

    def character(self) -> int:
        start, char = self.at, self.peek()
        if not char:
            raise self.error("unexpected end")
        self.at += 1
        if char != "\\":
            return ord(char)
        letter = self.peek()
        self.at += 1
        if letter in _HEX:
            digits = self.text[self.at : self.at + _HEX[letter]]
            if len(digits) < _HEX[letter] or not set(digits) <= set("0123456789abcdefABCDEF"):
                raise self.error(f"expected {_HEX[letter]} hexadecimal digits")
            self.at += len(digits)
            return int(digits, 16)
        if letter not in _ESCAPED:
            raise self.error(f"unknown escape \\{letter}", start)
        return ord(_ESCAPED[letter])

    def group(self, name: str) -> Element:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error(f"groups are nested more than {MAX_NESTING} deep")
        self.at += 1
        self.space(newlines=True)
        rule = self.new_rule(name)
        self.alternatives(name, rule, nested=True)
        self.expect(")")
        self.nesting -= 1
        return Element(Kind.RULE_REF, rule)

    def token(self) -> Element:
        kind = Kind.TOKEN
        if self.peek() == "!":
            self.at += 1
            kind = Kind.TOKEN_NOT
        start = self.at
        self.expect("<")
        if self.peek() == "[":
            self.at += 1
            token = self.number("a token id", 2**32)
            self.expect("]")
            self.expect(">")
            return Element(kind, token)
        if self.vocab is None:
            raise self.error("a token by name needs a vocabulary (vocab)", start)
        while self.peek() not in ("", ">"):
            self.at += 1
        self.expect(">")
        return Element(kind, self.token_of(start, self.vocab))

    def token_of(self, start: int, vocab: Vocab) -> int:
        text = self.text[start : self.at]
        special = (TokenType.CONTROL, TokenType.UNKNOWN)
        for token, (name, kind) in enumerate(zip(vocab.texts, vocab.types, strict=True)):
            if name == text and kind in special:
                return token
        tokens = vocab.tokenize(text.encode())
        if len(tokens) != 1:
            raise self.error(f"{text} is not one token", start)
        return tokens[0]

    def bounds(self, nested: bool) -> tuple[int, int | None]:
        """Return the minimum and maximum count of a repetition; None: no limit."""
        sign = self.peek()
        self.at += 1
        self.space(nested)
        if sign != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        start = self.at
        low = high = self.count(nested)
        limit: int | None = high
        if self.peek() == ",":
            self.at += 1
            self.space(nested)
            limit = self.count(nested) if self.peek() in _DIGITS else None
        self.expect("}")
        self.space(nested)
        if low > MAX_REPETITIONS:
            raise self.error(f"over {MAX_REPETITIONS} repetitions", start)
        if limit is not None and limit > MAX_REPETITIONS:
            limit = None
        if limit is not None and limit < low:
            raise self.error(f"repetitions: minimum {low} is above maximum {limit}", start)
        return low, limit

    def count(self, nested: bool) -> int:
        number = self.number("a number", 2**64)
        self.space(nested)
        return number

    def number(self, what: str, limit: int) -> int:
        start = self.at
        digits = self.run_of(_DIGITS, what).lstrip("0") or "0"
        if len(digits) > 20 or int(digits) >= limit:
            raise self.error(f"{what} that is too large", start)
        return int(digits)

    def repeat(
        self,
        name: str,
        elements: list[Element],
        item: int,
        low: int,
        high: int | None,
        n_rules: int,
    ) -> int:
        """Write the item from `item` on low to high times. Returns n_rules of the repetition."""
        if item == len(elements):
            raise self.error("nothing to repeat")
        times = high if high else max(low, 1)
        if n_rules * times > MAX_REPETITIONS:
            raise self.error(f"nested repetitions make over {MAX_REPETITIONS} rules")
        repeated = elements[item:]
        if len(elements) + low * len(repeated) > MAX_ELEMENTS:
            raise self.error(f"the grammar has over {MAX_ELEMENTS} elements")
        if low == 0:
            del elements[item:]
        else:
            elements += repeated * (low - 1)
        last = None
        for _ in range(1 if high is None else high - low):
            rule = self.new_rule(name)
            more = rule if high is None else last
            follow = [] if more is None else [Element(Kind.RULE_REF, more)]
            self.define(rule, [*repeated, *follow, Element(Kind.ALT), Element(Kind.END)])
            last = rule
        if last is not None:
            elements.append(Element(Kind.RULE_REF, last))
        return n_rules * times
