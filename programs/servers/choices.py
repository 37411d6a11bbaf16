"""Check that texts drawn without a seed differ: the choices of one request, and several requests.

At temperature 1 and without filters the chance of a second text like the first is the product of
the probabilities that the server reports. A text is made longer until that is below RARE.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sampler_parity.programs.servers.answer import FULL, Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.dialects import MOST, SEVERAL, Dialect
from sampler_parity.programs.servers.observation import Observation, ServerTest, honoured_if
from sampler_parity.programs.servers.probe import LENGTH, PROMPTS, SEEDS

RARE = 1e-9  # a chance that no check meets
TEXTS = MOST  # choices of a request, or requests without a seed
_SEEDS = 16


@dataclass(frozen=True)
class _Draw:
    """A request without a seed. odds: why two of its texts differ; "": they may agree. pairs: any
    two that agree are wrong; else only all of them."""

    sent: dict[str, Any]
    odds: str
    pairs: bool


def choice_tests(dialect: Dialect) -> dict[str, ServerTest]:
    """Return the tests that suit a dialect."""
    tests: dict[str, ServerTest] = {}
    if dialect.random:
        tests["without a seed"] = _without_a_seed
    if dialect.several:
        tests |= {"choices": _choices, "choices with a seed": _choices_with_a_seed}
        tests["choices in a stream"] = _choices_in_a_stream
    elif SEVERAL in dialect.unavailable:
        tests["choices"] = _one_slot
    return tests


def _without_a_seed(client: Client) -> Observation:
    """Require another text of each request without a seed."""
    draw = _draw(client)
    answers = [client.complete(PROMPTS[0], draw.sent) for _ in range(TEXTS)]
    return _differing(answers, draw, f"{TEXTS} requests without a seed")


def _choices(client: Client, **seed: int) -> Observation:
    """Require another text of each choice of a request."""
    draw, (name,) = _draw(client), client.dialect.several
    count = min(TEXTS, client.dialect.slots)
    answer = client.complete(PROMPTS[0], draw.sent | {name: count} | seed)
    came = [answer, *answer.siblings]
    if len(came) < count and not answer.refusal:
        return Observation("ignored", f"{name} {count}: {len(came)} choices come", answer)
    how = f"with seed {seed['seed']}" if seed else "without a seed"
    return _differing(came, draw, f"{name} {count} {how}")


def _one_slot(client: Client) -> Observation:
    return Observation("skipped", client.dialect.unavailable[SEVERAL])


def _choices_with_a_seed(client: Client) -> Observation:
    """Require the same with a seed: each choice has another one, or all of them one generator."""
    return _choices(client, seed=SEEDS[0])


def _choices_in_a_stream(client: Client) -> Observation:
    """Require of the parts of a stream that they name all choices."""
    (name,), count = client.dialect.several, min(TEXTS, client.dialect.slots)
    answer = client.streamed(PROMPTS[0], _draw(client).sent | {name: count})
    if answer.refusal:
        return Observation("skipped", f"refused: {answer.refusal}", answer)
    indexes = [choice.index for choice in (answer, *answer.siblings)]
    line = f"{name} {count} in a stream: the choices {indexes} come"
    return honoured_if(indexes == [*range(count)], line, line, answer)


def _differing(answers: Sequence[Answer], draw: _Draw, what: str) -> Observation:
    refused = next((answer for answer in answers if answer.refusal), None)
    if refused is not None:
        return Observation("error", f"{what}: refused: {refused.refusal}", refused)
    finished = [answer for answer in answers if answer.ended in FULL]
    if not draw.odds or len(finished) < 2:
        return Observation("skipped", "texts of this model may be equal by chance")
    agree = [first.text == second.text for first, second in combinations(finished, 2)]
    texts = len({answer.text for answer in finished})
    line = f"{what}: {texts} texts of {len(finished)}; {draw.odds}"
    wrong = any(agree) if draw.pairs else all(agree)
    return Observation("other meaning" if wrong else "honoured", line, finished[-1])


def _draw(client: Client) -> _Draw:
    """Return a request whose texts differ, by the probabilities or by the texts of seeds."""
    dialect = client.dialect
    for length in (LENGTH, 4 * LENGTH):
        plain = {**dialect.neutral, dialect.length: length}
        sent = {**plain, "temperature": 1.0, **dialect.probabilities}
        answer = client.complete(PROMPTS[0], sent)
        chance = math.exp(min(0.0, sum(report.token.logprob for report in answer.reports)))
        if chance < RARE or answer.refusal:
            return _Draw(sent, f"two agree with a chance of {chance:.1g}", True)
    hot = {**plain, dialect.length: LENGTH, "temperature": dialect.hot}
    seeded = [client.complete(PROMPTS[0], {**hot, "seed": seed}).text for seed in range(_SEEDS)]
    are_distinct = len({*seeded}) == _SEEDS and not answer.reports
    return _Draw(hot, f"no two of {_SEEDS} seeds agree" if are_distinct else "", False)
