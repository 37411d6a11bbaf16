"""A case of stages, of which a test states what matters."""

from typing import Any

from sampler_parity.harness.checks.stages.block import StagesCase

ABOUT: dict[str, Any] = {"id": "a", "description": "A case", "why": "To test."}


def stages(chain: list[dict[str, Any]], logits: Any, **fields: Any) -> StagesCase:
    """Return a case. logits: a row, or a table as in a suite."""
    table = {"values": logits} if isinstance(logits, list) else logits
    return StagesCase.model_validate(ABOUT | {"chain": chain, "logits": table} | fields)
