"""Compare a server's probabilities with the model's logits, if we have the model.

A logprob is documented as that of the model, before any sampler: log-softmax of the logits.
If values differ, the check looks for a meaning that they fit.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from sampler_parity.harness.protocol.client import Row
from sampler_parity.programs.servers.answer import Answer, TokenProbability, TokenReport
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.observation import Observation, honoured_if
from sampler_parity.programs.servers.oracle.model import (
    DecodedModel,
    KnownModel,
    ModelTest,
    observe_with,
)
from sampler_parity.programs.servers.probabilities import TOP
from sampler_parity.programs.servers.server_record import ServerResult

_LENGTH = 12
_UNIT = 2.0**-24  # of a float32: half of its last bit, relative
_ELSEWHERE = 0.05  # values of other builds, devices and batches differed by less
_SAMPLED: dict[str, Any] = {"temperature": 0.5, "top_k": 3}
_HOT: dict[str, Any] = {"temperature": 2.0}  # tokens outside the list of the five most likely
Values = NDArray[np.float64]


@dataclass(frozen=True)
class _Token:
    """A server's report on a token, and the logits that it was sampled from."""

    report: TokenReport
    row: Row

    @property
    def probabilities(self) -> tuple[TokenProbability, ...]:
        return (self.report.token, *self.report.top)


def bound(n_vocab: int, logprob: float) -> float:
    """Return how far a log-softmax in float32 may be off.

    A sum of n terms in any order by n - 1 units, an exponential, a division and a logarithm by a
    few; and the value's own last bit. As text a float32 loses nothing.
    """
    return (n_vocab + 16) * _UNIT + 4 * _UNIT * abs(logprob)


def log_softmax(row: Row, temperature: float = 1.0) -> Values:
    return np.asarray(scipy.special.log_softmax(row.astype(np.float64) / temperature))


def check_values(client: Client, model: KnownModel) -> Iterator[ServerResult]:
    """Return a result for each test. Raises InputError if nothing decodes the model."""
    yield from observe_with(model, "probabilities", value_tests(), client)


def value_tests() -> dict[str, ModelTest]:
    return {
        "values": partial(_as_the_model, {"temperature": 0.0}),
        "values of a hot text": partial(_as_the_model, _HOT),
        "values with samplers": partial(_as_the_model, _SAMPLED),
    }


def _as_the_model(changed: Mapping[str, Any], model: DecodedModel, client: Client) -> Observation:
    """Require the model's values of every token, and a list of the most likely tokens."""
    count, most, outside = 0, 0.0, 0
    for seed, prompt in enumerate([*model.known.prompts.values()][:3]):
        answer, tokens = _reports(client, model, prompt, {"seed": seed, **changed})
        if not tokens:
            return Observation("error", f"no probabilities to compare: {answer.refusal}", answer)
        for i, token in enumerate(tokens):
            logprobs = log_softmax(token.row)
            if wrong := _wrong(token, logprobs, model.known):
                explanation = _explanation(tokens, model.known, answer.sent)
                return honoured_if(False, "", f"token {i}: {wrong}{explanation}", answer)
            most = max(most, *(abs(v - w) for v, w in _pairs(token, logprobs, model.known)))
            count += len(token.probabilities)
            outside += token.report.token.name not in {top.name for top in token.report.top}
    right = f"{count} values the model's, by {most:.1g} at most; {outside} chosen outside the list"
    return Observation("honoured", right, answer, {"off": most, "outside": float(outside)})


def _reports(
    client: Client, model: DecodedModel, prompt: list[int], changed: Mapping[str, Any]
) -> tuple[Answer, list[_Token]]:
    """Return an answer, and for each of its tokens the report and the logits."""
    dialect, known_model = client.dialect, model.known
    text = known_model.prompt_as_sent(prompt)
    sent = {**dialect.neutral, **dialect.drawn, dialect.length: _LENGTH, **changed}
    answer = client.complete(text, {**sent, **dialect.probabilities})
    if answer.refusal or not answer.reports:
        return answer, []
    reports = answer.reports
    if dialect.drawn and answer.tokens is None:  # mlx-lm names its tokens if no list is asked for
        alone = client.complete(text, sent).reports
        reports = tuple(
            TokenReport(chosen.token, report.top)
            for chosen, report in zip(alone, reports, strict=False)
        )
    drawn = _tokens(reports, known_model) if answer.tokens is None else answer.tokens
    rows = model.rows(known_model.prompt_as_read(prompt), drawn[: len(reports) - 1], answer)
    return answer, [_Token(report, row) for report, row in zip(reports, rows, strict=False)]


def _tokens(reports: Sequence[TokenReport], model: KnownModel) -> tuple[int, ...]:
    """Return the tokens that are named, or have the texts, up to the first ambiguous one."""
    tokens = [report.token for report in reports]
    ids = [
        [token.id] if token.id >= 0 else model.tokens_by_text.get(token.text, [])
        for token in tokens
    ]
    plain = takewhile(lambda matches: len(matches) == 1, ids)
    return tuple(token for (token,) in plain)


def _value(token: TokenProbability, logprobs: Values, model: KnownModel) -> float:
    """Return the model's value: of a text, the nearest of its tokens; NaN where it has none."""
    if token.id >= 0:
        return float(logprobs[token.id]) if token.id < len(logprobs) else math.nan
    values = (float(logprobs[i]) for i in model.tokens_by_text.get(token.text, ()))
    return min(values, key=lambda value: abs(value - token.logprob), default=math.nan)


def _pairs(token: _Token, logprobs: Values, model: KnownModel) -> list[tuple[float, float]]:
    return [
        (probability.logprob, _value(probability, logprobs, model))
        for probability in token.probabilities
    ]


def _wrong(token: _Token, logprobs: Values, model: KnownModel) -> str:
    """Return the first value that is not its token's; then a list without the most likely."""
    n = len(logprobs)
    pairs = _pairs(token, logprobs, model)
    for probability, (value, right) in zip(token.probabilities, pairs, strict=True):
        if not abs(value - right) <= bound(n, right) + model.rounding:
            return f"{probability.text!r} has {value:.7g}, the model gives {right:.7g}"
    top = token.report.top
    values = sorted((entry.logprob for entry in top), reverse=True)
    best = np.sort(logprobs)[::-1]
    if len({entry.name for entry in top}) < len(top):
        return f"a token twice in the list: {[entry.name for entry in top]}"
    for i, value in enumerate(values[:TOP]):  # OpenAI's may have the chosen one behind them
        if best[i] - value > 2 * (bound(n, value) + model.rounding):
            return f"a token with {best[i]:.7g} is not in the list, which has {value:.7g}"
    return ""


def _explanation(tokens: Sequence[_Token], model: KnownModel, sent: Mapping[str, Any]) -> str:
    """Return what the values are instead, where one of these fits them all."""
    temperature = float(sent.get("temperature") or 1.0)
    pairs = [pair for token in tokens for pair in _pairs(token, log_softmax(token.row), model)]
    for digits in (4, 3, 2, 1):
        step = 10.0**-digits
        # Half a step of rounding, and a little for float32.
        if all(abs(v - w) <= 0.5001 * step and _is_round(v, digits) for v, w in pairs):
            return f"; all are rounded to {digits} decimals"
    if all(not _wrong(token, log_softmax(token.row, temperature), model) for token in tokens):
        return f"; all are those after temperature {temperature:g}"
    sums = [sum(top.p for top in token.report.top) for token in tokens]
    if all(abs(total - 1) < 1e-3 for total in sums):
        return "; they come to 1 over the list alone"
    most = max(abs(v - w) for v, w in pairs)
    return f"; all are within {most:.2g}: another build's or device's" if most < _ELSEWHERE else ""


def _is_round(value: float, digits: int) -> bool:
    return abs(value - round(value, digits)) < 1e-7
