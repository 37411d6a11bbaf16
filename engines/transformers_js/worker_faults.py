"""Faults of Transformers.js; transformers_js.mjs plants them in the package."""

from sampler_parity.harness.faults.engine_faults import Fault

FAULTS = [
    Fault(
        "transformers_js/temperature-multiplies",
        "The temperature multiplies the logits.",
        case="js_processors/temp",
        stage="temp",
    ),
    Fault(
        "transformers_js/penalty-divides-negative",
        "A negative logit is divided, too, and rises.",
        case="js_processors/penalties",
        stage="penalties",
    ),
    Fault(
        "transformers_js/top_k-ignored",
        "top_k has no effect.",
        case="js_generate/default-top_k",
        stage="transformers_js",
    ),
    Fault(
        "transformers_js/temperature-zero-draws",
        "Temperature 0 is taken for 1 and draws.",
        case="js_generate/temperature-zero",
        stage="transformers_js",
    ),
    Fault(
        "transformers_js/draws-twice",
        "Every second number of the generator is thrown away.",
        case="js_generate/draws",
        stage="transformers_js",
    ),
]
