"""Check a server's probabilities: how many, of what, and how exact.

The model need not be known: logprobs are those before temperature and filters where neither
changes them. invariants.py has what holds of every list.
"""

import math
from collections.abc import Iterator
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.observation import (
    Observation,
    ServerTest,
    honoured_if,
    observe,
)
from sampler_parity.programs.servers.probe import PROMPTS
from sampler_parity.programs.servers.server_record import ServerResult

TOP = 5
_LENGTH = 8
# A float32 log-probability is exact to 1e-7 of itself; batches change logits by up to 0.002 (ggml,
# float16 weights). A server that rounds to three decimals is detected by its digits instead.
TOLERANCE = 5e-3


def check_probabilities(client: Client) -> Iterator[ServerResult]:
    if client.dialect.probabilities:
        yield from observe("probabilities", PROBABILITIES, client)


def _ask(client: Client, **changed: Any) -> Answer:
    dialect = client.dialect
    sent = {**dialect.neutral, dialect.length: _LENGTH, "temperature": 0.0, "seed": 3}
    return client.complete(PROMPTS[0], {**sent, **dialect.probabilities, **changed})


def _count(client: Client) -> Observation:
    answer, hot = _ask(client), _ask(client, temperature=client.dialect.hot)
    # OpenAI's list may have the chosen token, too
    most = TOP + (client.dialect.text == "openai")
    reports = answer.reports + hot.reports
    wrong = [len(p.top) for p in reports if not TOP <= len(p.top) <= most]
    if not answer.reports and not answer.refusal:
        line = f"{client.dialect.probabilities}: no probabilities come"
        return Observation("ignored", line, answer)
    right = f"{TOP} of each of {len(answer.reports)} tokens"
    return honoured_if(not wrong, right, f"{wrong[:1]} instead of {TOP}", answer)


def _chosen(client: Client) -> Observation:
    """Require of a greedy token that it is the first of the list, and has the same value."""
    answer = _ask(client)
    for i, report in enumerate(answer.reports):
        best = max(report.top, key=lambda token: token.logprob, default=None)
        chosen = report.token
        if best is None or (best.text, best.logprob) != (chosen.text, chosen.logprob):
            of_list = "nothing" if best is None else f"{best.text!r} with {best.logprob:.7g}"
            wrong = f"token {i}: {chosen.text!r} with {chosen.logprob:.7g},"
            wrong += f" first of the list is {of_list}"
            return honoured_if(False, "", wrong, answer)
    return honoured_if(True, "of a greedy text the first of its list", "", answer)


def _digits(client: Client) -> Observation:
    """Refuse rounded values: a float32 has more digits than four."""
    answer = _ask(client)
    values = [token.logprob for report in answer.reports for token in report.top]
    if len(values) > 1 and len({*values}) == 1:
        return honoured_if(False, "", f"the logprob of each token is {values[0]:g}", answer)
    for digits in (1, 2, 3, 4):
        if values and all(round(value, digits) == value for value in values):
            wrong = f"all values are rounded to {digits} decimals"
            return honoured_if(False, "", wrong, answer)
    return honoured_if(True, f"{len(values)} values with more than four decimals", "", answer)


def _before_temperature(client: Client) -> Observation:
    plain, changed = _ask(client), _ask(client, temperature=0.25)
    return _same_first(plain, changed, "temperature 0.25")


def _before_filters(client: Client) -> Observation:
    names = {row.name for row in client.dialect.parameters}
    if "top_k" not in names:
        return Observation("skipped", "the dialect has no top_k")
    return _same_first(_ask(client), _ask(client, top_k=2), "top_k 2")


def _in_a_stream(client: Client) -> Observation:
    """Require of a stream the tokens and logprobs that the answer has in one."""
    plain = _ask(client)
    parts = client.streamed(PROMPTS[0], client.parameters_of(plain.sent))
    if not (plain.reports and plain.text.isascii()):  # parts of a character have no list
        return Observation("skipped", "no probabilities of whole characters to compare")
    want, got = ([report.token for report in side.reports] for side in (plain, parts))
    agree = all(
        a.text == b.text and abs(a.logprob - b.logprob) <= TOLERANCE
        for a, b in zip(want, got, strict=False)
    )
    wrong = f"{len(got)} tokens have logprobs {[token.logprob for token in got][:3]}, in one part "
    wrong += f"{len(want)} have {[token.logprob for token in want][:3]}"
    return honoured_if(agree and len(got) == len(want), f"{len(want)} as in one part", wrong, parts)


def _same_first(plain: Answer, changed: Answer, what: str) -> Observation:
    if not (plain.reports and changed.reports) or changed.refusal:
        return Observation("skipped", f"no probabilities to compare {changed.refusal}")
    pairs = {token.text: token.logprob for token in plain.reports[0].top}
    values = [
        (pairs[token.text], token.logprob)
        for token in changed.reports[0].top
        if token.text in pairs
    ]
    off = max((abs(a - b) for a, b in values), default=math.inf)
    return honoured_if(
        off <= TOLERANCE and len(values) >= TOP,
        f"{what} does not change them: by {off:.2g} at most",
        f"{what} changes them: by {off:.3g}, {len(values)} of {TOP} are left",
        changed,
    )


PROBABILITIES: dict[str, ServerTest] = {
    "how many": _count,
    "the chosen token": _chosen,
    "digits": _digits,
    "before temperature": _before_temperature,
    "before filters": _before_filters,
    "in a stream": _in_a_stream,
}
