"""What a server's probabilities are: how many, in which order, of what, and how exact.

From outside, without the model: logprobs are those before temperature and filters where neither
changes them; post_sampling_probs are those that are drawn from.
"""

import math
from collections.abc import Iterator
from typing import Any

from sampler_parity.harness.bundle.records.server import ServerResult
from sampler_parity.harness.servers.client import Answer, Client
from sampler_parity.harness.servers.observation import Fact, Told, right_if, told
from sampler_parity.harness.servers.parameters import PROMPTS

TOP = 5
_LENGTH = 8
# A float32 log-probability is exact to 1e-7 of itself; batches change logits by up to 0.002 (ggml,
# float16 weights). A server that rounds to three decimals is told by its digits, not by this.
_NEAR = 5e-3


def check_probabilities(client: Client) -> Iterator[ServerResult]:
    if client.dialect.probabilities:
        yield from told("probabilities", PROBABILITIES, client)


def _ask(client: Client, **changed: Any) -> Answer:
    dialect = client.dialect
    sent = {**dialect.neutral, dialect.length: _LENGTH, "temperature": 0.0, "seed": 3}
    return client.complete(PROMPTS[0], {**sent, **dialect.probabilities, **changed})


def _count(client: Client) -> Told:
    answer = _ask(client)
    # OpenAI's list may have the chosen token beside them
    wrong = [len(p.top) for p in answer.places if not TOP <= len(p.top) <= TOP + 1]
    if not answer.places and not answer.refusal:
        return Told("ignored", f"{client.dialect.probabilities}: no probabilities come", answer)
    right = f"{TOP} of each of {len(answer.places)} tokens"
    return right_if(not wrong, right, f"{wrong[:1]} in the place of {TOP}", answer)


def _order(client: Client) -> Told:
    answer = _ask(client)
    lists = [[one.logprob for one in place.top] for place in answer.places]
    wrong = [i for i, values in enumerate(lists) if values != sorted(values, reverse=True)]
    said = f"token {wrong[0]}: {lists[wrong[0]]}" if wrong else ""
    return right_if(
        not wrong, "the most likely first", f"not the most likely first: {said}", answer
    )


def _chosen(client: Client) -> Told:
    """Greedy: it is the first of the list, and has the same value."""
    answer = _ask(client)
    for i, place in enumerate(answer.places):
        best = max(place.top, key=lambda one: one.logprob, default=None)
        if best is None or (best.text, best.logprob) != (place.token.text, place.token.logprob):
            return right_if(False, "", f"token {i}: {place.token}, of the list {best}", answer)
    return right_if(True, "of a greedy text the first of its list", "", answer)


def _sum(client: Client) -> Told:
    answer = _ask(client)
    sums = [sum(one.p for one in place.top) for place in answer.places]
    most = max(sums, default=0.0)
    said = f"the {TOP} have at most {most:.4f} together"
    return right_if(most <= 1 + 1e-5, said, said, answer)


def _digits(client: Client) -> Told:
    """Rounded values are few: a float32 has more digits than four."""
    answer = _ask(client)
    values = [one.logprob for place in answer.places for one in place.top]
    for digits in (1, 2, 3, 4):
        if values and all(round(value, digits) == value for value in values):
            wrong = f"all values are rounded to {digits} decimals"
            return right_if(False, "", wrong, answer)
    return right_if(True, f"{len(values)} values with more than four decimals", "", answer)


def _before_temperature(client: Client) -> Told:
    plain, other = _ask(client), _ask(client, temperature=0.25)
    return _same_first(plain, other, "temperature 0.25")


def _before_filters(client: Client) -> Told:
    names = {row.name for row in client.dialect.parameters}
    if "top_k" not in names:
        return Told("skipped", "the dialect has no top_k")
    return _same_first(_ask(client), _ask(client, top_k=2), "top_k 2")


def _same_first(plain: Answer, other: Answer, what: str) -> Told:
    if not (plain.places and other.places) or other.refusal:
        return Told("skipped", f"no probabilities to compare {other.refusal}")
    pairs = {one.text: one.logprob for one in plain.places[0].top}
    values = [(pairs[one.text], one.logprob) for one in other.places[0].top if one.text in pairs]
    off = max((abs(a - b) for a, b in values), default=math.inf)
    return right_if(
        off <= _NEAR and len(values) >= TOP,
        f"{what} does not change them: by {off:.2g} at most",
        f"{what} changes them: by {off:.3g}, {len(values)} of {TOP} are left",
        other,
    )


def _after_sampling(client: Client) -> Told:
    """With top_k 3, three, which come to 1."""
    if client.dialect.text != "llama-server":
        return Told("skipped", "the dialect has no post_sampling_probs")
    answer = _ask(client, temperature=1.0, top_k=3, post_sampling_probs=True)
    if answer.refusal or not answer.places:
        return Told("error", f"no probabilities: {answer.refusal}", answer)
    sums = [sum(one.logprob for one in place.top if one.logprob > 0) for place in answer.places]
    off = max(abs(total - 1) for total in sums)
    wrong = f"post_sampling_probs of top_k 3 come to {min(sums):.4f} to {max(sums):.4f}"
    return right_if(off <= 1e-4, "post_sampling_probs of top_k 3 come to 1", wrong, answer)


PROBABILITIES: dict[str, Fact] = {
    "how many": _count,
    "order": _order,
    "the chosen token": _chosen,
    "sum": _sum,
    "digits": _digits,
    "before temperature": _before_temperature,
    "before filters": _before_filters,
    "after sampling": _after_sampling,
}
