"""A row through the processors of transformers, one for each stage."""

from typing import Any

from sampler_parity.engines.transformers.processors import OWN, own_processor, processor_of
from sampler_parity.maintenance.repro.engine import EngineScript, keywords, of_calls, pinned


def _calls(name: str, parameters: dict[str, Any], tokens: list[int]) -> tuple[list[str], list[str]]:
    wanted = own_processor(name, parameters, 0) if name in OWN else processor_of(name, parameters)
    if wanted is None:
        return [], []
    of_class, arguments = wanted
    seen = tokens[-parameters.get("penalty_last_n", 0) :]
    text = f"torch.tensor([{seen}], dtype=torch.long)"
    return [f"scores = {of_class}({keywords(arguments)})({text}, scores)"], [of_class]


SCRIPT = EngineScript(__file__, "repro.py", pinned, of_calls(_calls))
