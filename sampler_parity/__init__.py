"""Verifies and times LLM token samplers: parity with llama.cpp to the bit, case by case.

The names below are the interface for Python, stable from 1.0: docs/check-a-function.md. They are
imported on first use.

The packages (`reference`, `harness`, `reports`, `programs` and so on) are folders at the root of
the repository. Here are links to them, so that a clone can be imported, and read by an editor,
without being installed. In an installed copy they are folders of this package.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sampler_parity.functions.chains import compare, judge_draws, trace, why
    from sampler_parity.functions.check import check
    from sampler_parity.functions.report import Finding, Report
    from sampler_parity.reference import Candidates, build_chain

__version__ = "0.1.0"
__all__ = [
    "Candidates",
    "Finding",
    "Report",
    "__version__",
    "build_chain",
    "check",
    "compare",
    "judge_draws",
    "trace",
    "why",
]

_MODULES = {
    "functions.chains": ("compare", "judge_draws", "trace", "why"),
    "functions.check": ("check",),
    "functions.report": ("Finding", "Report"),
    "reference": ("Candidates", "build_chain"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
