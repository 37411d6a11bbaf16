"""What penalties count, by how long a token goes on that is forced.

A bias on one token makes a greedy text of it alone. A penalty per occurrence takes more at each,
and ends that after a few; one per token takes once, and never does. Of a prompt that holds the
token already, the first place says whether the prompt counts.
"""

from typing import Any

from sampler_parity.harness.servers.asking import Answer
from sampler_parity.harness.servers.dialects import TOKEN
from sampler_parity.harness.servers.fingerprint.meanings import Fact
from sampler_parity.harness.servers.fingerprint.probe import LENGTH, Probe, Said, cannot

_BIASES = (10.0, 15.0, 20.0, 30.0, 50.0)
_SPARE = 6.0  # above the smallest bias that forces: three times the largest penalty of OpenAI's
_BEFORE = 20  # times the token stands in the prompt: 40 off, if the prompt counts


def forced(probe: Probe, prompt: str | None = None) -> tuple[dict[str, Any], str] | None:
    """A bias that forces a token in each place with something to spare, and the token's text."""
    prompt = probe.prompt if prompt is None else prompt
    for value in _BIASES:
        answer = probe.greedy(prompt=prompt, **probe.bias(int(TOKEN), value))
        if answer.refusal or not (piece := _piece(answer.text)):
            continue
        return probe.bias(int(TOKEN), value + _SPARE), piece
    return None


def _piece(text: str) -> str:
    """Of a text that is one token again and again, that token; a blank before the first may be
    left out."""
    for blank in ("", " "):
        whole = blank + text
        size, rest = divmod(len(whole), LENGTH)
        if size and not rest and whole == whole[:size] * LENGTH:
            return whole[:size]
    return ""


def _run(answer: Answer, piece: str) -> int:
    """So many times the token comes before another."""
    text = answer.text if answer.text.startswith(piece) else f" {answer.text}"
    count = 0
    while text.startswith(piece, count * len(piece)):
        count += 1
    return count


def _counts(which: str, weak: float) -> Fact:
    """weak: a penalty that one time cannot end what is forced, and twelve times can."""

    def fact(probe: Probe) -> Said:
        name, problem = _named(probe, which)
        if problem:
            return cannot(problem)
        if (force := forced(probe)) is None:
            return cannot("no bias makes a text of one token")
        bias, piece = force
        if name == probe.repeat and _before_bias(probe, bias, piece):
            return cannot("logit_bias comes after it")
        answer = probe.greedy(**{name: weak}, **bias)
        length = _run(answer, piece)
        said = f"{name} {weak:g}: the forced token comes {length} times of {LENGTH}"
        if length == LENGTH:
            return Said("once per token", said, answer)
        return Said("per occurrence", said, answer) if length > 1 else cannot(said, answer)

    return fact


def _prompt(which: str, strong: float) -> Fact:
    def fact(probe: Probe) -> Said:
        name, problem = _named(probe, which)
        if problem:
            return cannot(problem)
        if (force := forced(probe)) is None:
            return cannot("no bias makes a text of one token")
        piece = force[1]
        prompt = probe.prompt + piece * _BEFORE
        if (force := forced(probe, prompt)) is None:
            return cannot("no bias makes a text of one token")
        bias = force[0]
        if name == probe.repeat and _before_bias(probe, bias, piece):
            return cannot("logit_bias comes after it")
        answer = probe.greedy(prompt=prompt, **{name: strong}, **bias)
        length = _run(answer, piece)
        said = f"after {_BEFORE} of the token the forced one comes {length} times"
        if length == 0:
            return Said("counts", said, answer)
        return Said("does not count", said, answer)

    return fact


def _named(probe: Probe, which: str) -> tuple[str, str]:
    """The parameter's name, and why nothing can be said of it."""
    name = probe.repeat if which == "repeat" else which
    row = probe.row(name) if name else None
    if row is None:
        return "", f"the dialect has no {which} penalty"
    answer = probe.greedy(**{name: row.effective})
    if answer.refusal:
        return name, f"{name} is refused: {answer.refusal}"
    moved = answer.text != probe.greedy().text
    return name, "" if moved else f"{name} has no effect on the greedy text"


def _bias_first(probe: Probe) -> Said:
    """A biased logit divided by 4 is far lower; a bias on a divided one is not."""
    name, problem = _named(probe, "repeat")
    if problem:
        return cannot(problem)
    if (force := forced(probe)) is None:
        return cannot("no bias makes a text of one token")
    answer = probe.greedy(**{name: 4.0}, **force[0])
    length = _run(answer, force[1])
    said = f"{name} 4: the forced token comes {length} times of {LENGTH}"
    return Said("the penalty first" if length == LENGTH else "logit_bias first", said, answer)


def _before_bias(probe: Probe, bias: dict[str, Any], piece: str) -> bool:
    return _run(probe.greedy(**{probe.repeat: 4.0}, **bias), piece) == LENGTH


COUNTING: dict[str, Fact] = {
    "frequency_penalty": _counts("frequency_penalty", 2.0),
    "presence_penalty": _counts("presence_penalty", 2.0),
    "repetition penalty": _counts("repeat", 1.1),
    "prompt, for frequency_penalty": _prompt("frequency_penalty", 2.0),
    "prompt, for the repetition penalty": _prompt("repeat", 4.0),
    "logit_bias and repetition penalty": _bias_first,
}
