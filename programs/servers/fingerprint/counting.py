"""Find out which tokens penalties count, by how often a forced token comes.

A bias on one token makes a greedy text of it alone. A penalty per occurrence takes more at each,
and ends that after a few; one per token takes once, and never does. With a prompt that holds the
token already, the first place of the text shows whether the prompt counts.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from sampler_parity.programs.servers.answer import Answer
from sampler_parity.programs.servers.dialects import TOKEN
from sampler_parity.programs.servers.fingerprint.trait import LENGTH, Trait, TraitTest
from sampler_parity.programs.servers.probe import Probe, Undetermined

_BIASES = (10.0, 15.0, 20.0, 30.0, 50.0)
_SPARE = 6.0  # above the smallest bias that forces: three times the largest penalty of OpenAI's
_BEFORE = 20  # times the token stands in the prompt: 40 off, if the prompt counts


def _forced(probe: Probe, prompt: str) -> tuple[dict[str, Any], str] | None:
    """Return a bias that forces a token in each place with something to spare, and its text."""
    for value in _BIASES:
        answer = probe.greedy(prompt=prompt, **probe.bias({TOKEN: value}))
        if not answer.refusal and (piece := _piece(answer.text)):
            return probe.bias({TOKEN: value + _SPARE}), piece
    return None


def _piece(text: str) -> str:
    """Return the token of a text that is one token again and again; "" of another. A blank before
    the first may be left out."""
    for blank in ("", " "):
        padded = blank + text
        size, rest = divmod(len(padded), LENGTH)
        if size and not rest and padded == padded[:size] * LENGTH:
            return padded[:size]
    return ""


def _run(answer: Answer, piece: str) -> int:
    """Count how often the token comes before another."""
    text = answer.text if answer.text.startswith(piece) else f" {answer.text}"
    count = 0
    while text.startswith(piece, count * len(piece)):
        count += 1
    return count


@dataclass(frozen=True)
class _Forcing:
    """Force a token, `piece`, by a bias on this prompt. name: of the penalty."""

    name: str
    bias: dict[str, Any]
    piece: str
    prompt: str

    def with_penalty(self, probe: Probe, value: float) -> tuple[Answer, int]:
        """Return the greedy text, and how often the token comes."""
        answer = probe.greedy(prompt=self.prompt, **{self.name: value}, **self.bias)
        return answer, _run(answer, self.piece)


def _forcing(probe: Probe, which: str, before: int = 0) -> _Forcing:
    """Force a token under a penalty that has an effect. Raises Undetermined. before: how often the
    token stands at the end of the prompt."""
    name = probe.repeat_name if which == "repeat" else which
    row = probe.required_row(name, f"{which} penalty")
    answer = probe.greedy(**{name: row.effective})
    if answer.refusal:
        raise Undetermined(f"{name} is refused: {answer.refusal}")
    if answer.text == probe.greedy().text:
        raise Undetermined(f"{name} has no effect on the greedy text")
    force = _forced(probe, probe.prompt)
    prompt = probe.prompt + force[1] * before if force else ""
    if force is None or (force := _forced(probe, prompt)) is None:
        raise Undetermined("no bias makes a text of one token")
    return _Forcing(name, *force, prompt)


def _before_bias(probe: Probe, which: str, before: int = 0) -> _Forcing:
    """Force a token under a penalty that comes after the bias. Raises Undetermined."""
    forcing = _forcing(probe, which, before)
    if forcing.name == probe.repeat_name and forcing.with_penalty(probe, 4.0)[1] == LENGTH:
        raise Undetermined("logit_bias comes after the penalty")
    return forcing


def _counts(which: str, weak: float, probe: Probe) -> Trait:
    """Count with a weak penalty: one time cannot end a forced text, twelve times can."""
    forcing = _before_bias(probe, which)
    answer, length = forcing.with_penalty(probe, weak)
    line = f"{forcing.name} {weak:g}: the forced token comes {length} times of {LENGTH}"
    if length == LENGTH:
        return Trait("once per token", line, answer)
    if length > 1:
        return Trait("per occurrence", line, answer)
    raise Undetermined(line, answer)


def _prompt(which: str, strong: float, probe: Probe) -> Trait:
    answer, length = _before_bias(probe, which, _BEFORE).with_penalty(probe, strong)
    line = f"after {_BEFORE} of the token the forced one comes {length} times"
    return Trait("does not count" if length else "counts", line, answer)


def _bias_first(probe: Probe) -> Trait:
    """Divide a logit by 4: a biased one is then far lower; a bias on a divided one is not."""
    forcing = _forcing(probe, "repeat")
    answer, length = forcing.with_penalty(probe, 4.0)
    line = f"{forcing.name} 4: the forced token comes {length} times of {LENGTH}"
    return Trait("the penalty first" if length == LENGTH else "logit_bias first", line, answer)


COUNTING: dict[str, TraitTest] = {
    "frequency_penalty": partial(_counts, "frequency_penalty", 2.0),
    "presence_penalty": partial(_counts, "presence_penalty", 2.0),
    "repetition penalty": partial(_counts, "repeat", 1.1),
    "prompt, for frequency_penalty": partial(_prompt, "frequency_penalty", 2.0),
    "prompt, for the repetition penalty": partial(_prompt, "repeat", 4.0),
    "logit_bias and repetition penalty": _bias_first,
}
