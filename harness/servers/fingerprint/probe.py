"""What statements about a server are made of: requests, each asked once, until the time is over."""

import json
import time
from dataclasses import dataclass, field, replace
from typing import Any

from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.dialects import Parameter

CANNOT = "cannot tell"
LENGTH = 12  # tokens of a text: few, for a large model gives 20 a second
SEEDS = (7, 8, 9)
# Where a text goes on in many ways, draws tell most; the last one repeats itself, for penalties.
PROMPTS = (
    "The",
    "It is",
    "class",
    "Once upon a time there was a",
    "I think that",
    "import",
    "for line in file:\n    print(line)\nfor line in file:\n    print(",
)


@dataclass(frozen=True)
class Said:
    """An answer of those that a statement has, and what shows it."""

    says: str
    evidence: str
    answer: Answer | None = None


def cannot(why: str, answer: Answer | None = None) -> Said:
    return Said(CANNOT, why, answer)


class Over(Exception):  # noqa: N818 - no defect
    """The time is over."""


@dataclass
class Probe:
    """until: of time.monotonic. seeds: whether a seed repeats a text. wide: whether neutral values
    of undocumented parameters are sent, too: where a server takes unknown names."""

    client: Client
    until: float
    seeds: bool = False
    wide: bool = False
    prompt: str = PROMPTS[-1]
    answers: dict[str, Answer] = field(default_factory=dict)

    def ask(self, prompt: str | None = None, length: int = LENGTH, **changed: Any) -> Answer:
        """All neutral but for these; None: not sent at all. Raises Failure and Over."""
        dialect = self.client.dialect
        prompt = self.prompt if prompt is None else prompt
        everything = {**self.neutral, dialect.length: length, **changed}
        sent = {name: value for name, value in everything.items() if value is not None}
        key = json.dumps([prompt, sent], sort_keys=True)
        if key not in self.answers:
            self.answers[key] = self.anew(prompt, sent)
        return self.answers[key]

    def anew(self, prompt: str, sent: dict[str, Any]) -> Answer:
        if (left := self.until - time.monotonic()) <= 0:
            raise Over
        client = replace(self.client, seconds=min(self.client.seconds, left))
        return client.complete(prompt, sent)

    @property
    def neutral(self) -> dict[str, Any]:
        rows = (row for row in self.client.dialect.parameters if row.documented or self.wide)
        return {row.name: row.neutral for row in rows if row.neutral is not None and not row.alone}

    def greedy(self, **changed: Any) -> Answer:
        return self.ask(**{"temperature": 0.0, "seed": SEEDS[0], **changed})

    def hot(self, seed: int = SEEDS[0], **changed: Any) -> Answer:
        return self.ask(**{"temperature": self.client.dialect.hot, "seed": seed, **changed})

    def hots(self, **changed: Any) -> list[Answer]:
        return [self.hot(seed, **changed) for seed in SEEDS]

    def row(self, name: str) -> Parameter | None:
        """Of a parameter that the server may have."""
        rows = self.client.dialect.parameters
        return next((row for row in rows if row.name == name), None)

    def has(self, name: str) -> bool:
        """Whether a filter has its effect: at its extreme only the most likely token is left."""
        row = self.row(name)
        if row is None or row.effect != "greedy":
            return False
        answer = self.hot(**{name: row.effective})
        free = any(a.text != self.greedy().text for a in self.hots())
        return free and not answer.refusal and answer.text == self.greedy().text

    def bias(self, token: int, value: float) -> dict[str, Any]:
        """As the dialect writes it; empty where it has none."""
        row = self.row("logit_bias")
        if row is None:
            return {}
        as_pairs = isinstance(row.effective, list)
        return {"logit_bias": [[token, value]] if as_pairs else {str(token): value}}

    @property
    def repeat(self) -> str:
        """The name of the repetition penalty; "" where there is none."""
        names = ("repeat_penalty", "repetition_penalty")
        return next((name for name in names if self.row(name) is not None), "")
