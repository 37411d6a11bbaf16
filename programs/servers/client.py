"""Ask for a completion in any dialect, and read the answer into one form."""

import json
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sampler_parity.harness.sanitize import limits
from sampler_parity.programs.servers import http, invariants
from sampler_parity.programs.servers.address import Address
from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.dialects import Dialect
from sampler_parity.programs.servers.read_answer import read_answer

Prompt = str | list[int] | list[int | str]  # or its tokens, or parts of it
_PROBABILITIES = ("n_probs", "logprobs", "top_logprobs")  # how many of each token, in any dialect
SILENT = 3  # requests in a row without an answer in time: then a server is asked no more


@dataclass
class Traffic:
    """Count requests. silent: how many in a row had no answer in time; requests sent at once count
    as one. until: when the last one ended (time.monotonic). answers: by name of an invariant, those
    that it judged. broken: by its name, the first answer that breaks it, and how."""

    requests: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    silent: int = 0
    until: float = 0.0
    beat: Callable[[int], object] = lambda _: None
    log: list[Mapping[str, Any]] = field(default_factory=list)
    pinned: dict[str, Any] = field(default_factory=dict)
    broken: dict[str, tuple[str, Answer]] = field(default_factory=dict)

    def add_silence(self, begun: float) -> None:
        if begun >= self.until:
            self.silent, self.until = self.silent + 1, time.monotonic()


@dataclass(frozen=True)
class Client:
    """Ask a server. eos: the token that ends a text, where it is known. only: names of results; all
    if empty. quick: leave out what takes many requests."""

    address: Address
    dialect: Dialect
    model: str = ""
    eos: int | None = None
    seconds: float = http.SECONDS
    traffic: Traffic = field(default_factory=Traffic)
    only: frozenset[str] = frozenset()
    quick: bool = False

    def selects(self, name: str) -> bool:
        """Return whether a result of this name is part of the check."""
        return not self.only or name in self.only

    def body(self, prompt: Prompt | list[str], parameters: Mapping[str, Any]) -> dict[str, Any]:
        dialect = self.dialect
        sent: dict[str, Any] = {"model": self.model} if self.model else {}
        if dialect.chat:
            sent["messages"] = [{"role": "user", "content": prompt}]
        else:
            sent["prompt"] = prompt
        self.traffic.log.append(parameters)
        parameters = {**self.traffic.pinned, **parameters}
        grouped = {dialect.group: dict(parameters)} if dialect.group else parameters
        return {**sent, **dialect.always, **grouped}

    def parameters_of(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a request states besides its prompt and the model."""
        dialect = self.dialect
        parameters = sent[dialect.group] if dialect.group else sent
        not_own = {name: parameters.get(name) for name in ("prompt", "messages", "model")}
        not_own |= dialect.always
        return {k: v for k, v in parameters.items() if k not in not_own or not_own[k] != v}

    def most(self, sent: Mapping[str, Any]) -> int:
        """Return the largest size in bytes of an answer to a request."""
        stated = self.parameters_of(sent)
        tokens = stated.get(self.dialect.length)
        if type(tokens) is not int or not 0 <= tokens <= limits.ANSWER_TOKENS:
            tokens = limits.ANSWER_TOKENS
        numbers = (stated.get(name) for name in _PROBABILITIES)
        per_token = 1 + max((n for n in numbers if type(n) is int), default=0)
        repeated = limits.ANSWER_REPEATS * len(json.dumps(sent))
        # llama-server draws a token before it counts 0.
        needed = limits.ANSWER + repeated + max(tokens, 1) * per_token * limits.ANSWER_TOKEN
        return min(needed, limits.ANSWER_LARGEST)

    def complete(self, prompt: Prompt | list[str], parameters: Mapping[str, Any]) -> Answer:
        """Return the answer. Raises ServerFailure if none comes. prompt: or several."""
        sent = self.body(prompt, parameters)
        with self._counted(sent):
            reply = http.ask(self.address, self.dialect.path, sent, self.seconds, self.most(sent))
            return self._answer(sent, reply)

    def in_turn(self, several: Sequence[tuple[Prompt, Mapping[str, Any]]]) -> list[Answer]:
        """Return the answers to prompts with parameters on one connection, until the server closes
        it. Raises ServerFailure."""
        bodies = [self.body(*request) for request in several]
        with self._counted(bodies[0]):
            replies = http.ask_in_turn(
                self.address, self.dialect.path, bodies, self.seconds, max(map(self.most, bodies))
            )
        self.traffic.requests += len(replies) - 1  # _counted has added one
        return [self._answer(sent, reply) for sent, reply in zip(bodies, replies, strict=False)]

    def _answer(self, sent: Mapping[str, Any], reply: http.Reply) -> Answer:
        if reply.refused:
            return Answer(sent, refusal=reply.reason or f"status {reply.status}")
        return self._noted(_answer_of(self.dialect, sent, reply.data))

    def _noted(self, answer: Answer) -> Answer:
        """Note whether an answer breaks an invariant."""
        for item in (answer, *answer.siblings):
            self.traffic.answers.update(invariants.carried(item))
            for name, line in invariants.broken(self.dialect, item):
                self.traffic.broken.setdefault(name, (line, item))
        return answer

    def streamed(
        self,
        prompt: Prompt | list[str],
        parameters: Mapping[str, Any],
        leave_after: int | None = None,
    ) -> Answer:
        """Return the same answer, sent in parts. Raises ServerFailure. leave_after: close the
        connection after so many events."""
        sent = {**self.body(prompt, parameters), "stream": True}
        with self._counted(sent):
            events = http.stream(
                self.address,
                self.dialect.path,
                sent,
                self.seconds,
                self.most(sent),
                leave_after=leave_after,
            )
            if isinstance(events, http.Reply):
                return Answer(sent, refusal=events.reason or f"status {events.status}")
            # A stream without events is an empty answer.
            came: dict[int, list[tuple[Answer, float]]] = {0: []}
            for event in events:
                if event.data is not None:  # llama-server's first event of several prompts
                    event_answer = _answer_of(self.dialect, sent, event.data)
                    for part in (event_answer, *event_answer.siblings):
                        came.setdefault(part.index, []).append((part, event.at))
            answer, *siblings = (_together(came[index], sent) for index in sorted(came))
            answer = replace(answer, siblings=tuple(siblings))
            # Half an answer breaks invariants by itself.
            return answer if leave_after else self._noted(answer)

    @contextmanager
    def _counted(self, sent: Mapping[str, Any]) -> Iterator[None]:
        """Count a request, and refuse it once the server is silent."""
        self.require_sound()
        self.traffic.beat(self.traffic.requests)
        self.traffic.requests += 1
        begun = time.monotonic()
        try:
            yield
        except http.ServerFailure as failure:
            failure.sent = sent
            if failure.verdict == "timeout":
                self.traffic.add_silence(begun)
            else:
                self.traffic.silent = 0
            raise
        self.traffic.silent = 0

    def require_sound(self) -> None:
        """Raise ServerFailure if the server is silent."""
        if self.traffic.silent >= SILENT:
            line = f"not asked: {SILENT} requests in a row had no answer in time"
            raise http.ServerFailure("timeout", line)

    def curl(self, sent: Mapping[str, Any]) -> str:
        """Return the request as a line for a shell; a key is named, not shown."""
        words = ["curl", self.address.url + self.dialect.path]
        words += ["-H", "Content-Type: application/json"]
        line = shlex.join(words)
        if self.address.key:
            line += ' -H "Authorization: Bearer $KEY"'
        return f"{line} -d {shlex.quote(json.dumps(sent, ensure_ascii=False))}"


def _answer_of(dialect: Dialect, sent: Mapping[str, Any], data: Any) -> Answer:
    """Read an answer. Raises ServerFailure for JSON that is not a completion."""
    try:
        return read_answer(dialect, sent, data)
    except (LookupError, TypeError, ArithmeticError, ValueError, AttributeError):
        line = f"{dialect.path}: the answer is not a completion: {json.dumps(data)[:120]}"
        raise http.ServerFailure("rejected", line) from None


def _together(parts: Sequence[tuple[Answer, float]], sent: Mapping[str, Any]) -> Answer:
    answers = [answer for answer, _ in parts]
    token_lists = [answer.tokens for answer in answers if answer.tokens is not None]
    return replace(
        answers[-1] if answers else Answer(sent),
        text="".join(answer.text for answer in answers),
        tokens=tuple(token for tokens in token_lists for token in tokens) if token_lists else None,
        ended=next((answer.ended for answer in reversed(answers) if answer.ended), ""),
        siblings=(),
        parts=tuple(answers),
        reports=tuple(report for answer in answers for report in answer.reports),
        times=tuple(at for _, at in parts),
        events=tuple(event for answer in answers for event in answer.events),
    )
