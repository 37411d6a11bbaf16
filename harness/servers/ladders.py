"""Ask for more than the one value that shows a parameter's effect.

Servers break further up: at seeds of more than 16 or 31 bits, hundreds of biases, temperatures near
0, long answers, and in streams. Each function returns what is wrong, or None.
"""

from typing import Any

from sampler_parity.harness.servers.client import Answer
from sampler_parity.harness.servers.dialects import TOKEN, ServerParameter
from sampler_parity.harness.servers.observation import Observation
from sampler_parity.harness.servers.probe import Probe

BIASES = 300
LONG = (128, 256)  # tokens
COLD = (0.05, 0.01)  # vLLM raises lower ones to 0.01, as documented.
_DRAWS = 16  # A fair coin falls on one side so often once in 32,768.
_STEPS = 13  # They halve 80 to 0.01. At temperature 0.01 both tokens are then likely.
_FULL = ("limit", "length", "")  # how a text ends that has all its tokens


def climb(probe: Probe, row: ServerParameter, shown: Answer) -> Observation | None:
    """Return what is wrong further up. shown: the answer that has the parameter's effect."""
    if row.effect == "seed":
        wrong = _seeds(probe, row)
    elif row.name == "temperature":
        wrong = _cold(probe)
    elif row.effect == "forces":
        wrong = _biases(probe, row, shown)
    elif row.effect == "length":
        wrong, shown = _long(probe, row)
    else:
        wrong = None
    return wrong or _streamed(probe, row, shown)


def _streamed(probe: Probe, row: ServerParameter, whole: Answer) -> Observation | None:
    """Require the same text in parts."""
    client = probe.client
    parts = client.streamed(probe.prompt, client.parameters_of(whole.sent))
    if whole.same(parts) and not parts.refusal:
        return None
    line = f"{row.name} in a stream: another text than in one: {parts.got}, {whole.got}"
    return Observation("other meaning", line, parts)


def _seeds(probe: Probe, row: ServerParameter) -> Observation | None:
    """Require another text of each seed: one that loses its high bits is a lower seed."""
    first = probe.hot(row.effective)
    for seed in row.ladder:
        answer = probe.hot(seed)
        if answer.refusal:
            return Observation("error", f"seed {seed} is refused: {answer.refusal}", answer)
        if answer.text == first.text:
            line = f"seed {seed} is silently changed to {row.effective}"
            return Observation("clamped", line, answer)
        if probe.again(answer).text != answer.text:
            return Observation("ignored", f"seed {seed} twice: two texts", answer)
    return None


def _biases(probe: Probe, row: ServerParameter, shown: Answer) -> Observation | None:
    """Require the forced token as the first and as the last of many biases."""
    pairs = row.effective if isinstance(row.effective, list) else [*row.effective.items()]
    forced = {int(token): float(value) for token, value in pairs}
    rest = dict.fromkeys(range(BIASES - 1), 1.0)
    for place, biases in (("first", forced | rest), ("last", rest | forced)):
        answer = probe.greedy(**probe.bias(biases))
        if answer.text != shown.text:
            line = f"of {BIASES} biases the {place} is lost: {answer.got}"
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
    names = {one.name for one in probe.client.dialect.parameters if one.documented}
    goes_on = {"ignore_eos": True} if "ignore_eos" in names else {}
    answer = probe.greedy(**goes_on)
    for n in LONG:
        before, answer = answer, probe.greedy(**{row.name: n}, **goes_on)
        begins = answer.plain.startswith(before.plain)
        full = answer.tokens is None or len(answer.tokens) == n
        goes = len(answer.text) > len(before.text) and full
        if answer.refusal or not (begins and (goes or answer.ended not in _FULL)):
            line = f"{row.name} {n} does not go on from the shorter text: {answer.got}"
            return Observation("error" if answer.refusal else "other meaning", line, answer), answer
    return None, answer
