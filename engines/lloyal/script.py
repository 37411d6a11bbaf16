"""Rows through a branch of lloyal.node, which shows only the token that it selects. A context needs
a model of as many tokens: the script writes one of zeros, and decodes nothing."""

import json

from sampler_parity.harness.errors import Unsupported
from sampler_parity.maintenance.repro.asked import ProgramParts, in_lines
from sampler_parity.maintenance.repro.engine import EngineScript, Stages, number

# A branch's names of the parameters: engines/lloyal/adapter.mjs has the same.
_NAMES = {"top_k": "topK", "top_p": "topP", "min_p": "minP"}
_PENALTIES = {
    "penalty_repeat": "repeat", "penalty_freq": "frequency", "penalty_present": "presence",
    "penalty_last_n": "lastN",
}  # fmt: skip


def _fields(asked: ProgramParts, stages: Stages, _tokens: list[int]) -> dict[str, str]:
    if [name for name, _ in stages] != ["lloyal"]:
        raise Unsupported("a branch is one stage: lloyal")
    given = stages[0][1]
    parameters = {
        _NAMES.get(key, key): of
        for key, of in given.items()
        if key not in (*_PENALTIES, "typical_p", "n_vocab")
    }
    penalties = {name: given[key] for key, name in _PENALTIES.items() if key in given}
    parameters |= {"penalties": penalties} if penalties else {}
    if "typical_p" in given:
        parameters["advanced"] = {"typicalP": given["typical_p"]}
    steps = range(len(asked.accepted) + 1)
    rows = ["[" + ", ".join(map(number, asked.prepared.rows[i])) + "]" for i in steps]
    distinct = list(dict.fromkeys(rows))
    return {
        "rows": in_lines(distinct),
        "steps": ", ".join(str(distinct.index(row)) for row in rows),
        "history": ", ".join(map(str, asked.prepared.case.history)),
        "accepted": ", ".join(map(str, asked.accepted)),
        "token": "null" if asked.expected.token is None else str(asked.expected.token),
        "width": "16",
        "parameters": json.dumps(parameters),
    }


SCRIPT = EngineScript(
    __file__,
    "repro.mjs",
    lambda version: f"@lloyal-labs/lloyal.node-linux-x64@{version.split(' ')[-1]}",
    _fields,
)
