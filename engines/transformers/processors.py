"""The processor, with its arguments, that `generate` makes of the parameters of a stage."""

from typing import Any

from sampler_parity.harness.errors import Unsupported

Processor = tuple[str, dict[str, Any]]

SAMPLERS = ["greedy", "dist", "top_k", "top_p", "min_p", "typical_p", "temp", "penalties"]
SAMPLERS += ["logit_bias"]

OWN = {
    "transformers_min_length": "MinLengthLogitsProcessor",
    "transformers_min_new_tokens": "MinNewTokensLengthLogitsProcessor",
    "transformers_no_bad_words": "NoBadWordsLogitsProcessor",
    "transformers_repetition_penalty": "RepetitionPenaltyLogitsProcessor",
    "transformers_sequence_bias": "SequenceBiasLogitsProcessor",
}


def processor_of(name: str, parameters: dict[str, Any]) -> Processor | None:
    """Return the class and its arguments; None if `generate` would make none of these parameters.

    Raises Unsupported for a sampler or parameter without counterpart.
    """
    minimum = {"min_tokens_to_keep": max(1, parameters.get("min_keep", 1))}
    if name == "temp":
        t = float(parameters["temp"])
        return None if t == 1 else ("TemperatureLogitsWarper", {"temperature": t})
    if name == "top_k":
        return None if parameters["k"] == 0 else ("TopKLogitsWarper", {"top_k": parameters["k"]})
    if name == "top_p":
        p = float(parameters["p"])
        return None if p >= 1 else ("TopPLogitsWarper", {"top_p": p} | minimum)
    if name == "min_p":
        return "MinPLogitsWarper", {"min_p": float(parameters["p"])} | minimum
    if name == "typical_p":
        p = float(parameters["p"])
        return None if p >= 1 else ("TypicalLogitsWarper", {"mass": p} | minimum)
    if name == "penalties":
        if parameters["penalty_freq"] != 0 or parameters["penalty_present"] != 0:
            raise Unsupported("no frequency and no presence penalty")
        repeat = float(parameters["penalty_repeat"])
        off = repeat == 1 or parameters["penalty_last_n"] <= 0
        return None if off else ("RepetitionPenaltyLogitsProcessor", {"penalty": repeat})
    if name == "logit_bias":
        biases = [[[token], float(bias)] for token, bias in parameters["logit_bias"]]
        return ("SequenceBiasLogitsProcessor", {"sequence_bias": biases}) if biases else None
    if name in ("dist", "greedy"):
        return None
    raise Unsupported(f"transformers has no {name}")


def own_processor(name: str, parameters: dict[str, Any], n_prompt: int) -> Processor | None:
    """Return what processor_of does, for a stage under the processor's own name."""
    arguments = {key: value for key, value in parameters.items() if key != "n_vocab"}
    if parameters.get("penalty", 0.0) == 1:
        return None
    if "penalty" in arguments:
        arguments["penalty"] = float(arguments["penalty"])
    if "sequence_bias" in arguments:
        pairs = arguments["sequence_bias"]
        arguments["sequence_bias"] = [[sequence, float(bias)] for sequence, bias in pairs]
    if "min_new_tokens" in arguments:
        arguments["prompt_length_to_skip"] = n_prompt
    return OWN[name], arguments
