// `node node_llama_cpp.mjs FOLDER FAULT`: node-llama-cpp with one fault, under its adapter.

import { LlamaContextSequence } from "node-llama-cpp";

const fault = process.argv[3];

/** Its configuration with some of it changed. */
const CHANGES = {
  "min_p-left-out": () => ({ minP: 0 }),
  "another-seed": ({ seed }) => ({ seed: (seed + 1) % 2 ** 32 }),
  "draws-by-default": ({ temperature }) => (temperature === 0 ? { temperature: 1 } : {}),
  "punishes-nothing": () => ({ repeatPenaltyTokens: new Uint32Array(0) }),
};

const original = LlamaContextSequence.prototype._resolveSamplerConfig;
LlamaContextSequence.prototype._resolveSamplerConfig = function (options) {
  const config = original.call(this, options);
  return { ...config, ...CHANGES[fault](config) };
};
await import("./adapter.mjs");
