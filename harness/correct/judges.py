"""The judge of each sampler of llama.cpp, by its name."""

from collections.abc import Callable

from sampler_parity.harness.correct import draws, filters, infill, removed, values
from sampler_parity.harness.correct.stage import Stage

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
