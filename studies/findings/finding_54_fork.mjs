// lloyal.node: a forked branch forgets what the penalties have counted, and three more surprises.
//
//     npm install --ignore-scripts @lloyal-labs/lloyal.node-linux-x64@3.1.1
//     node finding_54_fork.mjs [MODEL.gguf]
//
// Any model will do: every branch is given its logits, nothing is decoded. Prints expected and got.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const addon = fileURLToPath(import.meta.resolve("@lloyal-labs/lloyal.node-linux-x64"));
const lloyal = createRequire(import.meta.url)(addon);
const modelPath = process.argv[2] ?? "golden/model/small.gguf";
const ctx = await lloyal.createContext({ modelPath, nCtx: 64, nSeqMax: 64 });

/** Logits of the first tokens; all others are far below. */
function branch(values, params) {
  const row = new Float32Array(ctx.vocabSize).fill(-1e4), handle = ctx._branchCreate(0, params, 64);
  row.set(values);
  ctx._branchSetLogits(handle, row);
  return handle;
}

let differ = false;
function show(what, expected, got) {
  console.log(`${what}\n  expected ${expected}\n  got      ${got}`);
  differ ||= String(expected) !== String(got);
}

if (process.argv[3] === "prune") {
  const parent = branch([1], { temperature: 0 });
  ctx._branchFork(parent, true);
  await ctx._branchPrune(parent);
  process.exit(0);
}

const parent = branch([3, 2], { temperature: 0, penalties: { presence: 2 } });
ctx._branchAccept(parent, 0);
const child = ctx._branchFork(parent, true);
const both = [ctx._branchSample(parent), ctx._branchSample(child)];
show("token 0 was accepted and a presence penalty of 2 puts token 1 first: parent, fork", "1,1", both);

const typical = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 1, advanced: { typicalP: 0.3 } };
const drawn = branch([Math.log(0.4), Math.log(0.2), Math.log(0.2), Math.log(0.2)], typical);
const tokens = new Set(Array.from({ length: 1000 }, () => ctx._branchSample(drawn)));
show("advanced.typicalP 0.3 of 0.4, 0.2, 0.2, 0.2, entropy 1.33: the tokens of 1000 draws", "two of 1,2,3", [...tokens].sort());

const streams = new Set(), begun = Math.floor(Date.now() / 1000);
for (let i = 0; i < 20; i++) {
  const handle = branch([0, 0, 0, 0, 0, 0, 0, 0], { temperature: 1, topK: 0, topP: 1, minP: 0 });
  streams.add(Array.from({ length: 16 }, () => ctx._branchSample(handle)).join());
}
const seconds = Math.floor(Date.now() / 1000) - begun + 1;
show(`20 branches without a seed, made within ${seconds} s: how many sequences of 16 tokens`, 20, streams.size);

const ended = spawnSync(process.execPath, [...process.execArgv, process.argv[1], modelPath, "prune"]);
const said = ended.stderr.toString().split("\n").filter((line) => line.includes("what()")).join("");
show("pruning a branch that has a child", "an error", `signal ${ended.signal}: ${said.trim()}`);
process.exit(differ ? 1 : 0);
