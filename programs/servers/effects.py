"""Judge the effect of a parameter by texts with and without it."""

import json
import re
from collections.abc import Callable

from sampler_parity.programs.servers.answer import FULL, Answer
from sampler_parity.programs.servers.dialects import ServerParameter
from sampler_parity.programs.servers.observation import Observation
from sampler_parity.programs.servers.probe import LENGTH, SEEDS, Probe, Undetermined


def _greedy(probe: Probe, row: ServerParameter) -> Observation:
    """Require hot texts to become the greedy one."""
    greedy, hot = probe.greedy(), probe.hot(**row.at(row.neutral))
    answer = probe.hot(**row.at(row.effective))
    what = f"{row.name} {row.effective} at temperature {probe.client.dialect.hot:g}"
    if row.name == "temperature":
        reseeded = probe.ask(temperature=0.0, seed=SEEDS[1])
        if reseeded.refusal or reseeded.text != greedy.text:
            return Observation("other meaning", f"{what}: another text with another seed", reseeded)
        if clamped := _clamped(probe):
            return clamped
        return _effect(hot.text != greedy.text, True, "0 gives the same text to all seeds", answer)
    moved = (
        probe.seeds or answer.text == greedy.text
    )  # hot texts differ without a seed that repeats
    return _effect(
        moved and (answer.text != hot.text or hot.text == greedy.text),
        answer.text == greedy.text,
        f"{what}: the greedy text",
        answer,
        f"{what}: not the greedy text",
    )


def _clamped(probe: Probe) -> Observation | None:
    """Find a high temperature that means a lower one, by three texts of the same seeds."""
    if not probe.seeds:
        return None
    hot = probe.hots()
    for lower in (1.0, 1.5):
        if [answer.text for answer in hot] == [
            answer.text for answer in probe.hots(temperature=lower)
        ]:
            high = probe.client.dialect.hot
            line = f"temperature {high:g} is silently changed to {lower}"
            return Observation("clamped", line, hot[0])
    return None


def _constant(probe: Probe, row: ServerParameter) -> Observation:
    """Require hot texts of several seeds to become one."""
    answers = probe.hots(**row.at(row.effective))
    texts = [answer.text for answer in answers]
    moved = probe.seeds or len({*texts}) < len(texts)
    return _effect(
        moved and texts != [answer.text for answer in probe.hots(**row.at(row.neutral))],
        len({*texts}) == 1,
        f"{row.name} {row.effective}: one text of {len(SEEDS)} seeds",
        answers[0],
        f"{row.name} {row.effective}: several texts of {len(SEEDS)} seeds",
    )


def _moves(probe: Probe, row: ServerParameter) -> Observation:
    """Require another greedy text, or another text of one token again and again: a chat may have
    nothing that repeats."""
    for more in probe.repeating(row):
        base = probe.greedy(**row.at(row.neutral), **more)
        answer = probe.greedy(**row.at(row.effective), **more)
        if answer.refusal or answer.text != base.text:
            break
    right = f"{row.name} {row.effective}: another greedy text"
    return _effect(answer.text != base.text, True, right, answer)


def _spreads(probe: Probe, row: ServerParameter) -> Observation:
    """Require more different tokens in the greedy text."""
    base, answer = probe.greedy(**row.at(row.neutral)), probe.greedy(**row.at(row.effective))
    more, few = (len({*re.findall(r"\w+|\W", side.text)}) for side in (answer, base))
    what = f"{row.name} {row.effective}: {more} different words in {LENGTH} tokens, without {few}"
    return _effect(answer.text != base.text, more >= few, what, answer)


def _forces(probe: Probe, row: ServerParameter) -> Observation:
    """Require a greedy text of one token alone: that of `effective`."""
    answer = probe.greedy(**row.at(row.effective))
    text = answer.text  # a blank at its beginning may be left out
    period = round((len(text) + 1) / LENGTH)
    one_token = 0 < period < len(text) and text[period:] == text[:-period]
    what = f"{row.name} {json.dumps(row.effective)}: "
    moved = text != probe.greedy().text
    return _effect(moved, one_token, f"{what}that token alone", answer, f"{what}other tokens, too")


def _changes(probe: Probe, row: ServerParameter) -> Observation:
    """Require another hot text of the same seed."""
    if not probe.seeds:
        raise Undetermined("no seed repeats a text, so two cannot be compared")
    base, answer = probe.hot(**row.at(row.neutral)), probe.hot(**row.at(row.effective))
    right = f"{row.name} {json.dumps(row.effective)}: another text of the same seed"
    return _effect(answer.text != base.text, True, right, answer)


def _seed(probe: Probe, row: ServerParameter) -> Observation:
    """Require the same hot text for the same value, and another for another."""
    first, second = probe.hot(SEEDS[0]), probe.hot(SEEDS[1])
    repeated = probe.again(first)
    same = probe.seeds and repeated.text == first.text  # once without is enough
    what = f"seed {SEEDS[0]} twice: " + ("one text" if same else "two texts")
    if first.refusal:
        return _effect(False, False, what, first)
    if same and second.text == first.text:
        return Observation("ignored", f"seeds {SEEDS[0]} and {SEEDS[1]}: one text", second)
    return Observation("honoured" if same else "ignored", what, repeated)


def _length(probe: Probe, row: ServerParameter) -> Observation:
    """Require so many tokens."""
    greedy, answer = probe.greedy(), probe.greedy(**row.at(row.effective))
    shorter = len(answer.text) < len(greedy.text) and greedy.text.startswith(
        answer.text.rstrip("�")
    )
    exact = answer.has_all(row.effective) and answer.ended in FULL
    n = f"{len(answer.tokens)} tokens" if answer.tokens is not None else "a shorter text"
    what = f"{row.name} {row.effective}: {n}"
    return _effect(answer.text != greedy.text, shorter and exact, what, answer)


def _stops(probe: Probe, row: ServerParameter) -> Observation:
    """Require a text that ends before a word of it."""
    greedy, answer = probe.greedy(), probe.greedy(**row.at(row.effective))
    word = row.effective[0]
    what = f"{row.name} {json.dumps(word)}: the text "
    right = answer.text == greedy.text[: greedy.text.index(word)]
    moved = answer.text != greedy.text
    return _effect(moved, right, f"{what}ends before it", answer, f"{what}does not end before it")


def _shape(probe: Probe, row: ServerParameter) -> Observation:
    """Require a text that begins with what the grammar asks for."""
    answer = probe.greedy(**row.at(row.effective))
    right = answer.text.strip().strip('"') == "abacus"
    what = f"{row.name} that allows one word: "
    moved = answer.text != probe.greedy().text
    return _effect(moved, right, f"{what}that", answer, f"{what}another text")


EFFECTS: dict[str, Callable[[Probe, ServerParameter], Observation]] = {
    "greedy": _greedy,
    "constant": _constant,
    "moves": _moves,
    "spreads": _spreads,
    "forces": _forces,
    "changes": _changes,
    "seed": _seed,
    "length": _length,
    "stops": _stops,
    "shape": _shape,
}


def _effect(moved: bool, holds: bool, right: str, answer: Answer, wrong: str = "") -> Observation:
    """Make the verdict. wrong: "" where it is the same line as right."""
    if answer.refusal:
        return Observation("error", f"a documented value is refused: {answer.refusal}", answer)
    if not moved:
        what = right.partition(":")[0]
        return Observation("ignored", f"{what}: the text stays as it was", answer)
    if holds:
        return Observation("honoured", right, answer)
    return Observation("other meaning", wrong or right, answer)
