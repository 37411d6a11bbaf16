"""Make the requests whose every token is predicted: chains.toml, with several prompts and seeds.

Every second request is a stream, and two of three seeds have high bits.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LENGTH = 16
HIGH = (0, 1 << 31, 1 << 16)  # bits of seeds
Chains = Mapping[str, Mapping[str, Any]]
# by dialect, then by the name of a chain
CHAINS: dict[str, dict[str, Mapping[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("chains.toml").read_text(encoding="utf-8")
)

# The last ones are of the most frequent tokens.
_BIASES = [[7 * i + 3, (i % 9 - 4) / 2] for i in reversed(range(300))]
CHAINS["llama-server"]["logit-bias-300"] = {"logit_bias": _BIASES}


@dataclass(frozen=True)
class ChainRequest:
    """A request. parameters: as sent, besides the prompt. streamed: ask for a stream."""

    id: str
    chain: str
    prompt: list[int]
    parameters: Mapping[str, Any]
    streamed: bool = False


def requests(
    per_chain: int, length: str, chains: Chains, prompts: Mapping[str, list[int]]
) -> Iterator[ChainRequest]:
    """Return so many of each chain, with prompts in turn. length: the name of that parameter."""
    named_prompts = [*prompts.items()]
    for number, (chain, parameters) in enumerate(chains.items()):
        for i in range(per_chain):
            name, prompt = named_prompts[(number * per_chain + i) * 7 % len(named_prompts)]
            seed = 1000 * number + i + HIGH[i % len(HIGH)]
            sent = {length: LENGTH, **parameters, "seed": seed}
            streamed = i % 2 == 1
            id = f"{chain}/{name}.{i}" + ".stream" * streamed
            yield ChainRequest(id, chain, prompt, sent, streamed)
