"""Find the request that leaves a parameter for later ones, by halving those that were sent.

A silent request states its length and a seed, or temperature 0. Its text is compared after each
result. If it changes, a request that states everything clears the state, and the requests since
the last right text are sent again, fewer each time, until one is left, and one parameter of it.
Nothing is reported that does not come back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client, Traffic
from sampler_parity.programs.servers.http import ServerFailure
from sampler_parity.programs.servers.observation import Observation, observe
from sampler_parity.programs.servers.probe import LENGTH, PROMPTS
from sampler_parity.programs.servers.server_record import ServerResult

NAME = "leaks"
_MOST = 3  # leaks that are looked for
Sent = Mapping[str, Any]


@dataclass(frozen=True)
class Leak:
    """A parameter that stays. request: the one that left it. got: the silent one's answer."""

    name: str
    request: Answer
    got: Answer
    text: str

    @property
    def line(self) -> str:
        value = str(self.request.sent.get(self.name, "..."))[:60]
        return f"{self.name} stays for later requests: {self.name} {value} was sent"


@dataclass
class LeakWatch:
    """Compare the text of a silent request now and then. Its own requests count nowhere."""

    client: Client
    leaks: list[Leak] = field(default_factory=list)
    compared: int = 0

    def __post_init__(self) -> None:
        self._own = replace(self.client, traffic=Traffic(), only=frozenset())
        is_selected = self.client.selects(NAME) and not self.client.traffic.silent
        self._silent, self._text = self._choose() if is_selected else ({}, "")
        self._since: list[Sent] = []
        self.client.traffic.log.clear()

    def find(self) -> Leak | None:
        """Return what stayed since the last call, or None. Its parameter is stated from then on."""
        log, self.client.traffic.log[:] = [*self._since, *self.client.traffic.log], []
        self._since = log[-256:]
        if not self._silent or len(self.leaks) >= _MOST:
            return None
        try:
            self.compared += 1
            got = self._asked(self._silent)
            leak = None if got.text == self._text else self._halve(self._since, got)
        except ServerFailure:
            return None  # the results name it
        self._since = []
        if leak is not None:
            self.leaks.append(leak)
            self._pin(leak.name)
        return leak

    def observe(self, client: Client) -> Iterator[ServerResult]:
        """Return the result about all leaks."""
        yield from observe("state", {NAME: lambda _: self._observed()}, client)

    def _observed(self) -> Observation:
        if not self._silent:
            return Observation("skipped", "no text repeats, so two cannot be compared")
        if self.leaks:
            first = self.leaks[0]
            lines = "; ".join(leak.line for leak in self.leaks)
            line = f"{lines}; a request without it: {first.got.got}, before {first.text[:60]!r}"
            return Observation("other meaning", line, first.request)
        return Observation(
            "honoured", f"{self.compared} times the text of a request that is silent"
        )

    def _choose(self) -> tuple[dict[str, Any], str]:
        """Return a request whose text repeats, with its text; {} if there is none."""
        length = self.client.dialect.length
        for more in ({"seed": 11}, {"temperature": 0.0}):
            try:
                first, second = (self._asked({length: LENGTH, **more}) for _ in range(2))
            except ServerFailure:
                self.client.traffic.silent += self._own.traffic.silent
                break
            if first.text == second.text and not first.refusal:
                return {length: LENGTH, **more}, first.text
        return {}, ""

    def _asked(self, parameters: Sent) -> Answer:
        return self._own.complete(PROMPTS[0], parameters)

    def _halve(self, log: Sequence[Sent], got: Answer) -> Leak | None:
        """Return the leak that one of these requests shows again, alone."""
        if self._shows([]) or not self._shows(log):
            return None
        while len(log) > 1:
            half = len(log) // 2
            log = next((part for part in (log[half:], log[:half]) if self._shows(part)), [])
        if not log or not self._shows(log):
            return None
        sent, length = log[0], self.client.dialect.length
        names = [name for name in sent if name not in (*self._silent, length)]
        alone = [name for name in names if self._shows([{length: 1, name: sent[name]}])]
        name = next(iter(alone), "")
        return (
            Leak(name, Answer(self._own.body(PROMPTS[0], sent)), got, self._text) if name else None
        )

    def _shows(self, several: Sequence[Sent]) -> bool:
        """Return whether the silent request has another text after these, from a clear state."""
        dialect = self.client.dialect
        defaults = {row.name: row.default for row in dialect.parameters if row.default is not None}
        self._asked({**dialect.neutral, **defaults, dialect.length: 1})
        for sent in several:
            self._asked(sent)
        return self._asked(self._silent).text != self._text

    def _pin(self, name: str) -> None:
        row = next((row for row in self.client.dialect.parameters if row.name == name), None)
        value = None if row is None else row.neutral if row.default is None else row.default
        if value is not None:
            self.client.traffic.pinned[name] = value
            self._own.traffic.pinned[name] = value
