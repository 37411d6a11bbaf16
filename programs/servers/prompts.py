"""Check that a prompt reaches the model as it was sent: others give other probabilities."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client, Prompt
from sampler_parity.programs.servers.observation import Observation, honoured_if

# Each differs from another one in one thing. The last two are as long as any text here.
_TABLE = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
ONE_APART = [*_TABLE["prompts"], *(first + _TABLE["long"] * 8 for first in "xy")]

Ask = Callable[[Prompt, Mapping[str, Any]], Answer]


def first_token(client: Client, prompt: Prompt, ask: Ask | None = None, **changed: Any) -> Answer:
    """Ask for one token with probabilities, plain or as `ask` does."""
    dialect = client.dialect
    sent = {**dialect.neutral, dialect.length: 1, "temperature": 0.0, "seed": 3}
    return (ask or client.complete)(prompt, {**sent, **dialect.probabilities, **changed})


def listed(answer: Answer) -> dict[int | str, float]:
    return {token.name: token.logprob for report in answer.reports[:1] for token in report.top}


def prompts_differ(client: Client) -> Observation:
    prompts_by_values: dict[tuple[tuple[int | str, float], ...], str] = {}
    # The template of a chat may leave out blanks around a message.
    several = dict.fromkeys(p.strip() if client.dialect.chat else p for p in ONE_APART)
    for prompt in several:
        answer = first_token(client, prompt)
        values = tuple(listed(answer).items())
        if not values:  # greedy texts may be equal
            return Observation("skipped", "the dialect does not offer probabilities")
        if (same := prompts_by_values.setdefault(values, prompt)) != prompt:
            line = f"{prompt[-40:]!r} has the probabilities of {same[-40:]!r}"
            return honoured_if(False, "", line, answer)
    return Observation("honoured", f"{len(several)} prompts, each with its own probabilities")
