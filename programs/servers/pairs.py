"""Send a list with two elements that both act: each alone, and both in both orders. Ban a token.

A server that takes only the first or only the last element has the right text for one order.
"""

import json
from itertools import pairwise
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.dialects import TOKEN, ServerParameter
from sampler_parity.programs.servers.observation import Observation, honoured_if
from sampler_parity.programs.servers.probe import SEEDS, Probe, later_words

_WEAK, _STRONG = 60.0, 100.0  # OpenAI's largest bias; the weak one is above all logits, too


def check_pairs(probe: Probe, row: ServerParameter) -> Observation | None:
    """Return what is wrong with two elements of a list, or None."""
    if row.effect == "stops":
        return _stops(probe, row)
    if row.effect == "forces":
        return _biases(probe, row) or _ban(probe, row)
    return _order(probe, row) if row.pair else None


def _stops(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require the earlier of two words of the greedy text to end it."""
    text = probe.greedy().text
    for first, second in pairwise(later_words(text)):
        if text.find(first) >= text.find(second) or first in second or second in first:
            continue
        for stops in ([first], [second], [first, second], [second, first]):
            end = min(text.find(stop) for stop in stops)
            answer = probe.greedy(**row.at(stops))
            if answer.refusal or answer.text != text[:end]:
                return _wrong(row, stops, answer)
        return None
    return None


def _biases(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require the token of the stronger of two biases."""
    a, b = TOKEN, TOKEN - 1
    alone = {token: probe.greedy(**probe.bias({token: _WEAK})) for token in (a, b)}
    if alone[a].text == alone[b].text:  # two tokens without a text
        return None
    for weak, strong in ((a, b), (b, a)):
        for order in ((weak, strong), (strong, weak)):
            values = {weak: _WEAK, strong: _STRONG}
            biases = probe.bias({token: values[token] for token in order})
            answer = probe.greedy(**biases)
            if answer.refusal or answer.text != alone[strong].text:
                return _wrong(row, biases[row.name], answer)
    return None


def _ban(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require of a ban another text than one that begins with the banned token."""
    dialect = probe.client.dialect
    greedy = probe.greedy(**dialect.probabilities, **dialect.drawn)
    tokens = greedy.tokens or [report.token.id for report in greedy.reports]
    if not tokens or tokens[0] < 0:  # its number is unknown
        return None
    value = False if isinstance(row.effective, list) else -100.0  # as documented
    answer = probe.greedy(**probe.bias({tokens[0]: value}))
    if not answer.refusal and answer.text != greedy.text:
        return None
    line = f"{row.name} {json.dumps(value)} of token {tokens[0]}: {answer.got}"
    return Observation("refused" if answer.refusal else "silently ignored", line, answer)


def _order(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require of two elements in each order other texts than of each alone."""
    (first, second), values = row.pair[row.name], {**row.pair}
    if not probe.seeds:
        return None
    for both in ([first, second], [second, first]):
        for single in ([first], [second]):
            texts = [
                [hot.text for hot in probe.hots(**values | {row.name: elements})]
                for elements in (both, single)
            ]
            answer = probe.hot(SEEDS[0], **values | {row.name: both})
            if answer.refusal or texts[0] == texts[1]:
                return _wrong(row, both, answer, f", as of {json.dumps(single)} alone")
    return None


def _wrong(row: ServerParameter, value: Any, answer: Answer, more: str = "") -> Observation:
    line = f"{row.name} {json.dumps(value)}: {answer.got}{more or ', an element is lost'}"
    return honoured_if(False, "", line, answer)
