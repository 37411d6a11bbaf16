"""Rules of use: how a program calls samplers. What is right by each stage may break one."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """A rule of misuse.toml. fails: its breach has the verdict `misused`; else it is a note."""

    sentence: str
    advice: str
    fails: bool = True


_TABLE = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
RULES = {name: Rule(**values) for name, values in tomllib.loads(_TABLE).items()}


class Breach(NamedTuple):
    """numbers: what proves it. step: the first place; None for the present step of the chain."""

    rule: str
    numbers: dict[str, Any]
    step: int | None = None


@dataclass(frozen=True)
class Misuse:
    """The first breach of a rule by the use of a chain. step: of the chain, from 0; None if it has
    none. numbers: what proves it."""

    rule: str
    step: int | None
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def fails(self) -> bool:
        return RULES[self.rule].fails

    @property
    def text(self) -> str:
        """Return the rule, what proves it, and what to do, in a line."""
        rule = RULES[self.rule]
        proof = ", ".join(f"{key} {_printed(value)}" for key, value in self.numbers.items())
        return f"{self.rule}: {rule.sentence}{f' ({proof})' if proof else ''}; {rule.advice}"


def _printed(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_printed, value))
    return f"{value:.4f}" if isinstance(value, float) else str(value)
