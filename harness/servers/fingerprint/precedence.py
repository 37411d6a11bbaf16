"""Which sampler comes first: by texts where one token is left, else by draws of one token.

Draws stand on the probabilities of the five most likely first tokens, which the server gives. A
filter's threshold is put where one order leaves the most likely token alone and the other does
not: one draw of another token decides, and none in as many as would miss it once in 10,000 times.
"""

import math
from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.servers.client import Answer
from sampler_parity.harness.servers.dialects import TOKEN
from sampler_parity.harness.servers.fingerprint.meanings import Fact
from sampler_parity.harness.servers.fingerprint.probe import PROMPTS, Probe, Said, cannot

_MISSED = 1e-4
_MOST = 60  # draws
_CONTROLS = 16


@dataclass(frozen=True)
class _Place:
    """A prompt, and what comes next: texts and probabilities, the most likely first."""

    prompt: str
    texts: tuple[str, ...]
    p: tuple[float, ...]


@dataclass(frozen=True)
class _Plan:
    """sent: what one order leaves one token of, and the other of its draws `mass` others."""

    place: _Place
    sent: dict[str, Any]
    mass: float


def _places(probe: Probe) -> list[_Place]:
    asked = probe.client.dialect.probabilities
    places = []
    for prompt in PROMPTS if asked else ():
        answer = probe.ask(prompt, length=1, temperature=1.0, **asked)
        if answer.places:
            pairs = {_key(one.text): one.p for one in answer.places[0].top}
            ranked = sorted(pairs.items(), key=lambda pair: -pair[1])[:5]
            texts, p = zip(*ranked, strict=True) if ranked else ((), ())
            if len(p) == 5 and p[-1] > 0 and sum(p) <= 1 + 1e-4:
                places.append(_Place(prompt, texts, p))
    return places


def _hotter(place: _Place, hot: float) -> tuple[float, ...]:
    """At most so probable at a high temperature: of the rest, each has at most the last one's."""
    raised = [p ** (1 / hot) for p in place.p]
    rest = max(0.0, 1 - sum(place.p)) * place.p[-1] ** (1 / hot - 1)
    return tuple(p / (sum(raised) + rest) for p in raised)


def _temperature_top_p(place: _Place, hot: float) -> _Plan | None:
    first = place.p[0]
    flat = _hotter(place, hot)
    top_p = 0.97 * first
    if flat[0] > 0.95 * top_p:
        return None
    return _Plan(place, {"temperature": hot, "top_p": top_p}, flat[1] / (flat[0] + flat[1]))


def _temperature_min_p(place: _Place, hot: float) -> _Plan | None:
    ratio = place.p[1] / place.p[0]
    if not 0.02 < ratio < 0.8:
        return None
    min_p = ratio ** ((1 + 1 / hot) / 2)
    root = ratio ** (1 / hot)
    return _Plan(place, {"temperature": hot, "min_p": min_p}, root / (1 + root))


def _top_k_top_p(place: _Place, hot: float) -> _Plan | None:
    return _renormalized(place, {"top_k": 5}, 5)


def _min_p_top_p(place: _Place, hot: float) -> _Plan | None:
    """As many as possible that min_p can part from the rest."""
    for k in (4, 3, 2):
        if place.p[k] < 0.9 * place.p[k - 1]:
            min_p = math.sqrt(place.p[k] * place.p[k - 1]) / place.p[0]
            if (plan := _renormalized(place, {"min_p": min_p}, k)) is not None:
                return plan
    return None


def _renormalized(place: _Place, filtered: dict[str, Any], left: int) -> _Plan | None:
    """Of so many, the most likely one has more than top_p; of all it has less."""
    first, second = place.p[0], place.p[1]
    alone = first / sum(place.p[:left])
    top_p = math.sqrt(first * alone)
    if top_p < 1.04 * first:
        return None
    return _Plan(place, {"temperature": 1.0, "top_p": top_p, **filtered}, second / (first + second))


def _drawn(plans: Any, names: tuple[str, str], narrow: str, wide: str, control: str = "") -> Fact:
    """narrow: what is said where one token is left. control: what leaves one token without the
    other, which a server must do too."""

    def fact(probe: Probe) -> Said:
        for name in names:
            if name != "temperature" and not probe.has(name):
                return cannot(f"{name} has no effect")
        if len({probe.hot(seed).text for seed in range(20, 24)}) == 1:
            return cannot("all seeds give one text")
        places = _places(probe)
        if not places:
            return cannot("no probabilities of the five most likely tokens come")
        made = [plan for at in places if (plan := plans(at, probe.client.dialect.hot)) is not None]
        if not made:
            return cannot(f"no probabilities of {len(PROMPTS)} prompts part the orders")
        return _by_draws(probe, max(made, key=lambda plan: plan.mass), narrow, wide, control)

    return fact


def _by_draws(probe: Probe, plan: _Plan, narrow: str, wide: str, control: str) -> Said:
    needed = math.log(_MISSED) / math.log1p(-plan.mass)
    if needed > _MOST:
        return cannot(f"{needed:.3g} draws would be needed")
    draws = math.ceil(needed)
    first = plan.place.texts[0]
    said = ", ".join(f"{name} {value:.4g}" for name, value in plan.sent.items())
    likely = " ".join(f"{p:.3f}" for p in plan.place.p)
    said = f"{said}, where the most likely have {likely}"
    answer, others = _other(probe, plan.place, plan.sent, draws)
    if answer.refusal:
        return cannot(f"{said}: refused: {answer.refusal}", answer)
    if not others:
        return Said(narrow, f"{said}: {draws} draws of one token", answer)
    if control:
        checked, more = _other(probe, plan.place, {**plan.sent, **_NEUTRAL[control]}, _CONTROLS)
        if more:
            return cannot(f"{said}: without {control} too {checked.got} was drawn", checked)
    return Said(wide, f"{said}: {answer.got} was drawn, not only {first!r}", answer)


_NEUTRAL: dict[str, dict[str, Any]] = {"temperature": {"temperature": 1.0}}


def _other(probe: Probe, place: _Place, sent: dict[str, Any], draws: int) -> tuple[Answer, bool]:
    """The first draw that is not the most likely token, and whether there is one."""
    for seed in range(1000, 1000 + draws):
        answer = probe.ask(place.prompt, length=1, seed=seed, **sent)
        if answer.refusal:
            return answer, False
        if _key(answer.text) != place.texts[0]:
            return answer, True
    return answer, False


def _key(text: str) -> str:
    """The blank before the first word may be left out, or spelled as in the vocabulary."""
    return text.lstrip(" Ġ▁")


def _crossing(probe: Probe) -> Said:
    """top_p a little above the most likely token's: is the second left?"""
    if not probe.has("top_p"):
        return cannot("top_p has no effect")
    places = [at for at in _places(probe) if at.p[1] > 0.1 * at.p[0]]
    if not places:
        return cannot("no probabilities of the five most likely tokens come")
    place = max(places, key=lambda at: at.p[1] / (at.p[0] + at.p[1]))
    mass = place.p[1] / (place.p[0] + place.p[1])
    top_p = place.p[0] + 0.4 * place.p[1]
    plan = _Plan(place, {"temperature": 1.0, "top_p": top_p}, mass)
    return _by_draws(probe, plan, "left out", "kept", "")


def _penalties(with_: str) -> Fact:
    """Text by text: the greedy ones with and without a penalty are what either order gives."""

    def fact(probe: Probe) -> Said:
        penalty: dict[str, Any] = {"frequency_penalty": 2.0}
        if probe.row("frequency_penalty") is None:
            return cannot("the dialect has no frequency_penalty")
        plain, moved = probe.greedy(), probe.greedy(**penalty)
        if moved.refusal or moved.text == plain.text:
            return _at_zero(probe, with_, moved, penalty)
        if with_ == "temperature":
            said, sent = "temperature 0.02", {**penalty, "temperature": 0.02}
        elif probe.has("top_k"):
            said, sent = "top_k 1", {**penalty, "temperature": 1.0, "top_k": 1}
        else:
            return cannot("top_k has no effect")
        answer = probe.ask(**sent, seed=7)
        said = f"{said}: the greedy text"
        if answer.text == moved.text:
            return Said("penalties first", f"{said} with the penalty", answer)
        if answer.text == plain.text:
            return Said(f"{with_} first", f"{said} without the penalty", answer)
        return cannot(f"{said}, neither with nor without the penalty: {answer.got}", answer)

    return fact


def _at_zero(probe: Probe, with_: str, moved: Answer, penalty: dict[str, Any]) -> Said:
    """A penalty that does nothing at temperature 0, but when it is high, comes after it."""
    said = "frequency_penalty 2 has no effect on the greedy text"
    hot = probe.hot(**penalty)
    alive = probe.seeds and not hot.refusal and hot.text != probe.hot().text
    if alive and with_ == "temperature":
        return Said("temperature first", f"{said}, but when it is high", hot)
    return cannot(said, moved)


def _bias_top_k(probe: Probe) -> Said:
    bias = probe.bias(int(TOKEN), 100.0)
    if not (bias and probe.has("top_k")):
        return cannot("top_k has no effect, or there is no logit_bias")
    plain, moved = probe.greedy(), probe.greedy(**bias)
    if moved.refusal or moved.text == plain.text:
        return cannot("logit_bias has no effect", moved)
    answer = probe.ask(temperature=1.0, top_k=1, seed=7, **bias)
    if answer.text == moved.text:
        return Said("logit_bias first", "top_k 1: the biased text", answer)
    if answer.text == plain.text:
        return Said("top_k first", "top_k 1: the text without the bias", answer)
    return cannot(f"another text: {answer.got}", answer)


ORDER: dict[str, Fact] = {
    "penalties and temperature": _penalties("temperature"),
    "penalties and top_k": _penalties("top_k"),
    "logit_bias and top_k": _bias_top_k,
    "temperature and top_p": _drawn(
        *(_temperature_top_p, ("temperature", "top_p")),
        *("top_p first", "temperature first", "temperature"),
    ),
    "temperature and min_p": _drawn(
        *(_temperature_min_p, ("temperature", "min_p")),
        *("min_p first", "temperature first", "temperature"),
    ),
    "top_k and top_p": _drawn(_top_k_top_p, ("top_k", "top_p"), "top_k first", "top_p first"),
    "min_p and top_p": _drawn(_min_p_top_p, ("min_p", "top_p"), "min_p first", "top_p first"),
    "the token that crosses top_p": _crossing,
}
