"""Check a server's probabilities: how many, in which order, of what, and how exact.

The model need not be known: logprobs are those before temperature and filters where neither
changes them; post_sampling_probs are those that are drawn from.
"""

import math
from collections.abc import Iterator
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.observation import Observation, ServerTest, honoured_if, observe
from sampler_parity.harness.servers.probe import PROMPTS

TOP = 5
_LENGTH = 8
# A float32 log-probability is exact to 1e-7 of itself; batches change logits by up to 0.002 (ggml,
# float16 weights). A server that rounds to three decimals is detected by its digits instead.
_NEAR = 5e-3


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
    return honoured_if(not wrong, right, f"{wrong[:1]} in the place of {TOP}", answer)


def _order(client: Client) -> Observation:
    answer = _ask(client, temperature=client.dialect.hot)
    lists = [[one.logprob for one in report.top] for report in answer.reports]
    wrong = [i for i, values in enumerate(lists) if values != sorted(values, reverse=True)]
    first = f"token {wrong[0]}: {lists[wrong[0]]}" if wrong else ""
    right = "the most likely first"
    return honoured_if(not wrong, right, f"not {right}: {first}", answer)


def _chosen(client: Client) -> Observation:
    """Require of a greedy token that it is the first of the list, and has the same value."""
    answer = _ask(client)
    for i, report in enumerate(answer.reports):
        best = max(report.top, key=lambda one: one.logprob, default=None)
        own = report.token
        if best is None or (best.text, best.logprob) != (own.text, own.logprob):
            of_list = "nothing" if best is None else f"{best.text!r} with {best.logprob:.7g}"
            wrong = (
                f"token {i}: {own.text!r} with {own.logprob:.7g}, first of the list is {of_list}"
            )
            return honoured_if(False, "", wrong, answer)
    return honoured_if(True, "of a greedy text the first of its list", "", answer)


def _sum(client: Client) -> Observation:
    answer = _ask(client)
    sums = [sum(one.p for one in report.top) for report in answer.reports]
    most = max(sums, default=0.0)
    line = f"the {TOP} have at most {most:.4f} together"
    return honoured_if(most <= 1 + 1e-5, line, line, answer)


def _digits(client: Client) -> Observation:
    """Refuse rounded values: a float32 has more digits than four."""
    answer = _ask(client)
    values = [one.logprob for report in answer.reports for one in report.top]
    for digits in (1, 2, 3, 4):
        if values and all(round(value, digits) == value for value in values):
            wrong = f"all values are rounded to {digits} decimals"
            return honoured_if(False, "", wrong, answer)
    return honoured_if(True, f"{len(values)} values with more than four decimals", "", answer)


def _before_temperature(client: Client) -> Observation:
    plain, other = _ask(client), _ask(client, temperature=0.25)
    return _same_first(plain, other, "temperature 0.25")


def _before_filters(client: Client) -> Observation:
    names = {row.name for row in client.dialect.parameters}
    if "top_k" not in names:
        return Observation("skipped", "the dialect has no top_k")
    return _same_first(_ask(client), _ask(client, top_k=2), "top_k 2")


def _same_first(plain: Answer, other: Answer, what: str) -> Observation:
    if not (plain.reports and other.reports) or other.refusal:
        return Observation("skipped", f"no probabilities to compare {other.refusal}")
    pairs = {one.text: one.logprob for one in plain.reports[0].top}
    values = [(pairs[one.text], one.logprob) for one in other.reports[0].top if one.text in pairs]
    off = max((abs(a - b) for a, b in values), default=math.inf)
    return honoured_if(
        off <= _NEAR and len(values) >= TOP,
        f"{what} does not change them: by {off:.2g} at most",
        f"{what} changes them: by {off:.3g}, {len(values)} of {TOP} are left",
        other,
    )


def _after_sampling(client: Client) -> Observation:
    """Require of top_k 3 three values that come to 1."""
    if client.dialect.text != "llama-server":
        return Observation("skipped", "the dialect has no post_sampling_probs")
    answer = _ask(client, temperature=1.0, top_k=3, post_sampling_probs=True)
    if answer.refusal or not answer.reports:
        return Observation("error", f"no probabilities: {answer.refusal}", answer)
    sums = [sum(one.logprob for one in report.top if one.logprob > 0) for report in answer.reports]
    off = max(abs(total - 1) for total in sums)
    wrong = f"post_sampling_probs of top_k 3 come to {min(sums):.4f} to {max(sums):.4f}"
    return honoured_if(off <= 1e-4, "post_sampling_probs of top_k 3 come to 1", wrong, answer)


PROBABILITIES: dict[str, ServerTest] = {
    "how many": _count,
    "order": _order,
    "the chosen token": _chosen,
    "sum": _sum,
    "digits": _digits,
    "before temperature": _before_temperature,
    "before filters": _before_filters,
    "after sampling": _after_sampling,
}
