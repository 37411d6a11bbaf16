"""A row through ExLlamaV3's steps, without its extension, which is compiled for CUDA.

Steps that hold probabilities keep no logits. Behind such a cut its tokens are compared by the
logits that they had before it; behind ComboSampler and XTC by p.
"""

from typing import Any

from sampler_parity.engines.exllamav3.samplers import COMBO, CUTS, OWN, XTC
from sampler_parity.engines.shared.stage_parameters import biases
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.maintenance.repro.asked import ProgramParts, in_lines
from sampler_parity.maintenance.repro.engine import (
    EngineScript,
    Stages,
    keywords,
    number,
    pinned,
)

_OF_LOGITS = "got = {i: repr(x) for i, x in enumerate(state.logits[0].tolist()) if x != -inf}"
_OF_P = [
    "ranked = range(len(LOGITS)) if state.indices is None else state.indices[0].tolist()",
    "left = [i for i, p in zip(ranked, state.probs[0].tolist()) if p > 0]",
]


def _step(name: str, given: dict[str, Any]) -> str:
    if given.get("min_keep", 0) > 1:
        raise Unsupported("ExLlamaV3 keeps one token, no more")
    made = {
        "logit_bias": lambda: f"LogitBias({biases(given, 'ExLlamaV3')!r})",
        "temp": lambda: f"Temperature({float(given['temp'])!r})",
        "top_k": lambda: f"TopK({given['k']})",
        "top_p": lambda: f"TopP({float(given['p'])!r})",
        "min_p": lambda: f"MinP({float(given['p'])!r})",
        XTC: lambda: f"XTC({float(given['probability'])!r}, {float(given['threshold'])!r})",
    }
    if name not in made:
        raise Unsupported(f"ExLlamaV3 has no {name} on a CPU")
    return f"steps.SS_{made[name]()}"


def _chain(stages: Stages, *more: str) -> str:
    made = ", ".join([*(_step(name, given) for name, given in stages), *more])
    return f"behind(steps.CustomSampler([{made}]))"


def _calls(stages: Stages) -> list[str]:
    names = [name for name, _ in stages]
    if names[0] in OWN:
        if stages[0][1].get("top_k") == 1 or stages[0][1].get("temperature") == 0:
            raise Unsupported("ComboSampler takes the argmax, and leaves no p")
        if names[0] == COMBO:
            made = "presets.SS_Sample = steps.SS_Normalize  # p, and no draw"
            lines = [made, f"state = behind(presets.ComboSampler({keywords(stages[0][1])}))"]
        else:
            lines = [f"state = {_chain(stages, 'steps.SS_Normalize()')}"]
        return [*lines, *_OF_P[:1], "values = zip(ranked, state.probs[0].tolist())",
                "got = {i: repr(p) for i, p in values if p > 0}"]  # fmt: skip
    cut = next((at for at, name in enumerate(names) if name in CUTS), None)
    if cut is None:
        return [f"state = {_chain(stages)}", _OF_LOGITS]
    if "temp" in names[cut:] or "logit_bias" in names[cut:]:
        raise Unsupported("behind a cut ExLlamaV3 keeps no logits")
    before = "LOGITS" if cut == 0 else f"{_chain(stages[:cut])}.logits[0].tolist()"
    return [
        f"before = torch.tensor({before}).tolist()",
        f"state = {_chain(stages, 'steps.SS_Normalize()')}",
        *_OF_P,
        "got = {i: repr(before[i]) for i in left}",
    ]


def _fields(asked: ProgramParts, stages: Stages, _tokens: list[int]) -> dict[str, str]:
    if any(name in ("dist", "greedy") for name, _ in stages):
        raise InputError("ExLlamaV3", "differs in the selected token", "name a case of a filter")
    fields = {"calls": "\n".join(_calls(stages))}
    if stages[0][0] in OWN:
        expected = asked.expected
        pairs = [(i, p) for i, p in sorted(zip(expected.ids, expected.p, strict=True)) if p > 0]
        fields["ids"] = ", ".join(str(token) for token, _ in pairs)
        fields["values"] = in_lines([number(p) for _, p in pairs])
    return fields


SCRIPT = EngineScript(__file__, "repro.py", pinned, _fields)
