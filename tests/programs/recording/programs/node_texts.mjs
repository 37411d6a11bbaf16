// `node node_texts.mjs FOLDER MODEL`: print texts that node-llama-cpp, in the folder's node_modules, generates.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [folder, modelPath] = process.argv.slice(2);
const inside = createRequire(join(folder, "package.json")).resolve("node-llama-cpp");
const { getLlama, LlamaCompletion, LlamaGrammar, LlamaLogLevel, TokenBias } = await import(pathToFileURL(inside));
const llama = await getLlama({ gpu: false, build: "never", progressLogs: false, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
const grammar = new LlamaGrammar(llama, { grammar: 'root ::= [a-z ]+ "."' });

const chains = {
  defaults: {},
  greedy: { temperature: 0 },
  sampled: { temperature: 0.9, topK: 30, topP: 0.9, minP: 0.05 },
  penalties: { temperature: 0.9, repeatPenalty: { penalty: 1.3, presencePenalty: 0.4, lastTokens: 16 } },
  dry: { temperature: 0.9, dryRepeatPenalty: { strength: 0.8, lastTokens: 64 } },
  xtc: { temperature: 0.9, xtc: { probability: 0.5, threshold: 0.05 } },
  biases: { temperature: 0.9, tokenBias: new TokenBias(model.tokenizer).set(5, 0.3) },
  grammar: { temperature: 0.9, grammar },
};

const texts = {};
let seed = 0;
for (const [name, options] of Object.entries(chains)) {
  seed += 1;
  const context = await model.createContext({ contextSize: 256, threads: 1 });
  const completion = new LlamaCompletion({ contextSequence: context.getSequence() });
  const prompt = `The story number ${seed} begins`;
  texts[name] = await completion.generateCompletion(prompt, { maxTokens: 40, seed, ...options });
  completion.dispose();
  await context.dispose();
}
console.log(JSON.stringify(texts, null, 1));
await llama.dispose();
