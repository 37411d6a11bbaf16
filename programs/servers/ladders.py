"""Ask for more than the one value that shows a parameter's effect.

Servers break further up: at seeds of more than 16 or 31 bits, hundreds of biases, temperatures near
0, long answers, and in streams. Each function returns what is wrong, or None.
"""

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sampler_parity.programs.servers.answer import CUT, FULL, Answer
from sampler_parity.programs.servers.dialects import TOKEN, ServerParameter
from sampler_parity.programs.servers.observation import Observation, honoured_if
from sampler_parity.programs.servers.oracle import registry
from sampler_parity.programs.servers.pairs import check_pairs
from sampler_parity.programs.servers.probe import LENGTH, PROMPTS, SEEDS, Probe

BIASES = 300
LONG = (128, 256)  # tokens
COLD = (0.05, 0.01)  # vLLM raises lower ones to 0.01, as documented.
_DRAWS = 16  # A fair coin falls on one side so often once in 32,768.
_STEPS = 13  # They halve 80 to 0.01. At temperature 0.01 both tokens are then likely.
NEVER = "\u00a7"  # a character that no text here has


def climb(probe: Probe, row: ServerParameter, evidence: Answer) -> Observation | None:
    """Return what is wrong further up. shown: the answer that has the parameter's effect."""
    if row.effect == "seed":
        wrong = _seeds(probe, row)
    elif row.name == "temperature":
        wrong = _cold(probe)
    elif row.effect == "forces":
        wrong = _biases(probe, row, evidence)
    elif row.effect == "length":
        wrong, evidence = _long(probe, row)
    elif row.effect == "stops":
        wrong = _stops(probe, row)
    elif row.effect == "shape":
        wrong = _shape(probe, row)
    else:
        wrong = None
    wrong = (
        wrong
        or check_pairs(probe, row)
        or _apart(probe, row)
        or _alike(probe, row)
        or streamed(probe, row, evidence)
    )
    return wrong or (registry.exactly(probe, row) if row.exact or row.span else None)


def streamed(probe: Probe, row: ServerParameter, plain: Answer) -> Observation | None:
    """Require the same text in parts, with probabilities if the server names tokens."""
    client = probe.client
    listed = client.dialect.probabilities if plain.tokens else {}
    parts = client.streamed(probe.prompt, {**client.parameters_of(plain.sent), **listed})
    if plain.same(parts) and not parts.refusal:
        return None
    line = f"{row.name}: {plain.lost_in(parts)}: {parts.got}, in one part {plain.got}"
    return Observation("other meaning", line, parts)


def _at(
    probe: Probe, row: ServerParameter, value: Any, length: int, more: dict[str, Any]
) -> Answer:
    """Ask at a value, hot if drawn tokens show the effect. more: further parameters."""
    ask = probe.greedy if row.effect in ("moves", "shape", "stops") else probe.hot
    return ask(length=length, **{"seed": SEEDS[0], **row.at(value), **more})


def _apart(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require of each value of the ladder another text than of the one before it. A server that
    clamps, rounds, caches, or takes a value for a missing one gives the same."""
    if row.effect in ("seed", "length", "stops") or not probe.seeds:
        return None
    for first, second in pairwise([row.effective, *row.ladder]):
        moves = row.effect == "moves"
        for more in probe.repeating(row) if moves else [{"seed": seed} for seed in SEEDS]:
            before, answer = (_at(probe, row, value, LENGTH, more) for value in (first, second))
            if answer.refusal or before.text != answer.text:
                break
        if answer.refusal or before.text == answer.text:
            line = (
                f"{row.name} {json.dumps(second)} and {json.dumps(first)}: one text, {answer.got}"
            )
            return Observation("error" if answer.refusal else "clamped", line, answer)
    return streamed(probe, row, answer) if row.ladder and not (row.exact or row.span) else None


def _alike(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require one text of two values with one meaning, longer than the default windows."""
    for first, second in row.same if probe.seeds else ():
        want, answer = (_at(probe, row, value, LONG[0], {}) for value in (first, second))
        if answer.refusal or not want.same(answer):
            line = f"{row.name} {json.dumps(second)} is not {json.dumps(first)}: {answer.got}"
            return honoured_if(False, "", line, answer)
    return None


def _stops(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require the whole text, also in parts, of many stop strings that begin like a part of it, but
    never come. Others end it where the first of them comes, whatever their order: one with blanks,
    parts of several tokens, single characters, one whose characters all come before. A text in the
    place of the list does the same, or nothing. None begins like the end: llama-server's streams
    lose that (finding 58)."""
    for prompt in dict.fromkeys((probe.prompt, PROMPTS[1])):  # the second has lines
        greedy = probe.greedy(prompt=prompt)
        text = greedy.text
        never = [NEVER * n for n in range(1, max(row.ladder, default=2))]
        never += [text[i : i + 3] + NEVER for i in range(2, 9) if text[i] not in text[-4:]][:2]
        blanks = re.findall(r"\s+\w+", text[: len(text) // 2]) or [text[3:6]]
        # Its characters come before it: no text here has so many.
        latest = max(_pieces(text), key=text.find, default=text[:4])
        several: list[Any] = [never, [*never, blanks[-1]], [text[9:12], text[3:5]], [text[5:13]]]
        several += [[text[:1]], *([latest], latest)]
        several += [[word.upper()] for word in re.findall(r"[a-z]{2,}", text)[1:2]]  # never comes
        for stops in filter(_can_come, several):
            listed = [stops] if isinstance(stops, str) else stops
            ends = [text.find(stop) for stop in listed if stop in text]
            answer = probe.greedy(prompt=prompt, **row.at(stops))
            sent = probe.client.parameters_of(answer.sent)
            for got in (answer, probe.client.streamed(prompt, sent)):
                if isinstance(stops, str) and (got.refusal or got.plain == greedy.plain):
                    continue
                end = min(ends, default=len(text))
                if got.refusal or got.plain != replace(greedy, text=text[:end]).plain:
                    line = f"{row.name} {json.dumps(stops)}: {got.got}, without {greedy.got}"
                    return honoured_if(False, "", line, got)
                if ends and got.ended not in ("word", "stop", "", None):
                    line = f"{row.name} {json.dumps(stops)}: ended by {got.ended}"
                    return honoured_if(False, "", line, got)
    return None


def _pieces(text: str) -> list[str]:
    """Return parts of four characters, without those cut in two."""
    return [part for i in range(4, len(text) - 8) if CUT not in (part := text[i : i + 4])]


def _can_come(stops: list[str] | str) -> bool:
    """Return whether a stop string can come: a character that is cut in two is no text."""
    listed = [stops] if isinstance(stops, str) else stops
    return not any(CUT in stop and NEVER not in stop for stop in listed)


def _shape(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require the longer text of the ladder up to a stop string, also with probabilities."""
    for value in row.ladder if probe.row("stop") else ():
        unstopped = probe.greedy(**row.at(value))
        end = unstopped.text[-3:].strip('"')
        for more in ({}, probe.client.dialect.probabilities):
            answer = probe.greedy(**row.at(value), **more, stop=[end])
            if answer.refusal or answer.text != unstopped.text[: unstopped.text.find(end)]:
                line = f"{row.name} with a stop string {end!r}: {answer.got}"
                return honoured_if(False, "", line, answer)
    return None


def _fixed_seed(probe: Probe, row: ServerParameter, first: Answer) -> Observation | None:
    """Require the text of the default seed of a request without one."""
    answer = probe.hot(**row.at(None))
    if answer.text == probe.hot(row.default).text:
        return None
    line = f"without {row.name} the text is not that of {row.origin} {row.default}"
    return Observation("other meaning", line, answer)


def _unseeded(probe: Probe, row: ServerParameter, first: Answer) -> Observation | None:
    """Require texts that differ without a seed, and with the default, which stands for none."""
    unseeded = {k: v for k, v in probe.client.parameters_of(first.sent).items() if k != row.name}
    sent = [unseeded, unseeded, unseeded | {row.name: row.default}]
    drawn = [probe.send(probe.prompt, fields) for fields in sent]
    texts = [answer.text for answer in drawn if answer.ended in FULL]  # short ones may be equal
    if len({*texts}) == len(texts):
        return None
    line = f"without {row.name}, twice, and with {row.default}: two have one text"
    return Observation("other meaning", line, drawn[-1])


def _seeds(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require another text of each seed: one that loses its high bits is a lower seed."""
    first = probe.hot(row.effective)
    if row.default is not None:
        judge = _unseeded if probe.client.dialect.random else _fixed_seed
        if wrong := judge(probe, row, first):
            return wrong
    seeds_by_text = {first.text: row.effective}
    # One flipped bit each: a server that drops this bit repeats the first text.
    for seed in [0, *(row.effective ^ 1 << bit for bit in range(32)), *row.ladder]:
        answer = probe.hot(seed)
        if answer.refusal:
            return Observation("error", f"seed {seed} is refused: {answer.refusal}", answer)
        if (same := seeds_by_text.setdefault(answer.text, seed)) != seed:
            line = f"seed {seed} is silently changed to {same}"
            return Observation("clamped", line, answer)
    for seed in (0, row.effective ^ 1 << 31, *row.ladder, row.effective):  # some time later
        if probe.again(before := probe.hot(seed)).text != before.text:
            return Observation("ignored", f"seed {seed} twice: two texts", before)
    return None


def _biases(probe: Probe, row: ServerParameter, evidence: Answer) -> Observation | None:
    """Require the forced token as the first and as the last of many biases."""
    pairs = row.effective if isinstance(row.effective, list) else [*row.effective.items()]
    forced = {int(token): float(value) for token, value in pairs}
    rest = dict.fromkeys(range(BIASES - 1), 1.0)
    for position, biases in (("first", forced | rest), ("last", rest | forced)):
        answer = probe.greedy(**probe.bias(biases))
        if answer.text != evidence.text:
            line = f"of {BIASES} biases the {position} is lost: {answer.got}"
            return Observation("error" if answer.refusal else "other meaning", line, answer)
    return None


def _cold(probe: Probe) -> Observation | None:
    """Require two texts of several seeds near temperature 0, where two tokens are as likely as each
    other by their biases: halving finds those at which the greedy token changes."""

    def one(more: float, **changed: Any) -> Answer:
        biases = probe.bias({TOKEN: 50.0, TOKEN - 1: 50.0 + more})
        return probe.greedy(length=1, **changed, **biases)

    low, high = -40.0, 40.0
    below, above = one(low), one(high)
    if not probe.seeds or below.text == above.text:  # no seed repeats, or no bias has an effect
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if one(middle).text == below.text else (low, middle)
    for temperature in COLD:
        answers: list[Answer] = []
        while len(answers) < _DRAWS and len({answer.text for answer in answers}) < 2:
            answers.append(one((low + high) / 2, temperature=temperature, seed=len(answers)))
        if len({answer.text for answer in answers}) < 2:
            line = f"temperature {temperature} is silently changed to 0: {_DRAWS} seeds, one token"
            return Observation("clamped", line, answers[-1])
    return None


def _long(probe: Probe, row: ServerParameter) -> tuple[Observation | None, Answer]:
    """Require that each longer greedy text goes on from the shorter one."""
    names = {
        parameter.name for parameter in probe.client.dialect.parameters if parameter.documented
    }
    goes_on = {"ignore_eos": True} if "ignore_eos" in names else {}
    answer = probe.greedy(**goes_on)
    for n in row.ladder:
        short = probe.greedy(**{row.name: n})
        # llama-server draws one token before it counts 0.
        enough = short.has_all(n) or (n == 0 and short.has_all(1))
        if short.refusal or not (enough and answer.plain.startswith(short.plain)):
            return honoured_if(False, "", f"{row.name} {n}: {short.got}", short), short
    for n in LONG:
        before, answer = answer, probe.greedy(**{row.name: n}, **goes_on)
        begins = answer.plain.startswith(before.plain)
        goes = len(answer.text) > len(before.text) or answer.ended not in FULL
        if answer.refusal or not (begins and goes and answer.has_all(n)):
            line = f"{row.name} {n} does not go on from the shorter text: {answer.got}"
            return Observation("error" if answer.refusal else "other meaning", line, answer), answer
    return None, answer
