"""A case as a script in Python or JavaScript that calls an engine and nothing of ours.

A row goes through the engine's own functions, in the order of the chain, and what is left behind
one of them (every logit that is not -inf) is compared with what llama.cpp leaves there. Where an
engine has no function for a stage, or draws with a generator of its own, no script is written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampler_parity.harness.backends.mlx_lm import arguments as mlx
from sampler_parity.harness.backends.transformers.processors import OWN, own_processor, processor_of
from sampler_parity.harness.errors import InputError, Unsupported
from sampler_parity.harness.repro.asked import Place, asked_of, in_lines, short
from sampler_parity.harness.suite.case import Case

_TRANSFORMERS = '''\
"""{title}

{about}

    pip install {packages}
    python {file}
"""

import sys

import torch
{imported}

inf, nan = float("inf"), float("nan")
LOGITS = [
{row}
]
IDS = [{ids}]  # what {stage} leaves in llama.cpp
VALUES = [
{values}
]

scores = torch.tensor([LOGITS])
{calls}

expected = dict(zip(IDS, map(repr, torch.tensor(VALUES).tolist()), strict=True))
got = {{i: repr(x) for i, x in enumerate(scores[0].tolist()) if x != -inf}}
print("behind {stage}: token, expected and got")
for token in sorted({{*expected, *got}}):
    print(f"{{token:7}} {{expected.get(token, '-'):>22}} {{got.get(token, '-'):>22}}")
print("the same" if got == expected else "different")
sys.exit(int(got != expected))
'''

_MLX = '''\
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

inf, nan = float("inf"), float("nan")
LOGITS = [
{row}
]
IDS = [{ids}]  # what {stage} leaves in llama.cpp
VALUES = [
{values}
]


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
const IDS = [{ids}]; // what {stage} leaves in llama.cpp
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


@dataclass(frozen=True)
class Engine:
    """calls: the lines of one stage, and what they import. packages: as an installer names them,
    of the versions that a backend tells."""

    source: str
    file: str
    packages: Callable[[str], str]
    calls: Callable[[str, dict[str, Any], list[int]], tuple[list[str], list[str]]]


def _keywords(of: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in of.items())


def _transformers(
    name: str, parameters: dict[str, Any], tokens: list[int]
) -> tuple[list[str], list[str]]:
    wanted = own_processor(name, parameters, 0) if name in OWN else processor_of(name, parameters)
    if wanted is None:
        return [], []
    of_class, arguments = wanted
    seen = tokens[-parameters.get("penalty_last_n", 0) :]
    text = f"torch.tensor([{seen}], dtype=torch.long)"
    return [f"scores = {of_class}({_keywords(arguments)})({text}, scores)"], [of_class]


def _mlx_lm(
    name: str, parameters: dict[str, Any], tokens: list[int]
) -> tuple[list[str], list[str]]:
    if name in ("penalties", "logit_bias"):
        options = _keywords(mlx.processors_of(name, parameters))
        return [f"scores = processed(scores, {tokens}, {options})"], []
    if name not in ("top_k", "top_p", "min_p"):
        raise Unsupported(f"MLX LM has no function that is {name} and draws nothing")
    return [f"scores = filtered(scores, {_keywords(mlx.sampler_of(name, parameters))})"], []


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


def _pinned(version: str) -> str:
    """`transformers 5.23.0, torch 2.13.0+cpu` as pip names them; a device is no package."""
    words = [part.split(" ") for part in version.split(", ")]
    pairs = [pair for pair in words if len(pair) == 2]
    return " ".join(f"{name}=={number.split('+')[0]}" for name, number in pairs)


# by the name that a backend gives itself
ENGINES = {
    "transformers": Engine(_TRANSFORMERS, "repro.py", _pinned, _transformers),
    "mlx_lm": Engine(
        _MLX, "repro.py", lambda version: _pinned(version).replace("mlx_lm", "mlx-lm"), _mlx_lm
    ),
    "Transformers.js": Engine(
        _JAVASCRIPT,
        "repro.mjs",
        lambda version: f"@huggingface/transformers@{version.split(' ')[-1]}",
        _transformers_js,
    ),
}


def script(name: str, version: str, case: Case, place: Place, about: str) -> str:
    """The source. name: of ENGINES. Raises InputError where no script can be written, and
    Unsupported for a stage that the engine has no function for."""
    engine, asked = ENGINES[name], asked_of(case, place)
    stages = [
        (key, of) for stage in asked.ready.chain[: place.stage + 1] for key, of in stage.items()
    ]
    if any(key in ("dist", "greedy") for key, _ in stages):
        raise InputError(case.id, "differs in what is selected", "name a case of a filter")
    tokens = [*case.history, *asked.accepted]
    parts = [engine.calls(key, of, tokens) for key, of in stages]
    lines = [line for made, _ in parts for line in made]
    names = sorted({name for _, imported in parts for name in imported})
    pairs = sorted(
        (int(token), logit)
        for token, logit in zip(asked.expected.ids, asked.expected.logits, strict=True)
        if logit != -np.inf
    )
    imported = f"from transformers import {', '.join(names)}" if names else "import transformers"
    source = engine.source.format(
        title=f"{case.id}: {case.description}",
        about=about,
        packages=engine.packages(version),
        file=engine.file,
        imported=", ".join(["Tensor", *names]) if engine.file.endswith("mjs") else imported,
        row=in_lines([_number(x) for x in asked.ready.rows[place.step]]),
        ids=", ".join(str(token) for token, _ in pairs),
        values=in_lines([_number(logit) for _, logit in pairs]),
        stage=stages[-1][0],
        calls="\n".join(lines),
    )
    return short(source, case.id)


def _number(value: Any) -> str:
    """A float32 as a literal that both languages read as the same float32."""
    return str(np.float32(value)).replace("np.float32(", "").rstrip(")")
