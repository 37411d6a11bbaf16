"""Find the meanings of single values: seeds, temperatures, what is off at 0, defaults, logprobs."""

from functools import partial
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.dialects import TOKEN, UNKNOWN
from sampler_parity.programs.servers.fingerprint.trait import (
    LENGTH,
    TOLERANCE,
    Trait,
    TraitTest,
    accepted,
)
from sampler_parity.programs.servers.probe import SEEDS, Probe, Undetermined

_DEFAULTS: dict[str, tuple[float, ...]] = {
    "temperature": (0.0, 0.7, 0.8, 1.0),
    "top_k": (0, 20, 40, 50),
    "top_p": (0.9, 0.95, 1.0),
    "min_p": (0.0, 0.05, 0.1),
    "repeat": (1.0, 1.05, 1.1),
}


def _unknown(probe: Probe) -> Trait:
    (answer,) = accepted([probe.greedy(**{UNKNOWN: 1})])
    return Trait("accepted silently", f"{UNKNOWN}: 1 is accepted", answer)


def _seed(probe: Probe) -> Trait:
    first, second = probe.hot(SEEDS[0]), probe.hot(SEEDS[1])
    repeated = probe.again(first)
    accepted([first])
    if repeated.text != first.text:
        return Trait(
            "does not repeat", f"twice the same request: {repeated.got}, {first.got}", repeated
        )
    if second.text == first.text:
        return Trait("has no effect", f"seeds {SEEDS[0]} and {SEEDS[1]}: {first.got}", second)
    probe.seeds = True
    return Trait("repeats", f"seed {SEEDS[0]} twice one text, seed {SEEDS[1]} another", repeated)


def _seed_below(probe: Probe) -> Trait:
    probe.need_seeds()
    sent = {**probe.neutral, probe.client.dialect.length: LENGTH, "temperature": 2.0, "seed": -1}
    first, repeated = accepted([probe.send(probe.prompt, sent) for _ in range(2)])
    if first.text == repeated.text:
        return Trait("a seed like others", f"twice {first.got}", first)
    return Trait("another text each time", f"{first.got}, {repeated.got}", first)


def _temperature(value: float, probe: Probe) -> Trait:
    answers = accepted([probe.ask(temperature=value, seed=seed) for seed in SEEDS])
    if len({answer.text for answer in answers}) > 1:
        return Trait("draws", f"{len(SEEDS)} seeds, several texts", answers[0])
    if value < 0 and answers[0].text != probe.greedy().text:
        return Trait("one text, not the greedy one", answers[0].got, answers[0])
    return Trait("one text", f"{len(SEEDS)} seeds: {answers[0].got}", answers[0])


def _neutral_value(
    name: str, value: float, everything: float, also: dict[str, Any], probe: Probe
) -> Trait:
    """Test whether a filter leaves everything, or one token alone. also: sorts what is left, so
    that equal seeds draw equal tokens."""
    row = probe.required_row(name)
    extreme = probe.hot(**{name: row.effective}, **also)
    largest = [answer.text for answer in probe.hots(**{name: everything}, **also)]
    greedy = probe.greedy().text
    if extreme.text != greedy or all(text == greedy for text in largest):
        raise Undetermined(f"{name} has no effect", extreme)
    answers = accepted(probe.hots(**{name: value}, **also))
    texts = [answer.text for answer in answers]
    if all(text == greedy for text in texts):
        return Trait("one token", f"{len(SEEDS)} seeds: the greedy text", answers[0])
    if texts == largest:
        evidence = f"{len(SEEDS)} seeds: the texts of {name} {everything:g}"
        return Trait("everything", evidence, answers[0])
    if not probe.seeds:
        return Trait("more than one token", f"{len(SEEDS)} seeds, several texts", answers[0])
    return Trait("something else", f"not the texts of {name} {everything:g}", answers[0])


def _typical(probe: Probe) -> Trait:
    probe.required_row("typical_p")
    answers = accepted(probe.hots(typical_p=0.0))
    single = len({answer.text for answer in answers}) == 1
    evidence = f"{len(SEEDS)} seeds: {'one text' if single else 'several texts'}"
    return Trait("one token" if single else "more than one token", evidence, answers[0])


def _min_keep(probe: Probe) -> Trait:
    probe.required_row("min_keep")
    answers = accepted(probe.hots(top_p=1e-6, min_keep=4))
    if all(answer.text == probe.greedy().text for answer in answers):
        return Trait("has no effect", "top_p 1e-6 with min_keep 4: the greedy text", answers[0])
    return Trait("keeps more", "top_p 1e-6 with min_keep 4: other texts", answers[0])


def _dry_window(probe: Probe) -> Trait:
    probe.required_row("dry_penalty_last_n")
    dry = {"dry_multiplier": 8.0, "dry_allowed_length": 1}
    inside = probe.greedy(**dry, dry_penalty_last_n=64)
    if inside.text == probe.greedy().text:
        raise Undetermined("DRY has no effect on the greedy text", inside)
    (answer,) = accepted([probe.greedy(**dry, dry_penalty_last_n=-1)])
    if answer.text == probe.greedy().text:
        return Trait("off", "the text without DRY", answer)
    return Trait("all of the context", f"{answer.got}", answer)


def _has(name: str, probe: Probe) -> Trait:
    """Test whether a parameter that not every release has changes a text."""
    row = probe.required_row(name)
    probe.need_seeds()
    plain = probe.hot(**row.also)
    (answer,) = accepted([probe.hot(**row.at(row.effective))])
    effect = answer.text != plain.text
    return Trait("has an effect" if effect else "has no effect", answer.got, answer)


def _default(what: str, probe: Probe) -> Trait:
    name = probe.repeat_name if what == "repeat" else what
    probe.required_row(name, what)
    probe.need_seeds()
    answers = probe.hots(**{name: None})
    texts_without = [answer.text for answer in answers]
    values = {
        value: [answer.text for answer in probe.hots(**{name: value})] for value in _DEFAULTS[what]
    }
    equal = [f"{value:g}" for value, texts in values.items() if texts == texts_without]
    evidence = f"without it the texts of {len(SEEDS)} seeds are those of"
    if len(equal) == 1:
        return Trait(equal[0], f"{evidence} {equal[0]}", answers[0])
    if equal:
        raise Undetermined(f"{evidence} {' and '.join(equal)}")
    tried = ", ".join(f"{value:g}" for value in values)
    return Trait("another", f"{evidence} none of {tried}", answers[0])


def _logprobs(probe: Probe, **changed: Any) -> Trait:
    """Test whether logprobs are those before a change, which would change them if it came first."""
    sent = {**probe.client.dialect.probabilities, "length": 1}
    if not probe.client.dialect.probabilities:
        raise Undetermined("the dialect has no probabilities")
    for name in changed:
        probe.required_row(name)
    changing = probe.bias({TOKEN: 50.0}) if "logit_bias" in changed else changed
    plain = probe.ask(temperature=1.0, **sent)
    moved = probe.ask(**{"temperature": 1.0, **sent, **changing})
    if not (plain.reports and moved.reports):
        raise Undetermined(f"no probabilities come {moved.refusal}", moved)
    off = _apart(plain, moved)
    what = ", ".join(f"{name} {value}" for name, value in changing.items())
    if off <= TOLERANCE:
        return Trait("before", f"{what} moves them by {off:.2g} at most", moved)
    return Trait("after", f"{what} changes them", moved)


def _apart(plain: Answer, moved: Answer) -> float:
    before = {token.text: token.logprob for token in plain.reports[0].top}
    after = {token.text: token.logprob for token in moved.reports[0].top}
    both = before.keys() & after.keys()
    # the list may have the token that was drawn besides
    if not both or len(both) < len(before) - 1:
        return float("inf")
    return max(abs(before[text] - after[text]) for text in both)


FIRST: dict[str, TraitTest] = {
    "unknown names": _unknown,
    "seed": _seed,
    "temperature 0": partial(_temperature, 0.0),
}
MEANINGS: dict[str, TraitTest] = {
    "seed -1": _seed_below,
    "temperature -1": partial(_temperature, -1.0),
    "top_k 0": partial(_neutral_value, "top_k", 0, 4000, {"top_p": 0.5}),
    "top_k -1": partial(_neutral_value, "top_k", -1, 4000, {"top_p": 0.5}),
    "top_p 0": partial(_neutral_value, "top_p", 0.0, 1.0, {}),
    "typical_p 0": _typical,
    "min_keep": _min_keep,
    "dry_penalty_last_n -1": _dry_window,
    "top_n_sigma": partial(_has, "top_n_sigma"),
    "adaptive_target": partial(_has, "adaptive_target"),
    "logprobs and temperature": partial(_logprobs, temperature=0.25),
    "logprobs and top_k": partial(_logprobs, top_k=2),
    "logprobs and logit_bias": partial(_logprobs, logit_bias=None),
    **{f"default {name}": partial(_default, name) for name in _DEFAULTS},
}
