"""Parameters of llama.cpp's stages for engines in Python that name them differently."""

from typing import Any

from sampler_parity.harness.errors import Unsupported

ANY_SEED = 0xFFFFFFFF  # llama.cpp's for a random one


def one_is_kept(given: dict[str, Any], engine: str) -> None:
    """Raise Unsupported if a stage must keep more than one token."""
    if given.get("min_keep", 0) > 1:
        raise Unsupported(f"{engine} keeps one token, no more")


def biases(given: dict[str, Any], engine: str) -> dict[int, float]:
    """Return the biases of a logit_bias by token. Raises Unsupported for two of one token."""
    pairs = given["logit_bias"]
    if len({token for token, _ in pairs}) < len(pairs):
        raise Unsupported(f"{engine} takes one bias for a token")
    return {token: float(bias) for token, bias in pairs}


def no_uniforms(uniforms: Any, engine: str) -> None:
    if uniforms is not None:
        raise Unsupported(f"{engine} takes no uniforms")
