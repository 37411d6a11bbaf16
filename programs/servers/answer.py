"""An answer of a server, the same for every dialect."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CUT = "\ufffd"  # stands for a character that is cut in two
FULL = ("limit", "length", "")  # how a text ends that has all its tokens


@dataclass(frozen=True)
class TokenProbability:
    """A token with its logprob. id: -1 if the server reports only the text."""

    id: int
    text: str
    logprob: float

    @property
    def name(self) -> int | str:
        return self.id if self.id >= 0 else self.text

    @property
    def p(self) -> float:
        return math.exp(min(self.logprob, 700.0))  # a server may send anything


@dataclass(frozen=True)
class TokenReport:
    """A server's report on one token: its logprob, and the most likely tokens."""

    token: TokenProbability
    top: tuple[TokenProbability, ...]


@dataclass(frozen=True)
class Answer:
    """An answer to a request. refusal: why the server refused, or "". tokens: None if it names
    none. times: of a stream, when each event came (time.monotonic). index: its place among the
    answers to one request. siblings: the answers behind the first one. events: the answer as it
    came, in one part or several. parts: of a stream, the answer that each event has."""

    sent: Mapping[str, Any]
    text: str = ""
    tokens: tuple[int, ...] | None = None
    reports: tuple[TokenReport, ...] = ()
    ended: str = ""
    refusal: str = ""
    times: tuple[float, ...] = ()
    index: int = 0
    siblings: tuple["Answer", ...] = ()
    events: tuple[Any, ...] = ()
    parts: tuple["Answer", ...] = ()

    @property
    def last(self) -> Mapping[str, Any]:
        """Return the last event, which has the counts."""
        last: Mapping[str, Any] = self.events[-1] if self.events else {}
        return last

    @property
    def got(self) -> str:
        """Return the answer as evidence, short."""
        return f"refused: {self.refusal}" if self.refusal else json.dumps(self.text)[:120]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the texts of all answers to the request."""
        return (self.text, *(answer.text for answer in self.siblings))

    @property
    def plain(self) -> str:
        """Return the text without characters that are cut in two."""
        return self.text.replace(CUT, "")

    @property
    def longest(self) -> str:
        """Return the longest part of the text without a character that is cut in two."""
        return max(self.text.split(CUT), key=len)

    def lost_in(self, parts: "Answer") -> str:
        """Return what a stream with another text loses."""
        if "".join(self.text.split()) == "".join(parts.text.split()):
            return "a stream loses white space"
        if parts.text.count(CUT) > self.text.count(CUT):
            return "a stream loses characters outside ASCII"
        return "a stream has another text"

    def has_all(self, n: int) -> bool:
        """Return whether n tokens came, or fewer because the text ended by itself."""
        if self.tokens is None or self.ended not in FULL:
            return True
        return len(self.tokens) == n

    def same(self, answer: "Answer") -> bool:
        """Compare texts and how they end, and tokens if both name them. A stream does not name all
        of a character in parts."""
        if (self.plain, self.ended) != (answer.plain, answer.ended):
            return False
        if self.texts[1:] != answer.texts[1:]:
            return False
        tokens = None in (self.tokens, answer.tokens) or self.tokens == answer.tokens
        return tokens or not self.text.isascii()
