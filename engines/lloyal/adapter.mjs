// `node adapter.mjs FOLDER`: lloyal.node's branches, from the folder's node_modules.
//
// The stage lloyal is a branch that is given the row of logits and samples: _branchCreate, _branchSetLogits,
// _branchSample, _branchAccept, _branchFork. A context needs a model: one is made for each size of a vocabulary,
// and nothing is decoded. engines/lloyal/README.md has the readings.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageOf, serve, Unsupported, versionOf } from "../shared/serve.mjs";
import { writeModel } from "../shared/table_gguf.mjs";

const NAME = "@lloyal-labs/lloyal.node-linux-x64";
const BRANCHES = 64; // instances of one request, clones among them
const folder = process.argv[2] ?? ".";
const { createContext } = packageOf(folder, NAME);

const contexts = new Map(); // by size of the vocabulary, the newest last
const live = []; // [context, branch] of this request

async function contextOf(nVocab) {
  if (!contexts.has(nVocab)) {
    for (const [size, old] of contexts) { // one at a time: large ones hold much memory
      old.dispose();
      contexts.delete(size);
    }
    const place = mkdtempSync(join(tmpdir(), "lloyal-"));
    const modelPath = join(place, "model.gguf");
    writeModel(modelPath, new Float32Array(nVocab));
    contexts.set(nVocab, await createContext({ modelPath, nCtx: BRANCHES, nSeqMax: BRANCHES }));
    rmSync(place, { recursive: true });
  }
  return contexts.get(nVocab);
}

/** The parameters under the package's names; the others keep its defaults. */
function paramsOf({ seed, temperature, top_k, top_p, min_p, ...others }) {
  const { penalty_repeat, penalty_freq, penalty_present, penalty_last_n } = others;
  const penalties = { repeat: penalty_repeat, frequency: penalty_freq, presence: penalty_present, lastN: penalty_last_n };
  const advanced = { typicalP: others.typical_p };
  return { seed, temperature, topK: top_k, topP: top_p, minP: min_p, penalties, advanced };
}

class Instance {
  constructor(context, params, branch = context._branchCreate(0, params, BRANCHES)) {
    [this.context, this.params, this.branch] = [context, params, branch];
    live.push([context, branch]);
  }

  apply(_stage, candidates) {
    this.context._branchSetLogits(this.branch, candidates.logits);
    candidates.token = this.context._branchSample(this.branch);
  }

  accept(token) {
    this.context._branchAccept(this.branch, token);
  }

  reset() {
    this.branch = this.context._branchCreate(0, this.params, BRANCHES);
    live.push([this.context, this.branch]);
  }

  clone = () => new Instance(this.context, this.params, this.context._branchFork(this.branch, true));
}

await serve({
  name: "lloyal.node",
  version: versionOf(folder, NAME),
  build: `Node.js ${process.versions.node}`,
  samplers: ["lloyal"],
  async make(stages, nVocab) {
    const others = stages.filter(([name]) => name !== "lloyal");
    if (stages.length !== 1 || others.length) throw new Unsupported("a branch is one stage: lloyal");
    return new Instance(await contextOf(nVocab), paramsOf(stages[0][1]));
  },
  async done() {
    for (const [context, branch] of live.splice(0).reverse()) await context._branchPrune(branch); // children first
  },
});
