// `node adapter.mjs FOLDER`: node-llama-cpp's own sampler, from the folder's node_modules.
//
// It does the steps of LlamaContextSequence.evaluate for a token: options become a configuration
// (_resolveSamplerConfig), a LlamaSampler takes it, and the context samples a decoded position. A row of logits is
// a model of its own, decoded once; the newest few are kept. engines/node_llama_cpp/README.md has the readings.

import { getLlama, LlamaLogLevel } from "node-llama-cpp";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serve, Unsupported } from "../shared/serve.mjs";
import { writeModel } from "../shared/table_gguf.mjs";

const folder = process.argv[2] ?? ".";
const inside = join(folder, "node_modules", "node-llama-cpp", "dist", "evaluator", "LlamaContext");
const { LlamaSampler } = await import(pathToFileURL(join(inside, "LlamaSampler.js")));
const llama = await getLlama({ gpu: false, build: "never", progressLogs: false, logLevel: LlamaLogLevel.error });

const ROWS = 4; // rows with a model in memory
const rows = []; // { logits, model, context, sequence, index }, the newest first
const models = new Map(); // by size of the vocabulary: the models that samplers are made of

async function load(logits) {
  const place = mkdtempSync(join(tmpdir(), "node-llama-cpp-"));
  const modelPath = join(place, "model.gguf");
  writeModel(modelPath, logits, { withTexts: true });
  const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
  rmSync(place, { recursive: true });
  return model;
}

async function modelOf(nVocab) {
  if (!models.has(nVocab)) models.set(nVocab, await load(new Float32Array(nVocab)));
  return models.get(nVocab);
}

const same = (one, other) => one.length === other.length && Buffer.from(one.buffer).equals(Buffer.from(other.buffer));

/** The decoded row: its model gives these logits after any text. */
async function rowOf(logits) {
  const known = rows.find((row) => same(row.logits, logits));
  if (known) return known;
  const model = await load(logits);
  const context = await model.createContext({ contextSize: 32, sequences: 1, threads: 1 });
  context._ctx.initBatch(1);
  const [index] = context._ctx.addToBatch(0, 0, Uint32Array.of(0), Uint32Array.of(0));
  await context._ctx.decodeBatch();
  rows.unshift({ logits: logits.slice(), model, context, sequence: context.getSequence(), index });
  if (rows.length > ROWS) await rows.pop().model.dispose();
  return rows[0];
}

/** The options of evaluate. history: the penalized tokens. */
function optionsOf({ seed, temperature, top_k, top_p, min_p, ...others }, history) {
  const { penalty_repeat = 1, penalty_freq = 0, penalty_present = 0, xtc_probability, xtc_threshold } = others;
  const repeatPenalty = {
    penalty: penalty_repeat,
    frequencyPenalty: penalty_freq,
    presencePenalty: penalty_present,
    maxPunishTokens: others.penalty_last_n,
    punishTokens: history,
  };
  const xtc = xtc_probability === undefined ? undefined : { probability: xtc_probability, threshold: xtc_threshold };
  return { seed, temperature, topK: top_k, topP: top_p, minP: min_p, xtc, repeatPenalty };
}

class Instance {
  history = [];

  constructor(model, parameters) {
    [this.model, this.parameters, this.sampler] = [model, parameters, new LlamaSampler(model)];
  }

  async apply(_stage, candidates) {
    const { context, sequence, index } = await rowOf(candidates.logits);
    this.sampler.applyConfig(sequence._resolveSamplerConfig(optionsOf(this.parameters, this.history)));
    candidates.token = await context._ctx.sampleToken(index, this.sampler._sampler);
    if (candidates.token === -1) throw new Error("Failed to sample next token"); // evaluate's message
  }

  accept(token) {
    this.history.push(token);
  }

  reset() {
    this.history = [];
    this.sampler = new LlamaSampler(this.model);
  }

  clone() {
    throw new Unsupported("a sampler of node-llama-cpp cannot be copied");
  }
}

await serve({
  name: "node-llama-cpp",
  version: `node-llama-cpp 3.22.1, llama.cpp ${llama.llamaCppRelease.release}`,
  build: `Node.js ${process.versions.node}`,
  samplers: ["node_llama_cpp"],
  async make(stages, nVocab) {
    if (stages.length !== 1 || stages[0][0] !== "node_llama_cpp") throw new Unsupported("it is one stage: node_llama_cpp");
    return new Instance(await modelOf(nVocab), stages[0][1]);
  },
});
