// node-llama-cpp: the token that `includeMax` always includes is left out, and two options that do nothing.
//
//     npm install --ignore-scripts --omit=optional node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1
//     node finding_60_include_max.mjs [MODEL.gguf]
//
// Any model of text will do. Prints expected and got.

import { getLlama, LlamaLogLevel } from "node-llama-cpp";
import { resolve } from "node:path";

const llama = await getLlama({ gpu: false, build: "never", progressLogs: false, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: resolve(process.argv[2] ?? "golden/model/small.gguf"), gpuLayers: 0 });
const context = await model.createContext({ contextSize: 64, threads: 1 });
const sequence = context.getSequence();
const START = model.tokenize("hello");

let differ = false;
function show(what, expected, got) {
  console.log(`${what}\n  expected ${expected}\n  got      ${got}`);
  differ ||= String(expected) !== String(got);
}

/** The logits of the token behind START that a filter lets through, by token. */
async function logitsOf(filter) {
  await sequence.clearHistory();
  const asked = [...START.slice(0, -1), [START.at(-1), { generateNext: { token: true, logits: { filter } } }]];
  const { token, logits } = (await sequence.controlledEvaluate(asked)).at(-1).next;
  return { token, tokens: [...logits.keys()].map(Number) };
}

async function generated(options) {
  await sequence.clearHistory();
  const iterator = sequence.evaluate(START, { yieldEogToken: true, ...options });
  const tokens = [];
  for (let i = 0; i < 8; i++) tokens.push(Number((await iterator.next()).value));
  await iterator.return();
  return tokens;
}

const { tokens: [most] } = await logitsOf({ tokens: [], includeTop: 1 });
const other = most === 5 ? 6 : 5;
const asked = await logitsOf({ tokens: [other], includeMax: true });
show(`logits of token ${other} with includeMax, "always include the max logit token", ${most}`, [most, other], asked.tokens);

const least = await logitsOf({ tokens: [other], includeMin: true });
show(`logits of token ${other} with includeMin: how many`, 2, least.tokens.length);

const first = (await generated({})).slice(0, 1);
const punish = { penalty: 1000, punishTokens: [...first, 7, 8, 9], maxPunishTokens: 1 };
const [got] = await generated({ repeatPenalty: punish });
show(`maxPunishTokens 1 of punished ${punish.punishTokens}: token ${first} is not among the last 1`, first, [got]);
process.exit(differ ? 1 : 0);
