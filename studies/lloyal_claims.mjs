// tsampler's documentation, held against the native sampler of its own makers: what can be asked of a branch.
//
//     node lloyal_claims.mjs [MODEL.gguf]
//
// Each line: the claim, expected and got. Metrics are compared with the same formulas in double.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const addon = fileURLToPath(import.meta.resolve("@lloyal-labs/lloyal.node-linux-x64"));
const lloyal = createRequire(import.meta.url)(addon);
const modelPath = process.argv[2] ?? "golden/model/small.gguf";
const ctx = await lloyal.createContext({ modelPath, nCtx: 64, nSeqMax: 64 });
const V = ctx.vocabSize;

const show = (claim, expected, got) => console.log(`${claim}\n  expected ${expected}\n  got      ${got}`);
const live = [];

function branch(row, params) {
  const handle = ctx._branchCreate(0, params, 64);
  live.push(handle);
  ctx._branchSetLogits(handle, row);
  return handle;
}

function padded(values) {
  const row = new Float32Array(V).fill(-1e4);
  row.set(values);
  return row;
}

/** Standard normal numbers of a small generator, so that every run has the same. */
function normals(n, seed, scale, offset) {
  let state = seed;
  const next = () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) + 0.5) / 2 ** 32;
  return Float32Array.from({ length: n }, () => offset + scale * Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()));
}

/** [entropy, surprisal of each token] in double. */
function exact(row) {
  const top = row.reduce((a, b) => Math.max(a, b), -Infinity);
  const weights = Array.from(row, (l) => Math.exp(l - top));
  const total = weights.reduce((a, b) => a + b, 0);
  const surprisal = Array.from(row, (l) => Math.log(total) - (l - top));
  return [weights.reduce((sum, w, i) => sum + (w > 0 ? (w / total) * surprisal[i] : 0), 0), surprisal];
}

function furthest(scale, offset) {
  let [entropy, surprisal] = [0, 0];
  for (let seed = 1; seed <= 50; seed++) {
    const row = normals(V, seed, scale, offset);
    const handle = branch(row, { temperature: 0 });
    const [h, s] = exact(row);
    entropy = Math.max(entropy, Math.abs(ctx._branchModelEntropy(handle) - h));
    for (let token = 0; token < V; token += 97) {
      surprisal = Math.max(surprisal, Math.abs(ctx._branchModelSurprisal(handle, token) - s[token]));
    }
    ctx._branchPrune(live.pop());
  }
  return `entropy off by ${entropy.toExponential(1)} nats, surprisal by ${surprisal.toExponential(1)}`;
}

show(`metrics, identical algorithms: 50 rows of ${V} normal logits`, "1e-11", furthest(3, 0));
show("the same rows, 10,000 added to each logit: the softmax is the same", "1e-11", furthest(3, 1e4));

const two = branch(padded([0, 0]), { temperature: 0 });
show("entropy in bits of two equal tokens", 1, ctx._branchModelEntropy(two, "bits"));
show("surprisal of a token outside the vocabulary", "Infinity", ctx._branchModelSurprisal(two, V));
show("rolling perplexity before any token", "1, or undefined", ctx._branchGetPerplexity(two));
ctx._branchAccept(two, 0);
show("rolling perplexity after one of two equal tokens", 2, ctx._branchGetPerplexity(two));
show("logits are never modified: as they were after penalties and a sample", "true", (() => {
  const row = normals(V, 7, 3, 0);
  const handle = branch(row, { temperature: 0.8, penalties: { repeat: 1.5 } });
  ctx._branchAccept(handle, 3);
  ctx._branchSample(handle);
  return ctx._branchGetLogits(handle).every((l, i) => Object.is(l, row[i]));
})());

const draws = (params, row = padded([1, 1]), n = 64) => {
  const handle = branch(row, params);
  return Array.from({ length: n }, () => ctx._branchSample(handle)).join("");
};
const same = draws({ seed: 7, temperature: 1 }) === draws({ seed: 7, temperature: 1 });
show("same seed, same sequence", "true", same);
const cold = { seed: 7, temperature: 0.0009 };
show("same greedy fast-path: below 0.001 of two equal tokens one", "1 token", `${new Set(draws(cold)).size} tokens`);
const penalized = branch(padded([2.05, 2]), { temperature: 0 });
ctx._branchAccept(penalized, 0);
show("same default parameters: a penalty of 1.1 puts token 1 first", 1, ctx._branchSample(penalized));
show("top-p 0 is greedy by probability", "1", [...new Set(draws({ seed: 1, topP: 0 }, padded([1, 2])))].join());

const begun = process.hrtime.bigint();
const timed = branch(normals(V, 9, 3, 0), { seed: 1 });
for (let i = 0; i < 200; i++) ctx._branchSample(timed);
const ms = Number(process.hrtime.bigint() - begun) / 200 / 1e6;
show(`native sampling, per token, V = ${V}`, "0.1 to 0.3 ms at V = 65,536", `${ms.toFixed(3)} ms`);
process.exit(0);
