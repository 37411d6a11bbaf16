"""Stages as ExLlamaV3's samplers.

llama.cpp's stages become steps of a CustomSampler. exllamav3_combo is its ComboSampler, without the
parts that need CUDA, with the draw of a following dist or none. exllamav3_xtc is SS_XTC, then p is
normalized, as a draw would. The step of dist is SS_Sample_mn, "for testing/validation".
"""

from itertools import pairwise
from typing import Any

from sampler_parity.engines.exllamav3.engine import exllamav3
from sampler_parity.engines.shared.stage_parameters import biases, one_is_kept
from sampler_parity.harness.errors import InputError, Unsupported

CUTS = ("top_k", "top_p", "min_p")
LAST = ("greedy", "dist")
COMBO, XTC = "exllamav3_combo", "exllamav3_xtc"
OWN = (COMBO, XTC)
SAMPLERS = ["logit_bias", "temp", *CUTS, *LAST, *OWN]


def samplers_of(stages: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Make a sampler of the stages up to each. Raises Unsupported for a stage that it lacks,
    InputError for a value that it refuses."""
    names = [name for name, _ in stages]
    if any(name in LAST for name in names[:-1]):
        raise Unsupported("ExLlamaV3 selects last")
    if any(then in OWN or (name in OWN and then != "dist") for name, then in pairwise(names)):
        raise Unsupported("exllamav3_combo and exllamav3_xtc stand first, before a dist or nothing")
    try:
        if names[:1] == [COMBO]:
            return [_combo(stages[0][1], drawn) for drawn in [False, True][: len(names)]]
        steps = [_step(name, given) for name, given in stages]
        custom, normalize = exllamav3().steps.CustomSampler, exllamav3().steps.SS_Normalize
        shown = [[normalize()] if name == XTC else [] for name in names]
        return [custom(steps[: n + 1] + more) for n, more in enumerate(shown)]
    except AssertionError as error:
        raise InputError("ExLlamaV3", str(error) or "it refuses the value") from None


def _combo(given: dict[str, Any], drawn: bool) -> Any:
    presets, steps = exllamav3().presets, exllamav3().steps
    original = presets.SS_Sample
    presets.SS_Sample = steps.SS_Sample_mn if drawn else steps.SS_Normalize
    try:
        return presets.ComboSampler(**given)
    finally:
        presets.SS_Sample = original


def _step(name: str, given: dict[str, Any]) -> Any:
    one_is_kept(given, "ExLlamaV3")
    steps = exllamav3().steps
    made = {
        "logit_bias": lambda: steps.SS_LogitBias(biases(given, "ExLlamaV3")),
        "temp": lambda: steps.SS_Temperature(float(given["temp"])),
        "top_k": lambda: steps.SS_TopK(given["k"]),
        "top_p": lambda: steps.SS_TopP(float(given["p"])),
        "min_p": lambda: steps.SS_MinP(float(given["p"])),
        "greedy": lambda: steps.SS_Argmax(),
        "dist": lambda: steps.SS_Sample_mn(),
        XTC: lambda: steps.SS_XTC(float(given["probability"]), float(given["threshold"])),
    }
    if name not in made:
        raise Unsupported(f"ExLlamaV3 has no {name} on a CPU")
    return made[name]()
