"""Read the values of settings as llama.cpp's programs do: types, bounds, names of samplers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sampler_parity.harness.sanitize.near import meant
from sampler_parity.programs.settings.answer import Note, NoteKind
from sampler_parity.programs.settings.facts import Parameter, Release, facts

_INT32 = 1 << 31
_FLOAT32 = float(np.finfo(np.float32).max)
_TYPES = {bool: "true or false", int: "a number", float: "a number", str: "a text"}
_TYPES |= {list: "a list", dict: "a table"}


class _Unused(Exception):  # noqa: N818 - an answer, not a failure
    """The parameter keeps its default. args: the kind of a note, and its text."""


@dataclass
class ValueReader:
    """Reads values. flags: of start flags or of a model, which no server bounds."""

    release: Release
    flags: bool = False
    notes: list[Note] = field(default_factory=list)

    def read(self, parameter: Parameter, value: Any) -> Any:
        """Return the value that counts; None if the parameter keeps its default."""
        try:
            typed = getattr(self, f"_{parameter.type}")(parameter, value)
            numeric = parameter.type in ("number", "integer")
            return self._bounded(parameter, typed) if numeric else typed
        except _Unused as reason:
            self._note(reason.args[0], parameter.name, reason.args[1])

    def _note(self, kind: NoteKind, name: str, text: str) -> None:
        self.notes.append(Note(kind=kind, name=name, text=text))

    def _has(self, behaviour: str) -> bool:
        return behaviour in self.release.behaviours

    def _refused(self, text: str) -> _Unused:
        answers = "does not start" if self.flags else "answers 400"
        return _Unused("refused", text.replace("{}", f"the server {answers}"))

    def _wrong_type(self, parameter: Parameter, value: Any) -> _Unused:
        fix = f"write {facts()['types'][parameter.type]}"
        if self._has("strict_types") or self.flags or parameter.type == "texts":
            return self._refused(f"{_type(value)}: {{}}; {fix}")
        return _Unused("changed", f"{_type(value)}: the server uses its default; {fix}")

    def _number(self, parameter: Parameter, value: Any) -> float:
        if not isinstance(value, int | float):
            raise self._wrong_type(parameter, value)
        if not abs(value) <= _FLOAT32:
            raise _Unused("unread", "beyond float32; the default stands here")
        return float(value)

    def _integer(self, parameter: Parameter, value: Any) -> int:
        number, seed = self._number(parameter, value), parameter.name == "seed"
        counts = int(value) % (1 << 32) if seed else int(value)
        if int(value) != number:
            self._note("changed", parameter.name, f"{value} counts as {counts}")
        if not seed and not -_INT32 <= counts < _INT32:
            raise _Unused("unread", "beyond 32 bits; the default stands here")
        return counts

    def _boolean(self, parameter: Parameter, value: Any) -> Any:
        return self._if(isinstance(value, bool), parameter, value)

    def _texts(self, parameter: Parameter, value: Any) -> Any:
        usable = _are_texts(value)
        return self._if(usable and bool(value or self.flags), parameter, value)

    def _order(self, parameter: Parameter, value: Any) -> Any:
        order = self.release.order
        usable = isinstance(value, list) and all(type(i) is int and str(i) in order for i in value)
        return self._if(usable, parameter, value)

    def _names(self, parameter: Parameter, value: Any) -> Any:
        value = value.split("\n") if isinstance(value, str) else value
        names = [*map(str.strip, self._if(_are_texts(value), parameter, value))]
        return [name for name in names if name in self.release.order]

    def _if(self, usable: bool, parameter: Parameter, value: Any) -> Any:
        if not usable:
            raise self._wrong_type(parameter, value)
        return value

    def _samplers(self, parameter: Parameter, value: Any) -> list[str]:
        if isinstance(value, str) and self._has("letters"):
            return self._letters(parameter, value)
        if not isinstance(value, list):
            raise _Unused("changed", f"{_type(value)}: the default order stands; write a list")
        names = [name for name in value if isinstance(name, str)]
        if len(names) < len(value):
            if not self._has("names_skipped"):
                raise self._wrong_type(parameter, value)
            self._note("changed", parameter.name, "what is no text in the list is passed over")
        return [sampler for name in names for sampler in self._sampler(name)]

    def _sampler(self, name: str) -> Iterator[str]:
        spellings = self.release.spellings
        if not (self._has("any_spelling") or self.flags):
            spellings = {canonical: canonical for canonical in self.release.stages}
        if sampler := spellings.get(name.lower() if self._has("any_spelling") else name):
            yield sampler
        else:
            text = f"passed over; {meant(name, self.release.stages)}"
            self._note("unknown", f"samplers: {name}", text)

    def _letters(self, parameter: Parameter, value: str) -> list[str]:
        letters = self.release.letters
        if unknown := "".join(dict.fromkeys(letter for letter in value if letter not in letters)):
            usable = ", ".join(" ".join(pair) for pair in letters.items())
            text = f"passed over; the letters are {usable}"
            self._note("unknown", f"samplers: letters {unknown!r}", text)
        samplers = [letters[letter] for letter in value if letter in letters]
        if not self.flags:
            text = f"a text is read letter by letter: {len(samplers)} samplers"
            self._note("changed", parameter.name, text)
        return samplers

    def _biases(self, parameter: Parameter, value: Any) -> list[list[Any]]:
        if isinstance(value, dict) and self._has("biases_by_token"):
            value = [[int(key) if _is_token(key) else key, bias] for key, bias in value.items()]
        if not isinstance(value, list):
            raise _Unused("changed", f"{_type(value)}: it is passed over; write pairs")
        pairs = [_bias(*pair) for pair in value if isinstance(pair, list) and len(pair) == 2]
        biases = [pair for pair in pairs if pair]
        if len(biases) < len(value):
            text = f"{len(value) - len(biases)} of {len(value)} biases: only pairs of a token's"
            self._note("unread", parameter.name, f"{text} number and a number are read here")
        return biases

    def _bounded(self, parameter: Parameter, value: float) -> float:
        name, strict = parameter.name, self._has("strict_types") and not self.flags
        if name == "dry_base" and value < 1:
            raise _Unused("changed", f"{value} is below 1: the default stands")
        clamp = parameter.clamp if strict else ()
        if self.flags and name == "temperature":
            clamp = (0.0, math.inf)
        counts = type(value)(min(max(value, clamp[0]), clamp[1])) if clamp else value
        if counts != value:
            self._note("changed", name, f"{value} counts as {counts}")
        if problem := self._problem(parameter, counts, strict):
            raise self._refused(f"{value}: must {problem}; {{}}")
        return counts

    def _problem(self, parameter: Parameter, value: float, strict: bool) -> str:
        counted = parameter.name.endswith("last_n")
        least = -1 if counted and self._has("context_is_minus_one") else parameter.least
        if least is not None and value < least and (strict or counted):
            return f"not be below {least}"
        if strict and parameter.most is not None and value > parameter.most:
            return f"not be above {parameter.most}"
        if parameter.name != "repeat_penalty" or not self._has("finite_penalties"):
            return ""
        with np.errstate(all="ignore"):
            usable = value > 0 and np.isfinite(np.float32(1) / np.float32(value))
        return "" if usable else "be above 0, with a finite reciprocal"


def _type(value: Any) -> str:
    return _TYPES.get(type(value), "another type")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_token(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 11


def _bias(token: Any, bias: Any) -> list[Any]:
    """Return a pair of token and bias; an empty list for one that is not read here."""
    bias = -math.inf if bias is False else bias
    usable = type(token) is int and 0 <= token < _INT32 and type(bias) in (int, float)
    return [token, float(bias)] if usable and not math.isnan(bias) else []
