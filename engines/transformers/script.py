"""A row through the processors of transformers, one for each stage."""

from typing import Any

from sampler_parity.engines.transformers.processors import OWN, own_processor, processor_of
from sampler_parity.maintenance.repro.engine import GIVEN, EngineScript, keywords, of_calls, pinned

_SOURCE = (
    '''\
"""{title}

{about}

    pip install {packages}
    python {file}
"""

import sys

import torch
{imported}

'''
    + GIVEN
    + """\

scores = torch.tensor([LOGITS])
{calls}

expected = dict(zip(IDS, map(repr, torch.tensor(VALUES).tolist()), strict=True))
got = {{i: repr(x) for i, x in enumerate(scores[0].tolist()) if x != -inf}}
print("behind {stage}: token, expected and got")
for token in sorted({{*expected, *got}}):
    print(f"{{token:7}} {{expected.get(token, '-'):>22}} {{got.get(token, '-'):>22}}")
print("the same" if got == expected else "different")
sys.exit(int(got != expected))
"""
)


def _calls(name: str, parameters: dict[str, Any], tokens: list[int]) -> tuple[list[str], list[str]]:
    wanted = own_processor(name, parameters, 0) if name in OWN else processor_of(name, parameters)
    if wanted is None:
        return [], []
    of_class, arguments = wanted
    seen = tokens[-parameters.get("penalty_last_n", 0) :]
    text = f"torch.tensor([{seen}], dtype=torch.long)"
    return [f"scores = {of_class}({keywords(arguments)})({text}, scores)"], [of_class]


SCRIPT = EngineScript(_SOURCE, "repro.py", pinned, of_calls(_calls))
