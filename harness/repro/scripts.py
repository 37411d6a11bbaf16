"""A case as a script in Python or JavaScript that calls an engine and nothing of ours.

A row goes through the engine's own functions, in the order of the chain, and what is left behind
one of them (every logit that is not -inf) is compared with what llama.cpp, or the engine's own
specification, leaves there. Where an engine has no function for a stage, or draws with a generator
of its own, no script is written.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sampler_parity.harness.backends.mlx_lm import arguments as mlx
from sampler_parity.harness.backends.transformers.processors import OWN, own_processor, processor_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.repro.asked import Asked, Place, asked_of, in_lines, short
from sampler_parity.harness.repro.engine import GIVEN, Engine, Stages, keywords, number, pinned
from sampler_parity.harness.repro.on_exllamav3 import EXLLAMAV3
from sampler_parity.harness.repro.on_lloyal import LLOYAL
from sampler_parity.harness.repro.on_vllm import VLLM
from sampler_parity.harness.suite.case import Case
from sampler_parity.reference.registry import SAMPLERS

_TRANSFORMERS = (
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

_MLX = (
    '''\
"""{title}

{about}

    pip install {packages}
    python {file}
"""

import importlib.util
import sys
import types

import mlx.core as mx

package = types.ModuleType("mlx_lm")  # its own __init__ loads transformers
package.__path__ = importlib.util.find_spec("mlx_lm").submodule_search_locations
sys.modules["mlx_lm"] = package
from mlx_lm import sample_utils

'''
    + GIVEN
    + '''\


def filtered(scores, **options):
    """What make_sampler's filters hand to the draw, as the logits that they leave."""
    seen = []
    sample_utils.categorical_sampling = lambda left, temp: seen.append(left)
    sample_utils.make_sampler(**options)(scores - mx.logsumexp(scores, axis=-1, keepdims=True))
    return mx.where(seen[-1] == -mx.inf, -mx.inf, scores)


def processed(scores, tokens, **options):
    for processor in sample_utils.make_logits_processors(**options):
        scores = processor(mx.array(tokens), scores)
    return scores


scores = mx.array([LOGITS])
{calls}

expected = dict(zip(IDS, map(repr, mx.array(VALUES).tolist())))
got = {{i: repr(x) for i, x in enumerate(scores[0].tolist()) if x != -inf}}
for token in sorted({{*expected, *got}}):
    print(f"{{token:7}} expected {{expected.get(token, '-'):>22}} got {{got.get(token, '-'):>22}}")
sys.exit(int(got != expected))
'''
)

_JAVASCRIPT = """\
// {title}
// {about}
//
//     npm install --ignore-scripts {packages}
//     node {file}

import {{ {imported} }} from "@huggingface/transformers";

const inf = Infinity, nan = NaN;
const LOGITS = [
{row}
];
const IDS = [{ids}]; // what {stage} leaves {whose}
const VALUES = [
{values}
];

const tensor = (row) => new Tensor("float32", row, [1, row.length]);
let logits = Float32Array.from(LOGITS);
let ids = LOGITS.map((_, id) => id);
{calls}

const expected = new Map(IDS.map((id, i) => [id, Math.fround(VALUES[i])]));
const got = new Map(ids.map((id, i) => [id, logits[i]]).filter(([, x]) => x !== -inf));
let differ = false;
console.log("behind {stage}: token, expected and got");
for (const token of [...new Set([...expected.keys(), ...got.keys()])].sort((a, b) => a - b)) {{
  console.log(`${{token}}  ${{expected.get(token) ?? "-"}}  ${{got.get(token) ?? "-"}}`);
  differ ||= !Object.is(expected.get(token), got.get(token));
}}
console.log(differ ? "different" : "the same");
process.exit(differ ? 1 : 0);
"""


def _transformers(
    name: str, parameters: dict[str, Any], tokens: list[int]
) -> tuple[list[str], list[str]]:
    wanted = own_processor(name, parameters, 0) if name in OWN else processor_of(name, parameters)
    if wanted is None:
        return [], []
    of_class, arguments = wanted
    seen = tokens[-parameters.get("penalty_last_n", 0) :]
    text = f"torch.tensor([{seen}], dtype=torch.long)"
    return [f"scores = {of_class}({keywords(arguments)})({text}, scores)"], [of_class]


def _mlx_lm(
    name: str, parameters: dict[str, Any], tokens: list[int]
) -> tuple[list[str], list[str]]:
    if name in ("penalties", "logit_bias"):
        options = keywords(mlx.processors_of(name, parameters))
        return [f"scores = processed(scores, {tokens}, {options})"], []
    if name not in ("top_k", "top_p", "min_p"):
        raise Unsupported(f"MLX LM has no function that is {name} and draws nothing")
    return [f"scores = filtered(scores, {keywords(mlx.sampler_of(name, parameters))})"], []


def _transformers_js(
    name: str, parameters: dict[str, Any], tokens: list[int]
) -> tuple[list[str], list[str]]:
    seen = tokens
    if name == "top_k":
        if parameters["k"] <= 0:
            return [], []
        taken = f"const [values, at] = await topk(tensor(logits), {parameters['k']});"
        at = "[logits, ids] = [values.data, Array.from(at.data, (i) => ids[Number(i)])];"
        return ["{", f"  {taken}", f"  {at}", "}"], ["topk"]
    if name == "temp":
        of_class, value = "TemperatureLogitsWarper", parameters["temp"]
    elif name == "penalties" and not (parameters["penalty_freq"] or parameters["penalty_present"]):
        of_class, value = "RepetitionPenaltyLogitsProcessor", parameters["penalty_repeat"]
        seen = tokens[-parameters["penalty_last_n"] :]
    else:
        raise Unsupported(f"Transformers.js has no class that is {name}")
    if value == 1:
        return [], []
    text = ", ".join(f"{token}n" for token in seen)
    call = f"new {of_class}({float(value)!r})([[{text}]], tensor(logits)).data"
    return [f"logits = {call};"], [of_class]


Calls = Callable[[str, dict[str, Any], list[int]], tuple[list[str], list[str]]]


def _of_calls(calls: Calls, in_javascript: bool = False) -> Any:
    """The fields of a text that is stage after stage; calls: the lines of one, and what they
    import."""

    def fields(_asked: Asked, stages: Stages, tokens: list[int]) -> dict[str, str]:
        if any(name in ("dist", "greedy") for name, _ in stages):
            raise InputError("the case", "differs in what is selected", "name a case of a filter")
        parts = [calls(name, of, tokens) for name, of in stages]
        names = sorted({name for _, imported in parts for name in imported})
        imported = (
            f"from transformers import {', '.join(names)}" if names else "import transformers"
        )
        return {
            "imported": ", ".join(["Tensor", *names]) if in_javascript else imported,
            "calls": "\n".join(line for made, _ in parts for line in made),
        }

    return fields


# by the name that a backend gives itself
ENGINES = {
    "transformers": Engine(_TRANSFORMERS, "repro.py", pinned, _of_calls(_transformers)),
    "mlx_lm": Engine(
        _MLX,
        "repro.py",
        lambda version: pinned(version).replace("mlx_lm", "mlx-lm"),
        _of_calls(_mlx_lm),
    ),
    "Transformers.js": Engine(
        _JAVASCRIPT,
        "repro.mjs",
        lambda version: f"@huggingface/transformers@{version.split(' ')[-1]}",
        _of_calls(_transformers_js, in_javascript=True),
    ),
    "vllm": VLLM,
    "exllamav3": EXLLAMAV3,
    "lloyal.node": LLOYAL,
}


def script(name: str, version: str, case: Case, place: Place, about: str) -> str:
    """The source. name: of ENGINES. Raises InputError where no script can be written, and
    Unsupported for a stage that the engine has no function for."""
    engine, asked = ENGINES[name], asked_of(case, place)
    chain = asked.ready.chain[: place.stage + 1]
    stages = [(key, of) for stage in chain for key, of in stage.items()]
    pairs = sorted(
        (int(token), logit)
        for token, logit in zip(asked.expected.ids, asked.expected.logits, strict=True)
        if logit != -np.inf
    )
    stage = stages[-1][0]
    fields = {
        "title": f"{case.id}: {case.description}",
        "about": about,
        "packages": engine.packages(version),
        "file": engine.file,
        "row": in_lines([number(x) for x in asked.ready.rows[place.step]]),
        "ids": ", ".join(str(token) for token, _ in pairs),
        "values": in_lines([number(logit) for _, logit in pairs]),
        "stage": stage,
        "whose": "in llama.cpp" if stage in SAMPLERS else "as documented",
    }
    own = engine.fields(asked, stages, [*case.history, *asked.accepted])
    return short(engine.source.format(**{**fields, **own}), case.id)
