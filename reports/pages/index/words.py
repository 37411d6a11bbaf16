"""A backend of index.html in words."""

from sampler_parity.harness.verdicts import ORDER
from sampler_parity.reports.pages.index.model import Checked


def counted(backend: Checked) -> str:
    """Its cases by verdict: "351/363 identical, 12 diverged"."""
    if backend.unavailable:
        return f"did not run: {backend.unavailable}"
    if not backend.cases:
        return "no case"
    parts = [f"{backend.verdicts.get('identical', 0):,}/{backend.cases:,} identical"]
    others = [verdict for verdict in reversed(ORDER) if verdict != "identical"]
    parts += [f"{backend.verdicts[v]:,} {v}" for v in others if v in backend.verdicts]
    return ", ".join(parts)
