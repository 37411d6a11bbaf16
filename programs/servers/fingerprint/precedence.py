"""Find which of two samplers comes first, by texts where one token is left, else by draws of one
token.

Draws need the probabilities of the five most likely first tokens, which the server gives. A
filter's threshold is put where one order leaves the most likely token alone and the other does not.
One draw of another token then decides. If none comes, there are enough draws to miss it only once
in 10,000 times.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.dialects import TOKEN
from sampler_parity.programs.servers.fingerprint.trait import PROMPTS, Trait, TraitTest
from sampler_parity.programs.servers.probe import Probe, Undetermined

_MISSED = 1e-4
_MOST = 60  # draws
_CONTROLS = 16


@dataclass(frozen=True)
class _Place:
    """Hold a prompt and what comes next: texts and probabilities, the most likely first."""

    prompt: str
    texts: tuple[str, ...]
    p: tuple[float, ...]


@dataclass(frozen=True)
class _Plan:
    """Hold a request that distinguishes two orders. One order leaves one token; under the other,
    `mass` of the draws are other tokens."""

    place: _Place
    sent: dict[str, Any]
    mass: float


_Planner = Callable[[_Place, float], _Plan | None]


def _places(probe: Probe) -> list[_Place]:
    """Return prompts with the five most likely first tokens. Raises Undetermined without any."""
    wanted = probe.client.dialect.probabilities
    places = []
    for prompt in PROMPTS if wanted else ():
        answer = probe.ask(prompt, length=1, temperature=1.0, **wanted)
        if answer.reports:
            pairs = {_key(one.text): one.p for one in answer.reports[0].top}
            ranked = sorted(pairs.items(), key=lambda pair: -pair[1])[:5]
            texts, p = zip(*ranked, strict=True) if ranked else ((), ())
            if len(p) == 5 and p[-1] > 0 and sum(p) <= 1 + 1e-4:
                places.append(_Place(prompt, texts, p))
    if not places:
        raise Undetermined("no probabilities of the five most likely tokens come")
    return places


def _hotter(place: _Place, hot: float) -> tuple[float, ...]:
    """Return the largest probabilities at a high temperature: each of the rest has at most the
    last one's."""
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
    """Keep as many tokens as min_p can part from the rest."""
    for k in (4, 3, 2):
        if place.p[k] < 0.9 * place.p[k - 1]:
            min_p = math.sqrt(place.p[k] * place.p[k - 1]) / place.p[0]
            if (plan := _renormalized(place, {"min_p": min_p}, k)) is not None:
                return plan
    return None


def _renormalized(place: _Place, filtered: dict[str, Any], left: int) -> _Plan | None:
    """Put top_p where the most likely one has more of so many tokens, and less of all."""
    first, second = place.p[0], place.p[1]
    alone = first / sum(place.p[:left])
    top_p = math.sqrt(first * alone)
    if top_p < 1.04 * first:
        return None
    return _Plan(place, {"temperature": 1.0, "top_p": top_p, **filtered}, second / (first + second))


def _drawn(make: _Planner, names: tuple[str, str], narrow: str, wide: str, probe: Probe) -> Trait:
    """Decide by draws. narrow, wide: the values where one token is left, and where several are."""
    for name in names:
        if name != "temperature":
            probe.need_effect(name)
    if len({probe.hot(seed).text for seed in range(20, 24)}) == 1:
        raise Undetermined("all seeds give one text")
    made = [make(place, probe.client.dialect.hot) for place in _places(probe)]
    plans = [plan for plan in made if plan is not None]
    if not plans:
        raise Undetermined(f"no probabilities of {len(PROMPTS)} prompts part the orders")
    plan = max(plans, key=lambda plan: plan.mass)
    return _by_draws(probe, plan, narrow, wide, "temperature" in names)


def _by_draws(probe: Probe, plan: _Plan, narrow: str, wide: str, control: bool = False) -> Trait:
    """Draw. control: without its temperature a request must leave one token under either order."""
    needed = math.log(_MISSED) / math.log1p(-plan.mass)
    if needed > _MOST:
        raise Undetermined(f"{needed:.3g} draws would be needed")
    draws = math.ceil(needed)
    first = plan.place.texts[0]
    line = ", ".join(f"{name} {value:.4g}" for name, value in plan.sent.items())
    line += f", where the most likely have {' '.join(f'{p:.3f}' for p in plan.place.p)}"
    answer, others = _other(probe, plan.place, plan.sent, draws)
    if answer.refusal:
        raise Undetermined(f"{line}: refused: {answer.refusal}", answer)
    if not others:
        return Trait(narrow, f"{line}: {draws} draws of one token", answer)
    if control:
        checked, more = _other(probe, plan.place, {**plan.sent, "temperature": 1.0}, _CONTROLS)
        if more:
            raise Undetermined(f"{line}: without temperature too {checked.got} was drawn", checked)
    return Trait(wide, f"{line}: {answer.got} was drawn, not only {first!r}", answer)


def _other(probe: Probe, place: _Place, sent: dict[str, Any], draws: int) -> tuple[Answer, bool]:
    """Return the first draw that is not the most likely token, and whether there is one."""
    for seed in range(1000, 1000 + draws):
        answer = probe.ask(place.prompt, length=1, seed=seed, **sent)
        if answer.refusal:
            return answer, False
        if _key(answer.text) != place.texts[0]:
            return answer, True
    return answer, False


def _key(text: str) -> str:
    """Strip the blank before the first word: it may be left out, or spelled as in a vocabulary."""
    return text.lstrip(" Ġ▁")


def _crossing(probe: Probe) -> Trait:
    """Put top_p a little above the most likely token's: is the second left?"""
    probe.need_effect("top_p")
    places = [place for place in _places(probe) if place.p[1] > 0.1 * place.p[0]]
    if not places:
        raise Undetermined("no probabilities of the five most likely tokens come")
    place = max(places, key=lambda place: place.p[1] / (place.p[0] + place.p[1]))
    mass = place.p[1] / (place.p[0] + place.p[1])
    top_p = place.p[0] + 0.4 * place.p[1]
    plan = _Plan(place, {"temperature": 1.0, "top_p": top_p}, mass)
    return _by_draws(probe, plan, "left out", "kept")


def _penalties(other: str, probe: Probe) -> Trait:
    """Compare texts: the greedy ones with and without a penalty are what either order gives."""
    penalty: dict[str, Any] = {"frequency_penalty": 2.0}
    probe.required_row("frequency_penalty")
    plain, moved = probe.greedy(), probe.greedy(**penalty)
    if moved.refusal or moved.text == plain.text:
        return _at_zero(probe, other, moved, penalty)
    line, sent = "temperature 0.02", {**penalty, "temperature": 0.02}
    if other == "top_k":
        probe.need_effect("top_k")
        line, sent = "top_k 1", {**penalty, "temperature": 1.0, "top_k": 1}
    answer = probe.ask(**sent, seed=7)
    if answer.text == moved.text:
        return Trait("penalties first", f"{line}: the greedy text with the penalty", answer)
    if answer.text == plain.text:
        return Trait(f"{other} first", f"{line}: the greedy text without the penalty", answer)
    line += f": the greedy text, neither with nor without the penalty: {answer.got}"
    raise Undetermined(line, answer)


def _at_zero(probe: Probe, other: str, moved: Answer, penalty: dict[str, Any]) -> Trait:
    """Judge a penalty without effect at temperature 0: with one when it is high, it comes after."""
    line = "frequency_penalty 2 has no effect on the greedy text"
    hot = probe.hot(**penalty)
    alive = probe.seeds and not hot.refusal and hot.text != probe.hot().text
    if alive and other == "temperature":
        return Trait("temperature first", f"{line}, but when it is high", hot)
    raise Undetermined(line, moved)


def _bias_top_k(probe: Probe) -> Trait:
    biased = probe.bias({TOKEN: 100.0})
    if not (biased and probe.has_effect("top_k")):
        raise Undetermined("top_k has no effect, or there is no logit_bias")
    plain, moved = probe.greedy(), probe.greedy(**biased)
    if moved.refusal or moved.text == plain.text:
        raise Undetermined("logit_bias has no effect", moved)
    answer = probe.ask(temperature=1.0, top_k=1, seed=7, **biased)
    if answer.text == moved.text:
        return Trait("logit_bias first", "top_k 1: the biased text", answer)
    if answer.text == plain.text:
        return Trait("top_k first", "top_k 1: the text without the bias", answer)
    raise Undetermined(f"another text: {answer.got}", answer)


PRECEDENCE: dict[str, TraitTest] = {
    "penalties and temperature": partial(_penalties, "temperature"),
    "penalties and top_k": partial(_penalties, "top_k"),
    "logit_bias and top_k": _bias_top_k,
    "temperature and top_p": partial(
        _drawn, _temperature_top_p, ("temperature", "top_p"), "top_p first", "temperature first"
    ),
    "temperature and min_p": partial(
        _drawn, _temperature_min_p, ("temperature", "min_p"), "min_p first", "temperature first"
    ),
    "top_k and top_p": partial(
        _drawn, _top_k_top_p, ("top_k", "top_p"), "top_k first", "top_p first"
    ),
    "min_p and top_p": partial(
        _drawn, _min_p_top_p, ("min_p", "top_p"), "min_p first", "top_p first"
    ),
    "the token that crosses top_p": _crossing,
}
