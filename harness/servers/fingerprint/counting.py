"""What penalties count, by how long a token goes on that is forced.

A bias on one token makes a greedy text of it alone. A penalty per occurrence takes more at each,
and ends that after a few; one per token takes once, and never does. Of a prompt that holds the
token already, the first place says whether the prompt counts.
"""

from dataclasses import dataclass
from typing import Any

from sampler_parity.harness.servers.client import Answer
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


@dataclass(frozen=True)
class _Forced:
    """name: of the penalty. piece: the token that is forced, by a bias on this prompt."""

    name: str
    bias: dict[str, Any]
    piece: str
    prompt: str

    def with_penalty(self, probe: Probe, value: float) -> tuple[Answer, int]:
        """The greedy text, and how often the token comes."""
        answer = probe.greedy(prompt=self.prompt, **{self.name: value}, **self.bias)
        return answer, _run(answer, self.piece)


def _forcing(probe: Probe, which: str, before: int = 0) -> _Forced | str:
    """before: times the token stands at the end of the prompt. A text: why nothing can be said."""
    name, problem = _named(probe, which)
    if problem:
        return problem
    force = forced(probe)
    prompt = probe.prompt + force[1] * before if force else ""
    if force is None or (force := forced(probe, prompt)) is None:
        return "no bias makes a text of one token"
    return _Forced(name, *force, prompt)


def _ready(probe: Probe, which: str, before: int = 0) -> _Forced | str:
    """The same of a penalty that a bias is not behind."""
    ready = _forcing(probe, which, before)
    if isinstance(ready, str) or ready.name != probe.repeat:
        return ready
    behind = ready.with_penalty(probe, 4.0)[1] == LENGTH
    return "logit_bias comes after it" if behind else ready


def _counts(which: str, weak: float) -> Fact:
    """weak: a penalty that one time cannot end what is forced, and twelve times can."""

    def fact(probe: Probe) -> Said:
        if isinstance(ready := _ready(probe, which), str):
            return cannot(ready)
        answer, length = ready.with_penalty(probe, weak)
        said = f"{ready.name} {weak:g}: the forced token comes {length} times of {LENGTH}"
        if length == LENGTH:
            return Said("once per token", said, answer)
        return Said("per occurrence", said, answer) if length > 1 else cannot(said, answer)

    return fact


def _prompt(which: str, strong: float) -> Fact:
    def fact(probe: Probe) -> Said:
        if isinstance(ready := _ready(probe, which, _BEFORE), str):
            return cannot(ready)
        answer, length = ready.with_penalty(probe, strong)
        said = f"after {_BEFORE} of the token the forced one comes {length} times"
        return Said("does not count" if length else "counts", said, answer)

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
    if isinstance(ready := _forcing(probe, "repeat"), str):
        return cannot(ready)
    answer, length = ready.with_penalty(probe, 4.0)
    said = f"{ready.name} 4: the forced token comes {length} times of {LENGTH}"
    return Said("the penalty first" if length == LENGTH else "logit_bias first", said, answer)


COUNTING: dict[str, Fact] = {
    "frequency_penalty": _counts("frequency_penalty", 2.0),
    "presence_penalty": _counts("presence_penalty", 2.0),
    "repetition penalty": _counts("repeat", 1.1),
    "prompt, for frequency_penalty": _prompt("frequency_penalty", 2.0),
    "prompt, for the repetition penalty": _prompt("repeat", 4.0),
    "logit_bias and repetition penalty": _bias_first,
}
