"""A completion in any dialect: what is sent, and the answer in one form."""

import json
import math
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sampler_parity.harness.servers import http
from sampler_parity.harness.servers.address import Address
from sampler_parity.harness.servers.dialects import Dialect

Prompt = str | list[int]
SILENT = 3  # requests in a row without an answer in time: a server that hangs is asked no more


@dataclass(frozen=True)
class Alternative:
    """A token of a list of the most likely ones. id: -1 where the server names text alone."""

    id: int
    text: str
    logprob: float

    @property
    def named(self) -> int | str:
        return self.id if self.id >= 0 else self.text

    @property
    def p(self) -> float:
        return math.exp(min(self.logprob, 700.0))  # a server may say anything


@dataclass(frozen=True)
class Place:
    """What is said of one token of the text."""

    token: Alternative
    top: tuple[Alternative, ...]


@dataclass(frozen=True)
class Answer:
    """refusal: why the server refused, or "". tokens: None where it names none. times: of a stream,
    when each event came."""

    sent: Mapping[str, Any]
    text: str = ""
    tokens: tuple[int, ...] | None = None
    places: tuple[Place, ...] = ()
    ended: str = ""
    refusal: str = ""
    times: tuple[float, ...] = ()

    @property
    def got(self) -> str:
        """As evidence, short."""
        return f"refused: {self.refusal}" if self.refusal else json.dumps(self.text)[:120]


@dataclass
class Silence:
    """How many requests in a row had no answer in time, and when the last of them ended. Those that
    were sent at once count as one."""

    count: int = 0
    until: float = 0.0

    def goes_on(self, begun: float) -> None:
        if begun >= self.until:
            self.count, self.until = self.count + 1, time.monotonic()


@dataclass(frozen=True)
class Client:
    """A server, and how it is asked. eos: the token that ends a text, where it is known."""

    address: Address
    dialect: Dialect
    model: str = ""
    eos: int | None = None
    seconds: float = http.SECONDS
    asked: list[int] = field(default_factory=lambda: [0])
    silence: Silence = field(default_factory=Silence)

    def body(self, prompt: Prompt, parameters: Mapping[str, Any]) -> dict[str, Any]:
        dialect = self.dialect
        grouped: dict[str, Any] = (
            {dialect.group: dict(parameters)} if dialect.group else {**parameters}
        )
        named = {"model": self.model} if self.model else {}
        said: dict[str, Any] = {"prompt": prompt}
        if dialect.chat:
            said = {"messages": [{"role": "user", "content": prompt}]}
        return {**named, **said, **dialect.always, **grouped}

    def parameters_of(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """What a request says beside its prompt and the model."""
        dialect = self.dialect
        parameters = sent[dialect.group] if dialect.group else sent
        not_own = ("prompt", "messages", "model", *dialect.always)
        return {name: value for name, value in parameters.items() if name not in not_own}

    def complete(self, prompt: Prompt, parameters: Mapping[str, Any]) -> Answer:
        """Raises Failure where no answer comes."""
        sent = self.body(prompt, parameters)
        with self._asking(sent):
            reply = http.ask(self.address, self.dialect.path, sent, self.seconds)
            if reply.refused:
                return Answer(sent, refusal=reply.reason or f"status {reply.status}")
            return answer_of(self.dialect, sent, reply.data)

    def streamed(
        self, prompt: Prompt, parameters: Mapping[str, Any], leave_after: int | None = None
    ) -> Answer:
        """The same in parts, put together. Raises Failure."""
        sent = {**self.body(prompt, parameters), "stream": True}
        with self._asking(sent):
            events = http.stream(
                self.address, self.dialect.path, sent, self.seconds, leave_after=leave_after
            )
            if isinstance(events, http.Reply):
                return Answer(sent, refusal=events.reason or f"status {events.status}")
            return _together(
                [(answer_of(self.dialect, sent, event.data), event.at) for event in events], sent
            )

    @contextmanager
    def _asking(self, sent: Mapping[str, Any]) -> Iterator[None]:
        if self.silence.count >= SILENT:
            line = f"not asked: {SILENT} requests in a row had no answer in time"
            raise http.Failure("timeout", line)
        self.asked[0] += 1
        begun = time.monotonic()
        try:
            yield
        except http.Failure as failure:
            failure.sent = sent
            if failure.verdict == "timeout":
                self.silence.goes_on(begun)
                raise
            self.silence.count = 0
            raise
        self.silence.count = 0

    def curl(self, sent: Mapping[str, Any]) -> str:
        """The request as a line for a shell; a key is named, not shown."""
        words = ["curl", self.address.url + self.dialect.path]
        words += ["-H", "Content-Type: application/json"]
        line = shlex.join(words)
        if self.address.key:
            line += ' -H "Authorization: Bearer $KEY"'
        return f"{line} -d {shlex.quote(json.dumps(sent, ensure_ascii=False))}"


def answer_of(dialect: Dialect, sent: Mapping[str, Any], data: Any) -> Answer:
    """Raises Failure for JSON that is no completion."""
    try:
        if dialect.text == "llama-server":
            return _of_llama_server(sent, data)
        if dialect.text == "ollama":
            return Answer(sent, str(data["response"]), ended=str(data.get("done_reason", "")))
        return _of_openai(sent, data)
    except (LookupError, TypeError, ArithmeticError, ValueError, AttributeError):
        line = f"{dialect.path}: the answer is no completion: {json.dumps(data)[:120]}"
        raise http.Failure("rejected", line) from None


def _of_llama_server(sent: Mapping[str, Any], data: Any) -> Answer:
    """logprob, or with post_sampling_probs prob; the tops in the same words."""
    return Answer(
        sent,
        _text(data["content"]),
        tuple(int(token) for token in data.get("tokens", ())),
        tuple(
            Place(_alternative(place), tuple(map(_alternative, _tops(place))))
            for place in data.get("completion_probabilities", ())
        ),
        str(data.get("stop_type", "")),
    )


def _tops(place: Mapping[str, Any]) -> Sequence[Any]:
    tops: Sequence[Any] = place["top_logprobs"] if "top_logprobs" in place else place["top_probs"]
    return tops


def _alternative(one: Mapping[str, Any]) -> Alternative:
    value = one["logprob"] if "logprob" in one else one["prob"]
    text = one["token"] if "id" not in one else one.get("token", "")  # mlx-lm's have the id alone
    return Alternative(int(one.get("id", -1)), _text(text), float(value))


def _of_openai(sent: Mapping[str, Any], data: Any) -> Answer:
    """/v1/completions: logprobs of four lists, or as chat has them (`content`)."""
    choice = data["choices"][0]
    said = choice.get("logprobs") or {}
    if "content" in said:
        places = tuple(
            Place(_alternative(one), tuple(map(_alternative, one.get("top_logprobs", ()))))
            for one in said["content"] or ()
        )
    else:
        places = tuple(
            Place(
                _by_text(_text(text), math.nan if value is None else float(value)),
                tuple(_by_text(str(word), float(p)) for word, p in (top or {}).items()),
            )
            for text, value, top in zip(
                said.get("tokens") or (),
                said.get("token_logprobs") or (),
                said.get("top_logprobs") or [{}] * len(said.get("tokens") or ()),
                strict=True,
            )
        )
    drawn = choice.get("token_ids")  # vLLM's, where they are asked for
    tokens = None if drawn is None else tuple(int(token) for token in drawn)
    return Answer(sent, _said(choice), tokens, places, str(choice.get("finish_reason") or ""))


def _by_text(text: str, logprob: float) -> Alternative:
    """vLLM writes ids as texts where it is asked to."""
    named = re.fullmatch(r"token_id:(\d+)", text)
    return Alternative(int(named[1]) if named else -1, text, logprob)


def _said(choice: Mapping[str, Any]) -> str:
    """Of a text, of a message, or of a part of one: the first and the last may say nothing."""
    if "text" in choice:
        return _text(choice["text"])
    message = choice["message"] if "message" in choice else choice["delta"]
    return _text(message.get("content") or "")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    return value


def _together(parts: Sequence[tuple[Answer, float]], sent: Mapping[str, Any]) -> Answer:
    answers = [answer for answer, _ in parts]
    named = [answer.tokens for answer in answers if answer.tokens is not None]
    return replace(
        answers[-1] if answers else Answer(sent),
        text="".join(answer.text for answer in answers),
        tokens=tuple(token for tokens in named for token in tokens) if named else None,
        places=tuple(place for answer in answers for place in answer.places),
        times=tuple(at for _, at in parts),
    )
