// A complete adapter in TypeScript: top_k, temp, greedy and dist with random numbers of its own.
//
//     npx tsc --module nodenext --target es2023 examples/adapter.mts    (writes examples/adapter.mjs)
//     sampler-parity adapter check -- node examples/adapter.mjs
//     sampler-parity run parity -b "mine=node examples/adapter.mjs"
//     sampler-parity run batch/relations -b "mine=node examples/adapter.mjs"
//
// docs/reference/protocol.md is the specification. dist draws other tokens than llama.cpp for the
// same seed, so it is judged by its frequencies (request `draws`).

import { openSync, readSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** selected is an index, or -1. */
type Candidates = { ids: number[]; logits: number[]; p: number[]; selected: number };
type Sampler = { apply(c: Candidates): void; reset(): void; clone(): Sampler };
type Chain = Array<Record<string, Record<string, any>>>;

class Unsupported extends Error {}

function pure(apply: (c: Candidates) => void): Sampler {
  const sampler: Sampler = { apply, reset: () => {}, clone: () => sampler };
  return sampler;
}

/** The first largest logit. */
const best = ({ logits }: Candidates): number => logits.reduce((b, x, i) => (x > logits[b] ? i : b), 0);

function topK({ k }: Record<string, number>): Sampler {
  return pure((c) => {
    if (k <= 0) return;
    const kept = c.ids.map((_, i) => i).sort((i, j) => c.logits[j] - c.logits[i] || i - j);
    const take = (values: number[]): number[] => kept.slice(0, k).map((i) => values[i]);
    [c.ids, c.logits, c.p] = [take(c.ids), take(c.logits), take(c.p)];
  });
}

function temp(given: Record<string, any>): Sampler {
  const t = Math.fround(Number(String(given["temp"]).replace("inf", "Infinity")));
  return pure((c) => {
    const kept = best(c);
    if (t > 0) c.logits = c.logits.map((x) => Math.fround(x / t));
    else c.logits = c.logits.map((x, i) => (i === kept ? x : -Infinity));
  });
}

const greedy = (): Sampler => pure((c) => void (c.selected = best(c)));

/** SplitMix64: its state is one number. */
function dist({ seed }: Record<string, number>, state = BigInt(seed)): Sampler {
  function uniform(): number {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  }
  return {
    apply(c) {
      const largest = c.logits[best(c)];
      const weights = c.logits.map((x) => Math.exp(x - largest));
      const total = weights.reduce((a, b) => a + b);
      let left = uniform() * total;
      c.selected = weights.findIndex((weight) => (left -= weight) < 0);
      if (c.selected < 0) c.selected = weights.findLastIndex((weight) => weight > 0);
      c.p = weights.map((weight) => Math.fround(weight / total));
    },
    reset: () => void (state = BigInt(seed)), clone: () => dist({ seed }, state),
  };
}

const SAMPLERS: Record<string, (given: Record<string, any>) => Sampler> = { top_k: topK, temp, greedy, dist };

function refuse(): never {
  throw new Unsupported("no such sampler or request");
}

let scratch = -1; // an open file

function build(chain: Chain): Sampler[] {
  return chain.map((stage) => {
    const [name, given] = Object.entries(stage)[0];
    return (SAMPLERS[name] ?? refuse)(given);
  });
}

function fresh(rows: { at: number; n: number }, index: number): Candidates {
  const row = new Float32Array(rows.n);
  readSync(scratch, row, 0, row.byteLength, rows.at + row.byteLength * index);
  return { ids: Array.from(row.keys()), logits: Array.from(row), p: Array(rows.n).fill(0), selected: -1 };
}

/** The token, and where the candidates after each stage were written, if they are asked for. */
function sample(ask: any, chain: Sampler[], row: number): [number | null, object[]] {
  const c = fresh(ask.rows, row);
  const results: object[] = [];
  for (const sampler of chain) {
    sampler.apply(c);
    if (ask.detail !== "stages") continue;
    results.push({ at: ask.out, n: c.ids.length, sorted: null, selected: c.selected });
    for (const values of [Int32Array.from(c.ids), Float32Array.from(c.logits), Float32Array.from(c.p)]) {
      ask.out += writeSync(scratch, values, 0, values.byteLength, ask.out);
    }
  }
  return [c.selected < 0 ? null : c.ids[c.selected], results];
}

function change(rows: Sampler[][], ask: any, [operation, i, j]: [string, number, number]): void {
  if (operation === "join") rows.push(build(ask.sequences[i].chain));
  else if (operation === "clone") rows.push(rows[i].map((sampler) => sampler.clone()));
  else if (operation === "leave") rows.splice(i, 1);
  else if (operation === "swap") [rows[i], rows[j]] = [rows[j], rows[i]];
  else rows[i].forEach((sampler) => sampler.reset());
}

function run(ask: any): object {
  const instances = Array.from({ length: ask.instances }, () => build(ask.chain));
  const sampled = ask.steps.map((step: any) => { // none of these samplers accepts anything
    for (const operation of step.before) change(instances, ask, operation);
    return sample(ask, instances[step.instance], step.row);
  });
  return { ok: true, tokens: sampled.map((s: any) => s[0]), stages: sampled.map((s: any) => s[1]) };
}

function batch(ask: any): object {
  const rows: Sampler[][] = [];
  const sampled = ask.steps.map((step: any) => {
    for (const operation of step.before) change(rows, ask, operation);
    return step.sample.map((one: any) => sample(ask, rows[one.at], one.row));
  });
  const part = (i: number) => sampled.map((step: any) => step.map((row: any) => row[i]));
  return { ok: true, tokens: part(0), stages: part(1) };
}

function draws({ chain, rows, n, out }: any): object {
  const samplers = build(chain);
  const tokens = Int32Array.from({ length: n }, () => {
    const c = fresh(rows, 0);
    samplers.forEach((sampler) => sampler.apply(c));
    return c.ids[c.selected];
  });
  writeSync(scratch, tokens, 0, tokens.byteLength, out);
  return { ok: true };
}

function hello(request: any): object {
  scratch = request.protocol === 2 ? openSync(request.scratch, "r+") : refuse();
  const said = { protocol: 2, name: "example in TypeScript", version: "1" };
  const can = { capabilities: ["run", "batch", "draws"], samplers: Object.keys(SAMPLERS) };
  return { ok: true, ...said, ...can, random: "own" };
}

const ANSWERS: Record<string, (request: any) => object> = { hello, run, batch, draws };

function answer(request: any): object {
  try {
    return (ANSWERS[request.do] ?? refuse)(request);
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    return { ok: false, kind: "unsupported", message: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin, terminal: false })) {
  const request = JSON.parse(line);
  if (request.do === "bye") break;
  process.stdout.write(JSON.stringify(answer(request)) + "\n");
}
