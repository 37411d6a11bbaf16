"""Rows through a branch of lloyal.node, which shows only the token that it selects. A context needs
a model of as many tokens: the script writes one of zeros, and decodes nothing."""

import json

from sampler_parity.harness.errors import Unsupported
from sampler_parity.maintenance.repro.asked import ProgramParts, in_lines
from sampler_parity.maintenance.repro.engine import EngineScript, Stages, number

_SOURCE = """\
// {title}
// {about}
//
//     npm install --ignore-scripts {packages}
//     node {file}

import {{ rmSync, writeFileSync }} from "node:fs";
import {{ createRequire }} from "node:module";
import {{ fileURLToPath }} from "node:url";

const inf = Infinity, nan = NaN;
const ROWS = [
{rows}
];
const STEPS = [{steps}]; // of which row each step samples
const HISTORY = [{history}], ACCEPTED = [{accepted}];
const EXPECTED = {token}; // selected {whose}

// A model that a context needs: llama's shapes with {width} numbers, one block, all of them 0.
const all = (...of) => Buffer.concat(of), u32 = (x) => Buffer.from(Uint32Array.of(x).buffer);
const u64 = (x) => Buffer.from(BigUint64Array.of(BigInt(x)).buffer);
const text = (x) => all(u64(x.length), Buffer.from(x)), padded = (n) => Math.ceil(n / 32) * 32;
const key = (name, type, value) => all(text(name), u32(type), value);
const n = ROWS[0].length, W = {width}, epsilon = "llama.attention.layer_norm_rms_epsilon";
const counts = {{ context_length: 64, embedding_length: W, block_count: 1, feed_forward_length: W,
  "attention.head_count": 1, "rope.dimension_count": W, vocab_size: n }};
const keys = Object.entries(counts).map(([name, x]) => key(`llama.${{name}}`, 4, u32(x)));
keys.push(key(epsilon, 6, u32(0x3727c5ac)), key("general.architecture", 8, text("llama")));
keys.push(key("tokenizer.ggml.model", 8, text("no_vocab")));
const block = "attn_norm ffn_norm attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down";
const tensors = [["token_embd", [W, n]], ["output", [W, n]], ["output_norm", [W]],
  ...block.split(" ").map((name, i) => [`blk.0.${{name}}`, i < 2 ? [W] : [W, W]])];
let size = 0;
const listed = tensors.map(([name, shape]) => {{
  const at = size;
  size += padded(4 * shape.reduce((a, b) => a * b));
  return all(text(`${{name}}.weight`), u32(shape.length), ...shape.map(u64), u32(0), u64(at));
}});
const begin = all(Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(keys.length));
const head = all(begin, ...keys, ...listed);
writeFileSync("repro.gguf", all(head, Buffer.alloc(padded(head.length) - head.length + size)));

const addon = fileURLToPath(import.meta.resolve("@lloyal-labs/lloyal.node-linux-x64"));
const lloyal = createRequire(import.meta.url)(addon);
const context = await lloyal.createContext({{ modelPath: "repro.gguf", nCtx: 64 }});
rmSync("repro.gguf");
const branch = context._branchCreate(0, {parameters}, 64);
for (const token of HISTORY) context._branchAccept(branch, token);
let got;
for (const [step, row] of STEPS.entries()) {{
  context._branchSetLogits(branch, Float32Array.from(ROWS[row]));
  got = context._branchSample(branch);
  if (step < ACCEPTED.length) context._branchAccept(branch, ACCEPTED[step]);
}}
console.log(`step ${{STEPS.length}}: expected ${{EXPECTED}}, got ${{got}}`);
process.exit(got === EXPECTED ? 0 : 1);
"""
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
    _SOURCE,
    "repro.mjs",
    lambda version: f"@lloyal-labs/lloyal.node-linux-x64@{version.split(' ')[-1]}",
    _fields,
)
