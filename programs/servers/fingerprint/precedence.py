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

_MISSED = 1e-4  # chance that every draw is the most likely token although several are left
_MOST = 60  # draws
_CONTROLS = 16  # draws without the temperature


@dataclass(frozen=True)
class _Position:
    """A prompt and its next tokens: texts and probabilities, the most likely first."""

    prompt: str
    texts: tuple[str, ...]
    p: tuple[float, ...]


@dataclass(frozen=True)
class _Plan:
    """A request that distinguishes two orders. One order leaves one token; under the other,
    `mass` of the draws are other tokens."""

    position: _Position
    sent: dict[str, Any]
    mass: float


_Planner = Callable[[_Position, float], _Plan | None]


def _positions(probe: Probe) -> list[_Position]:
    """Return prompts with the five most likely first tokens. Raises Undetermined without any."""
    fields = probe.client.dialect.probabilities
    positions = []
    for prompt in PROMPTS if fields else ():
        answer = probe.ask(prompt, length=1, temperature=1.0, **fields)
        if answer.reports:
            pairs = {_key(token.text): token.p for token in answer.reports[0].top}
            ranked = sorted(pairs.items(), key=lambda pair: -pair[1])[:5]
            texts, p = zip(*ranked, strict=True) if ranked else ((), ())
            if len(p) == 5 and p[-1] > 0 and sum(p) <= 1 + 1e-4:
                positions.append(_Position(prompt, texts, p))
    if not positions:
        raise Undetermined("no probabilities of the five most likely tokens come")
    return positions


def _hotter(position: _Position, hot: float) -> tuple[float, ...]:
    """Return the largest probabilities at a high temperature: each of the rest has at most the
    last one's."""
    raised = [p ** (1 / hot) for p in position.p]
    rest = max(0.0, 1 - sum(position.p)) * position.p[-1] ** (1 / hot - 1)
    return tuple(p / (sum(raised) + rest) for p in raised)


def _temperature_top_p(position: _Position, hot: float) -> _Plan | None:
    first = position.p[0]
    flat = _hotter(position, hot)
    top_p = 0.97 * first
    if flat[0] > 0.95 * top_p:  # temperature first must leave several tokens, with a margin
        return None
    return _Plan(position, {"temperature": hot, "top_p": top_p}, flat[1] / (flat[0] + flat[1]))


def _temperature_min_p(position: _Position, hot: float) -> _Plan | None:
    ratio = position.p[1] / position.p[0]
    if not 0.02 < ratio < 0.8:
        return None
    # The geometric mean of the ratio without the temperature and with it.
    min_p = ratio ** ((1 + 1 / hot) / 2)
    root = ratio ** (1 / hot)
    return _Plan(position, {"temperature": hot, "min_p": min_p}, root / (1 + root))


def _top_k_top_p(position: _Position, hot: float) -> _Plan | None:
    return _renormalized(position, {"top_k": 5}, 5)


def _min_p_top_p(position: _Position, hot: float) -> _Plan | None:
    """Keep as many tokens as min_p can part from the rest."""
    for k in (4, 3, 2):
        if position.p[k] < 0.9 * position.p[k - 1]:
            min_p = math.sqrt(position.p[k] * position.p[k - 1]) / position.p[0]
            if (plan := _renormalized(position, {"min_p": min_p}, k)) is not None:
                return plan
    return None


def _renormalized(position: _Position, filtered: dict[str, Any], n: int) -> _Plan | None:
    """Put top_p where the most likely one has more of so many tokens, and less of all."""
    first, second = position.p[0], position.p[1]
    alone = first / sum(position.p[:n])
    top_p = math.sqrt(first * alone)
    if top_p < 1.04 * first:
        return None
    return _Plan(
        position, {"temperature": 1.0, "top_p": top_p, **filtered}, second / (first + second)
    )


def _drawn(
    make: _Planner, names: tuple[str, str], one_left: str, several_left: str, probe: Probe
) -> Trait:
    """Decide by draws. one_left, several_left: the values where one token is left, and where
    several are."""
    for name in names:
        if name != "temperature":
            probe.need_effect(name)
    if len({probe.hot(seed).text for seed in range(20, 24)}) == 1:
        raise Undetermined("all seeds give one text")
    planned = [make(position, probe.client.dialect.hot) for position in _positions(probe)]
    plans = [plan for plan in planned if plan is not None]
    if not plans:
        raise Undetermined(f"no probabilities of {len(PROMPTS)} prompts distinguish the orders")
    plan = max(plans, key=lambda plan: plan.mass)
    return _by_draws(probe, plan, one_left, several_left, "temperature" in names)


def _by_draws(
    probe: Probe, plan: _Plan, one_left: str, several_left: str, control: bool = False
) -> Trait:
    """Draw. control: without its temperature a request must leave one token under either order."""
    needed = math.log(_MISSED) / math.log1p(-plan.mass)
    if needed > _MOST:
        raise Undetermined(f"{needed:.3g} draws would be needed")
    draws = math.ceil(needed)
    first = plan.position.texts[0]
    line = ", ".join(f"{name} {value:.4g}" for name, value in plan.sent.items())
    line += f", where the most likely have {' '.join(f'{p:.3f}' for p in plan.position.p)}"
    answer, differs = _other(probe, plan.position, plan.sent, draws)
    if answer.refusal:
        raise Undetermined(f"{line}: refused: {answer.refusal}", answer)
    if not differs:
        return Trait(one_left, f"{line}: {draws} draws of one token", answer)
    if control:
        checked, more = _other(probe, plan.position, {**plan.sent, "temperature": 1.0}, _CONTROLS)
        if more:
            raise Undetermined(f"{line}: {checked.got} was drawn without temperature, too", checked)
    return Trait(several_left, f"{line}: {answer.got} was drawn, not only {first!r}", answer)


def _other(
    probe: Probe, position: _Position, sent: dict[str, Any], draws: int
) -> tuple[Answer, bool]:
    """Return the first draw that is not the most likely token, and whether there is one."""
    for seed in range(1000, 1000 + draws):
        answer = probe.ask(position.prompt, length=1, seed=seed, **sent)
        if answer.refusal:
            return answer, False
        if _key(answer.text) != position.texts[0]:
            return answer, True
    return answer, False


def _key(text: str) -> str:
    """Strip the blank before the first word: it may be left out, or spelled as in a vocabulary."""
    return text.lstrip(" Ġ▁")


def _crossing(probe: Probe) -> Trait:
    """Put top_p a little above the most likely token's: is the second left?"""
    probe.need_effect("top_p")
    positions = [position for position in _positions(probe) if position.p[1] > 0.1 * position.p[0]]
    if not positions:
        raise Undetermined("no probabilities of the five most likely tokens come")
    position = max(positions, key=lambda position: position.p[1] / (position.p[0] + position.p[1]))
    mass = position.p[1] / (position.p[0] + position.p[1])
    top_p = position.p[0] + 0.4 * position.p[1]
    plan = _Plan(position, {"temperature": 1.0, "top_p": top_p}, mass)
    return _by_draws(probe, plan, "left out", "kept")


def _penalties(sampler: str, probe: Probe) -> Trait:
    """Compare texts: the greedy ones with and without a penalty are what either order gives."""
    penalty: dict[str, Any] = {"frequency_penalty": 2.0}
    probe.required_row("frequency_penalty")
    plain, moved = probe.greedy(), probe.greedy(**penalty)
    if moved.refusal or moved.text == plain.text:
        return _at_zero(probe, sampler, moved, penalty)
    line, sent = "temperature 0.02", {**penalty, "temperature": 0.02}
    if sampler == "top_k":
        probe.need_effect("top_k")
        line, sent = "top_k 1", {**penalty, "temperature": 1.0, "top_k": 1}
    answer = probe.ask(**sent, seed=7)
    if answer.text == moved.text:
        return Trait("penalties first", f"{line}: the greedy text with the penalty", answer)
    if answer.text == plain.text:
        return Trait(f"{sampler} first", f"{line}: the greedy text without the penalty", answer)
    line += f": the greedy text, neither with nor without the penalty: {answer.got}"
    raise Undetermined(line, answer)


def _at_zero(probe: Probe, sampler: str, moved: Answer, penalty: dict[str, Any]) -> Trait:
    """Judge a penalty without effect at temperature 0: with one when it is high, it comes after."""
    line = "frequency_penalty 2 has no effect on the greedy text"
    hot = probe.hot(**penalty)
    alive = probe.seeds and not hot.refusal and hot.text != probe.hot().text
    if alive and sampler == "temperature":
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
