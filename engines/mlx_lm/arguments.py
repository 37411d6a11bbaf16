"""llama.cpp's stages and their parameters in the words of MLX LM."""

from typing import Any

from sampler_parity.harness.errors import Unsupported

SAMPLERS = ["greedy", "dist", "top_k", "top_p", "min_p", "xtc", "temp", "penalties", "logit_bias"]
OWN = ["mlx_penalties", "mlx_sampler"]


def processors_of(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of make_logits_processors."""
    if name == "mlx_penalties":
        return parameters
    if name == "logit_bias":
        return {"logit_bias": {token: float(bias) for token, bias in parameters["logit_bias"]}}
    arguments: dict[str, Any] = {
        "repetition_penalty": float(parameters["penalty_repeat"]),
        "presence_penalty": float(parameters["penalty_present"]),
        "frequency_penalty": float(parameters["penalty_freq"]),
    }
    kinds = ("repetition", "presence", "frequency")
    return arguments | {f"{kind}_context_size": parameters["penalty_last_n"] for kind in kinds}


def sampler_of(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of make_sampler. Raises Unsupported for a parameter that it lacks."""
    if name == "mlx_sampler":
        return {key: value for key, value in parameters.items() if key != "seed"}
    least = parameters.get("min_keep", 0)
    if name == "top_k":
        return {"temp": 1.0, "top_k": parameters["k"]}
    if name == "min_p":
        return {"temp": 1.0, "min_p": float(parameters["p"]), "min_tokens_to_keep": max(1, least)}
    if least > 1:
        raise Unsupported(f"{name} keeps no minimum")
    if name == "top_p":
        return {"temp": 1.0, "top_p": float(parameters["p"])}
    odds = {"xtc_probability": float(parameters["p"]), "xtc_threshold": float(parameters["t"])}
    return {"temp": 1.0} | odds
