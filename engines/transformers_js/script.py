"""A row through the logits processors of Transformers.js, one for each stage."""

from typing import Any

from sampler_parity.harness.errors import Unsupported
from sampler_parity.maintenance.repro.engine import EngineScript, of_calls


def _calls(name: str, parameters: dict[str, Any], tokens: list[int]) -> tuple[list[str], list[str]]:
    seen = tokens
    if name == "top_k":
        if parameters["k"] <= 0:
            return [], []
        taken = f"const [values, at] = await topk(tensor(logits), {parameters['k']});"
        at = "[logits, ids] = [values.data, Array.from(at.data, (i) => ids[Number(i)])];"
        return ["{", f"  {taken}", f"  {at}", "}"], ["topk"]
    if name == "temp":
        of_class, value = "TemperatureLogitsWarper", parameters["temp"]
    elif name == "penalties" and not (parameters["penalty_freq"] or parameters["penalty_present"]):
        of_class, value = "RepetitionPenaltyLogitsProcessor", parameters["penalty_repeat"]
        seen = tokens[-parameters["penalty_last_n"] :]
    else:
        raise Unsupported(f"Transformers.js has no class that is {name}")
    if value == 1:
        return [], []
    text = ", ".join(f"{token}n" for token in seen)
    call = f"new {of_class}({float(value)!r})([[{text}]], tensor(logits)).data"
    return [f"logits = {call};"], [of_class]


def _packages(version: str) -> str:
    return f"@huggingface/transformers@{version.split(' ')[-1]}"


SCRIPT = EngineScript(__file__, "repro.mjs", _packages, of_calls(_calls, in_javascript=True))
