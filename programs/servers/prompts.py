"""Check that a prompt reaches the model as it was sent: others give other probabilities."""

import tomllib
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client, Prompt
from sampler_parity.programs.servers.observation import Observation, honoured_if
from sampler_parity.programs.servers.probe import LENGTH, PROMPTS

# Each differs from another one in one thing. The last two are as long as any text here.
_TABLE = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
ONE_APART = [*_TABLE["prompts"], *(first + _TABLE["long"] * 8 for first in "xy")]

_FEW = 4  # characters: one or two tokens, which rounding may change

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


def several_at_once(client: Client) -> Observation:
    """Require of a list of prompts a text for each, in their order: it shares more with the greedy
    text of its prompt alone than with those of the others."""
    dialect, prompts = client.dialect, [*PROMPTS]
    if dialect.chat or dialect.text == "ollama":
        return Observation("skipped", "a request of the dialect has one prompt")
    sent = {**dialect.neutral, dialect.length: LENGTH, "temperature": 0.0, "seed": 3}
    answer = client.complete(prompts, sent)
    if answer.refusal:
        return Observation("skipped", f"refused: {answer.refusal}", answer)
    by_index = {choice.index: choice.text for choice in (answer, *answer.siblings)}
    if sorted(by_index) != [*range(len(prompts))]:
        line = f"of {len(prompts)} prompts in a list the answers {[*by_index]} come"
        return Observation("other meaning", line, answer)
    texts = [client.complete(prompt, sent).text for prompt in prompts]
    for index, text in by_index.items():
        common = [_common(text, alone) for alone in texts]
        if common[index] + _FEW <= max(common):
            line = f"prompt {index} of a list has the text of prompt {common.index(max(common))}"
            return Observation("other meaning", line, answer)
    return Observation("honoured", f"{len(prompts)} prompts in a list, a text for each", answer)


def _common(first: str, second: str) -> int:
    """Return how many characters two texts begin with."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
