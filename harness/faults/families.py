"""Faults by construction: a sampler with one parameter taken otherwise.

Nobody wrote these faults down. A diagnosis tries them if no reading of the rule and no planted
fault does as a backend did. The description of each is a sentence about the sampler.
"""

import functools
import tomllib
from collections.abc import Iterator
from typing import Any

from sampler_parity.harness.faults import FAMILIES, Mutant
from sampler_parity.reference.chain import parameters_of
from sampler_parity.reference.registry import REFERENCE_SAMPLERS

TABLES = tomllib.loads(FAMILIES.read_text(encoding="utf-8"))


def families(name: str) -> Iterator[Mutant]:
    """Yield the faults of a sampler, the simplest first; none for the stage of an engine."""
    if name not in REFERENCE_SAMPLERS:
        return
    make = REFERENCE_SAMPLERS[name]
    default = {key: of.default for key, of in parameters_of(make).items() if key != "vocab"}

    def mutant(sentence: str, key: str, form: str) -> Mutant:
        code = compile(form, "families.toml", "eval")

        @functools.wraps(make)
        def changed(**parameters: Any) -> Any:
            value = parameters.get(key, default[key])
            if isinstance(value, int | float):
                # the names that expressions of families.toml use
                scope = {"q": value, "kind": type(value), "given": default | parameters}
                parameters = parameters | {key: eval(code, scope)}
            return make(**parameters)

        return Mutant(f"{name}/one-parameter", changed, text=sentence)

    for key, usual in default.items():
        for words, form in TABLES["numbers"].items():
            yield mutant(f"{key} is taken {words}", key, form)
        if isinstance(usual, int | float):
            yield mutant(f"{key} is always {usual}", key, repr(usual))
        for parameter in sorted(default.keys() - {key}):
            yield mutant(f"{parameter} is taken for {key}", key, f"given[{parameter!r}]")
