"""The judge of each sampler, by its name: llama.cpp's here, an engine's in its judges.py."""

import functools
from collections.abc import Callable
from importlib import import_module

from sampler_parity.harness.correct import draws, filters, infill, removed, values
from sampler_parity.harness.correct.stage import Stage
from sampler_parity.harness.engines.engine_file import NAMESPACE, engines_folder
from sampler_parity.harness.engines.samplers import engine_samplers

Judge = Callable[[Stage], None]

JUDGES: dict[str, Judge] = {
    "greedy": draws.greedy,
    "dist": draws.dist,
    "top_k": filters.top_k,
    "top_p": filters.top_p,
    "min_p": filters.min_p,
    "typical_p": filters.typical_p,
    "temp": values.temp,
    "temp_ext": values.temp_ext,
    "xtc": filters.xtc,
    "top_n_sigma": filters.top_n_sigma,
    "mirostat": draws.mirostat,
    "mirostat_v2": draws.mirostat_v2,
    "penalties": values.penalties,
    "dry": values.dry,
    "logit_bias": values.logit_bias,
    "infill": infill.infill,
    "adaptive_p": draws.adaptive_p,
    "grammar": values.mask_alone,
    "grammar_lazy_patterns": values.mask_alone,
    "softmax": removed.softmax,
    "tail_free": removed.tail_free,
}


@functools.cache
def judge_of(name: str) -> Judge | None:
    """Return the judge of a sampler, or None. For a stage of an engine it is in JUDGES of
    engines/NAME/judges.py; such a judge sees identical results, too, so it may keep a state."""
    engine, _ = ("", None) if name in JUDGES else engine_samplers().get(name, ("", None))
    if not engine or not (engines_folder() / engine / "judges.py").exists():
        return JUDGES.get(name)
    judges: dict[str, Judge] = import_module(f"{NAMESPACE}.{engine}.judges").JUDGES
    return judges.get(name)
