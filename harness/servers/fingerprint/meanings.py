"""What single values mean: seeds, temperatures, what is off at 0, defaults, logprobs."""

from collections.abc import Callable
from typing import Any

from sampler_parity.harness.servers.client import Answer
from sampler_parity.harness.servers.dialects import TOKEN, UNKNOWN
from sampler_parity.harness.servers.fingerprint.probe import (
    LENGTH,
    SEEDS,
    Probe,
    Said,
    cannot,
)

Fact = Callable[[Probe], Said]
REFUSED = "refused"
_NEAR = 5e-3  # of logprobs: harness/servers/probabilities.py
_DEFAULTS: dict[str, tuple[float, ...]] = {
    "temperature": (0.0, 0.7, 0.8, 1.0),
    "top_k": (0, 20, 40, 50),
    "top_p": (0.9, 0.95, 1.0),
    "min_p": (0.0, 0.05, 0.1),
    "repeat": (1.0, 1.05, 1.1),
}


def _unknown(probe: Probe) -> Said:
    answer = probe.greedy(**{UNKNOWN: 1})
    if answer.refusal:
        return Said(REFUSED, answer.refusal, answer)
    return Said("taken in silence", f"{UNKNOWN}: 1 is no error", answer)


def _seed(probe: Probe) -> Said:
    first, other = probe.hot(SEEDS[0]), probe.hot(SEEDS[1])
    again = probe.anew(probe.prompt, probe.client.parameters_of(first.sent))
    if first.refusal:
        return Said(REFUSED, first.refusal, first)
    if again.text != first.text:
        return Said("does not repeat", f"twice the same request: {again.got}, {first.got}", again)
    if other.text == first.text:
        return Said("has no effect", f"seeds {SEEDS[0]} and {SEEDS[1]}: {first.got}", other)
    probe.seeds = True
    return Said("repeats", f"seed {SEEDS[0]} twice one text, seed {SEEDS[1]} another", again)


def _seed_below(probe: Probe) -> Said:
    if not probe.seeds:
        return cannot("no seed repeats")
    sent = {**probe.neutral, probe.client.dialect.length: LENGTH, "temperature": 2.0, "seed": -1}
    answers = [probe.anew(probe.prompt, sent) for _ in range(2)]
    if answers[0].refusal:
        return Said(REFUSED, answers[0].refusal, answers[0])
    if answers[0].text == answers[1].text:
        return Said("a seed like others", f"twice {answers[0].got}", answers[0])
    return Said("another text each time", f"{answers[0].got}, {answers[1].got}", answers[0])


def _temperature(value: float) -> Fact:
    def fact(probe: Probe) -> Said:
        answers = [probe.ask(temperature=value, seed=seed) for seed in SEEDS]
        if answers[0].refusal:
            return Said(REFUSED, answers[0].refusal, answers[0])
        if len({answer.text for answer in answers}) > 1:
            return Said("draws", f"{len(SEEDS)} seeds, several texts", answers[0])
        if value < 0 and answers[0].text != probe.greedy().text:
            return Said("one text, not the greedy one", answers[0].got, answers[0])
        return Said("one text", f"{len(SEEDS)} seeds: {answers[0].got}", answers[0])

    return fact


def _neutral_value(name: str, value: float, everything: float, also: dict[str, Any]) -> Fact:
    """Of a filter: is everything left, or one token alone? also: sorts what is left, so that equal
    seeds draw equal tokens."""

    def fact(probe: Probe) -> Said:
        row = probe.row(name)
        if row is None:
            return cannot(f"the dialect has no {name}")
        extreme = probe.hot(**{name: row.effective}, **also)
        largest = [answer.text for answer in probe.hots(**{name: everything}, **also)]
        greedy = probe.greedy().text
        if extreme.text != greedy or all(text == greedy for text in largest):
            return cannot(f"{name} has no effect", extreme)
        answers = probe.hots(**{name: value}, **also)
        if answers[0].refusal:
            return Said(REFUSED, answers[0].refusal, answers[0])
        texts = [answer.text for answer in answers]
        if all(text == greedy for text in texts):
            return Said("one token", f"{len(SEEDS)} seeds: the greedy text", answers[0])
        if texts == largest:
            said = f"{len(SEEDS)} seeds: the texts of {name} {everything:g}"
            return Said("everything", said, answers[0])
        if not probe.seeds:
            return Said("more than one token", f"{len(SEEDS)} seeds, several texts", answers[0])
        return Said("something else", f"not the texts of {name} {everything:g}", answers[0])

    return fact


def _typical(probe: Probe) -> Said:
    if probe.row("typical_p") is None:
        return cannot("the dialect has no typical_p")
    answers = probe.hots(typical_p=0.0)
    if answers[0].refusal:
        return Said(REFUSED, answers[0].refusal, answers[0])
    one = len({answer.text for answer in answers}) == 1
    said = f"{len(SEEDS)} seeds: {'one text' if one else 'several texts'}"
    return Said("one token" if one else "more than one token", said, answers[0])


def _min_keep(probe: Probe) -> Said:
    if probe.row("min_keep") is None:
        return cannot("the dialect has no min_keep")
    answers = probe.hots(top_p=1e-6, min_keep=4)
    if answers[0].refusal:
        return Said(REFUSED, answers[0].refusal, answers[0])
    if all(answer.text == probe.greedy().text for answer in answers):
        return Said("has no effect", "top_p 1e-6 with min_keep 4: the greedy text", answers[0])
    return Said("keeps more", "top_p 1e-6 with min_keep 4: other texts", answers[0])


def _dry_window(probe: Probe) -> Said:
    if probe.row("dry_penalty_last_n") is None:
        return cannot("the dialect has no dry_penalty_last_n")
    dry = {"dry_multiplier": 8.0, "dry_allowed_length": 1}
    inside = probe.greedy(**dry, dry_penalty_last_n=64)
    if inside.text == probe.greedy().text:
        return cannot("DRY has no effect on the greedy text", inside)
    answer = probe.greedy(**dry, dry_penalty_last_n=-1)
    if answer.refusal:
        return Said(REFUSED, answer.refusal, answer)
    if answer.text == probe.greedy().text:
        return Said("off", "the text without DRY", answer)
    return Said("all of the context", f"{answer.got}", answer)


def _has(name: str) -> Fact:
    """Whether a parameter that not every release has changes a text."""

    def fact(probe: Probe) -> Said:
        row = probe.row(name)
        if row is None:
            return cannot(f"the dialect has no {name}")
        if not probe.seeds:
            return cannot("no seed repeats")
        plain, answer = probe.hot(**row.also), probe.hot(**{name: row.effective}, **row.also)
        if answer.refusal:
            return Said(REFUSED, answer.refusal, answer)
        effect = answer.text != plain.text
        return Said("has an effect" if effect else "has no effect", answer.got, answer)

    return fact


def _default(what: str) -> Fact:
    def fact(probe: Probe) -> Said:
        name = probe.repeat if what == "repeat" else what
        if not name or probe.row(name) is None:
            return cannot(f"the dialect has no {what}")
        if not probe.seeds:
            return cannot("no seed repeats")
        absent = [answer.text for answer in probe.hots(**{name: None})]
        values = {
            value: [answer.text for answer in probe.hots(**{name: value})]
            for value in _DEFAULTS[what]
        }
        equal = [value for value, texts in values.items() if texts == absent]
        evidence = f"without it the texts of {len(SEEDS)} seeds are those of"
        if len(equal) == 1:
            return Said(f"{equal[0]:g}", f"{evidence} {equal[0]:g}", probe.hots(**{name: None})[0])
        if equal:
            return cannot(f"{evidence} {' and '.join(f'{value:g}' for value in equal)}")
        tried = ", ".join(f"{value:g}" for value in values)
        return Said("another", f"{evidence} none of {tried}", probe.hots(**{name: None})[0])

    return fact


def _logprobs(**changed: Any) -> Fact:
    """Are they those before a change, which must change them if it came first?"""

    def fact(probe: Probe) -> Said:
        asked = {**probe.client.dialect.probabilities, "length": 1}
        if not probe.client.dialect.probabilities:
            return cannot("the dialect has none")
        if any(probe.row(name) is None for name in changed):
            return cannot(f"the dialect has no {', '.join(changed)}")
        changing = dict(changed)
        if "logit_bias" in changed:
            changing = probe.bias(int(TOKEN), 50.0)
        plain = probe.ask(temperature=1.0, **asked)
        other = probe.ask(**{"temperature": 1.0, **asked, **changing})
        if not (plain.places and other.places):
            return cannot(f"no probabilities come {other.refusal}", other)
        off = _apart(plain, other)
        said = ", ".join(f"{name} {value}" for name, value in changing.items())
        if off <= _NEAR:
            return Said("before", f"{said} moves them by {off:.2g} at most", other)
        return Said("after", f"{said} changes them", other)

    return fact


def _apart(plain: Answer, other: Answer) -> float:
    before = {one.text: one.logprob for one in plain.places[0].top}
    after = {one.text: one.logprob for one in other.places[0].top}
    both = before.keys() & after.keys()
    # beside the list may stand the token that was drawn
    if not both or len(both) < len(before) - 1:
        return float("inf")
    return max(abs(before[text] - after[text]) for text in both)


FIRST: dict[str, Fact] = {
    "unknown names": _unknown,
    "seed": _seed,
    "temperature 0": _temperature(0.0),
}
MEANINGS: dict[str, Fact] = {
    "seed -1": _seed_below,
    "temperature -1": _temperature(-1.0),
    "top_k 0": _neutral_value("top_k", 0, 4000, {"top_p": 0.5}),
    "top_k -1": _neutral_value("top_k", -1, 4000, {"top_p": 0.5}),
    "top_p 0": _neutral_value("top_p", 0.0, 1.0, {}),
    "typical_p 0": _typical,
    "min_keep": _min_keep,
    "dry_penalty_last_n -1": _dry_window,
    "top_n_sigma": _has("top_n_sigma"),
    "adaptive_target": _has("adaptive_target"),
    "logprobs and temperature": _logprobs(temperature=0.25),
    "logprobs and top_k": _logprobs(top_k=2),
    "logprobs and logit_bias": _logprobs(logit_bias=None),
    **{f"default {name}": _default(name) for name in _DEFAULTS},
}
