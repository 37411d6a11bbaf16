"""Ask a server about single parameters: all neutral but for these, each request sent once."""

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client, Prompt
from sampler_parity.programs.servers.dialects import TOKEN, ServerParameter

# They repeat themselves, so that penalties and DRY have something to act on.
PROMPTS = (
    "The list of names: one, two, three, one, two, three, one, two,",
    "for line in file:\n    print(line)\nfor line in file:\n    print(",
    "alpha beta gamma delta alpha beta gamma delta alpha beta gamma delta alpha beta",
)
LENGTH = 24
SEEDS = (7, 8, 9)
_FORCED, _TRIED = 30.0, 4  # a bias that makes a text of one token; tokens to try


class Undetermined(Exception):  # noqa: N818 - an answer
    """The effect of a parameter cannot be determined, for this reason. answer: the one that shows
    it."""

    def __init__(self, why: str, answer: Answer | None = None) -> None:
        super().__init__(why)
        self.answer = answer


class TimeOver(Exception):  # noqa: N818 - no defect
    """The time for requests is over."""


@dataclass
class Probe:
    """Ask a server, and keep the answers.

    greedy_seed: is sent with greedy requests. until: ends the requests (time.monotonic). seeds:
    whether a seed repeats a text. refused: forms of values that the server does not take.
    oracle_prompts: once found. undocumented: whether neutral values of undocumented parameters are
    sent, too, if a server accepts unknown names.
    """

    client: Client
    prompt: str = PROMPTS[0]
    length: int = LENGTH
    greedy_seed: int | None = None
    until: float = math.inf
    seeds: bool = False
    undocumented: bool = False
    answers: dict[str, Answer] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    oracle_prompts: dict[bool, Any] = field(default_factory=dict)

    def ask(
        self, prompt: Prompt | None = None, length: int | None = None, **changed: Any
    ) -> Answer:
        """Ask with all neutral but these; None: not sent at all. Raises ServerFailure and
        TimeOver."""
        prompt = self.prompt if prompt is None else prompt
        length = self.length if length is None else length
        everything = {**self.neutral, self.client.dialect.length: length, **changed}
        sent = {name: value for name, value in everything.items() if value is not None}
        key = json.dumps([prompt, sent], sort_keys=True)
        if key not in self.answers:
            self.answers[key] = self.send(prompt, sent)
        return self.answers[key]

    def send(self, prompt: Prompt, sent: dict[str, Any]) -> Answer:
        """Ask, whether it was asked before or not. Raises ServerFailure and TimeOver."""
        if (remaining := self.until - time.monotonic()) <= 0:
            raise TimeOver
        client = replace(self.client, seconds=min(self.client.seconds, remaining))
        return client.complete(prompt, sent)

    def again(self, answer: Answer) -> Answer:
        """Send the same request once more."""
        return self.send(self.prompt, self.client.parameters_of(answer.sent))

    @property
    def neutral(self) -> dict[str, Any]:
        dialect = self.client.dialect
        rows = (row for row in dialect.parameters if self.undocumented and not row.documented)
        further = {row.name: row.neutral for row in rows if row.neutral is not None}
        return dialect.neutral | further

    def greedy(self, **changed: Any) -> Answer:
        return self.ask(**{"temperature": 0.0, "seed": self.greedy_seed, **changed})

    def hot(self, seed: int = SEEDS[0], **changed: Any) -> Answer:
        return self.ask(**{"temperature": self.client.dialect.hot, "seed": seed, **changed})

    def hots(self, **changed: Any) -> list[Answer]:
        return [self.hot(seed, **changed) for seed in SEEDS]

    def row(self, name: str) -> ServerParameter | None:
        """Return the row of a parameter that the server may have."""
        rows = self.client.dialect.parameters
        return next((row for row in rows if row.name == name), None)

    def required_row(self, name: str, what: str = "") -> ServerParameter:
        """Return a parameter's row. Raises Undetermined if the dialect has none."""
        row = self.row(name)
        if row is None:
            raise Undetermined(f"the dialect has no {what or name}")
        return row

    def need_seeds(self) -> None:
        """Raise Undetermined if a seed does not repeat a text."""
        if not self.seeds:
            raise Undetermined("no seed repeats")

    def has_effect(self, name: str) -> bool:
        """Return whether a filter has an effect: at its extreme it leaves the most likely token."""
        row = self.row(name)
        if row is None or row.effect != "greedy":
            return False
        answer = self.hot(**{name: row.effective})
        free = any(hot.text != self.greedy().text for hot in self.hots())
        return free and not answer.refusal and answer.text == self.greedy().text

    def need_effect(self, name: str) -> None:
        """Raise Undetermined for a filter without effect."""
        if not self.has_effect(name):
            raise Undetermined(f"{name} has no effect")

    def bias(self, biases: Mapping[int, float]) -> dict[str, Any]:
        """Return biases of tokens as the dialect writes them; {} where it has none."""
        row = self.row("logit_bias")
        if row is None:
            return {}
        pairs = [[token, value] for token, value in biases.items()]
        as_pairs = isinstance(row.effective, list)
        return {"logit_bias": pairs if as_pairs else {str(t): value for t, value in pairs}}

    def repeating(self, row: ServerParameter) -> list[dict[str, Any]]:
        """Return no bias, and biases that each make a text of one token, for a parameter that acts
        on what repeats."""
        biases = [self.bias({TOKEN - i: _FORCED}) for i in range(_TRIED)]
        return [{}, *(bias for bias in biases if bias and not bias.keys() & row.also.keys())]

    @property
    def repeat_name(self) -> str:
        """Return the name of the repetition penalty; "" where there is none."""
        names = ("repeat_penalty", "repetition_penalty")
        return next((name for name in names if self.row(name) is not None), "")


def later_words(text: str) -> list[str]:
    """Return the words of a text that it does not begin with."""
    return [w for w in re.findall(r"\w{2,}", text)[1:] if not text.lstrip().startswith(w)]
