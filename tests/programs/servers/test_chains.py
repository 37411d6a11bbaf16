import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.programs.servers.oracle.chains import CHAINS
from sampler_parity.programs.servers.oracle.samplers import llama_server
from sampler_parity.reference import Candidates
from tests.support.fake_server import TABLE, VOCAB, N

ROOT = Path(__file__).parents[3]
GENERATE: dict[str, Any] = tomllib.loads(
    (ROOT / "suites" / "generate" / "generation.toml").read_text(encoding="utf-8")
)["chains"]
ASKED = {
    "default": "default",
    "greedy": "greedy",
    "mirostat": "generate-mirostat",
    "mirostat_v2": "mirostat-v2",
    "adaptive_p": "generate-adaptive-p",
    "dry_penalties_xtc": "generate-dry-penalties-xtc",
}
PROMPT = [5, 9, 20, 5, 9]


def test_every_chain_of_the_suite_generate_is_asked_of_llama_server() -> None:
    assert GENERATE.keys() == ASKED.keys()
    assert {*ASKED.values()} <= CHAINS["llama-server"].keys()


def tokens_of_chain(name: str, seed: int) -> list[int]:
    spec = [
        {stage: {k: seed if v == "$prompt" else v for k, v in parameters.items()}}
        for one in GENERATE[name]
        for stage, parameters in one.items()
    ]
    chain = build_chain(spec, n_vocab=N, vocab=VOCAB)
    for token in PROMPT:
        chain.accept(token)
    tokens = [PROMPT[-1]]
    for _ in range(60):
        candidates = Candidates.from_logits(np.array(TABLE[tokens[-1]]))
        chain.apply(candidates)
        assert candidates.token is not None
        chain.accept(candidates.token)
        tokens.append(candidates.token)
    return tokens[1:]


def tokens_of_server(name: str, seed: int) -> list[int]:
    server = llama_server({**CHAINS["llama-server"][name], "seed": seed}, PROMPT, VOCAB)
    tokens = [PROMPT[-1]]
    for _ in range(60):
        tokens.append(server.sample(np.array(TABLE[tokens[-1]])))
    return tokens[1:]


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_draws_as_the_chain_of_the_suite(name: str) -> None:
    drawn = tokens_of_chain(name, 7)
    assert tokens_of_server(ASKED[name], 7) == drawn
    if name != "greedy":
        assert tokens_of_server(ASKED[name], 8) != drawn
