"""Read the settings of a user: a chain as suites write it, or a request of llama-server."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.files import read_file, toml_of
from sampler_parity.harness.inputs.vocabularies import read_vocab, vocab_path
from sampler_parity.harness.protocol.messages import ChainSpec
from sampler_parity.harness.sanitize import limits
from sampler_parity.harness.sanitize.limits import json_of, shallow
from sampler_parity.harness.sanitize.near import meant
from sampler_parity.harness.strict import first_mistake
from sampler_parity.programs.servers.dialects import DIALECTS
from sampler_parity.programs.servers.oracle.samplers import NOT_SAMPLING, params_of
from sampler_parity.reference import ChainError
from sampler_parity.reference.pipelines.common_chain import default_chain
from sampler_parity.reference.random import DEFAULT_SEED

# Fields of a request that are no settings of a chain, and no parameters of the dialect.
_NOT_SETTINGS = {
    "prompt",
    "messages",
    "model",
    "stream",
    "cache_prompt",
    "id_slot",
    "return_tokens",
}
_LEFT_OUT = {"grammar", "json_schema"}  # of a request, but of no chain


def chain_of(path: Path) -> tuple[ChainSpec, list[str]]:
    """Return the chain of a file of JSON or TOML, and the settings left out. Raises InputError."""
    content = read_file(path, limits.TOML)
    try:
        data = toml_of(path, content) if path.suffix == ".toml" else shallow(json_of(content))
        if not isinstance(data, dict) or "chain" in data:
            chain, left_out = data["chain"] if isinstance(data, dict) else data, []
        else:
            chain, left_out = _of_request(path, data), sorted(data.keys() & _LEFT_OUT)
        return TypeAdapter(ChainSpec).validate_python(chain), left_out
    except ValidationError as error:
        raise InputError(path, f"chain: {first_mistake(error)}") from None
    except (ChainError, TypeError, ValueError, OverflowError) as error:
        fix = "write a chain, or a request of llama-server, as .json or .toml"
        raise InputError(path, f"holds no settings: {error}", fix) from None


def _of_request(path: Path, data: dict[str, Any]) -> ChainSpec:
    """Return the chain that llama-server makes of a request's body."""
    parameters = {row.name for row in DIALECTS["llama-server"].parameters} | NOT_SAMPLING
    for name in data.keys() - parameters - _NOT_SETTINGS:
        raise InputError(path, f"{name}: not a parameter of llama-server", meant(name, parameters))
    used = {k: v for k, v in data.items() if k in parameters - NOT_SAMPLING - _LEFT_OUT}
    if isinstance(biases := used.get("logit_bias"), dict):
        used["logit_bias"] = [[int(token), bias] for token, bias in biases.items()]
    if used.get("seed", 0) < 0:
        used["seed"] = DEFAULT_SEED
    chain = default_chain(params_of(used, read_vocab(vocab_path("bpe"))), n_vocab=0)
    for stage in chain:
        stage.get("mirostat", {}).pop("n_vocab", None)  # that of each row
    return chain
