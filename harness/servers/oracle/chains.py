"""Make the requests whose every token is predicted: chains.toml, with several prompts and seeds."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LENGTH = 16
Chains = Mapping[str, Mapping[str, Any]]
# by dialect, then by the name of a chain
CHAINS: dict[str, Chains] = tomllib.loads(
    Path(__file__).with_name("chains.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class ChainRequest:
    """Hold a request. parameters: as sent, besides the prompt."""

    id: str
    chain: str
    prompt: list[int]
    parameters: Mapping[str, Any]


def requests(
    each: int, length: str, chains: Chains, prompts: Mapping[str, list[int]]
) -> Iterator[ChainRequest]:
    """Return so many of each chain, with prompts in turn. length: the name of that parameter."""
    named = [*prompts.items()]
    for number, (chain, parameters) in enumerate(chains.items()):
        for i in range(each):
            name, prompt = named[(number * each + i) * 7 % len(named)]
            whole = {length: LENGTH, **parameters, "seed": 1000 * number + i}
            yield ChainRequest(f"{chain}/{name}.{i}", chain, prompt, whole)
