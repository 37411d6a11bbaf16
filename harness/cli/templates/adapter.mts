// An adapter for sampler-parity in TypeScript, on Node.js alone: from 22.18 on it runs as it is. An older
// Node.js needs it compiled (npm install typescript @types/node) and then runs adapter.mjs:
//
//     npx tsc --module nodenext --target es2023 --types node adapter.mts
//
//     sampler-parity adapter check -- node adapter.mts
//     sampler-parity run parity/temp -b "mine=node adapter.mts"
//
// greedy is complete; implement temp. Samplers that you add to SAMPLERS, under llama.cpp's name and
// with its parameters, are tested, too.

import { openSync, readSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** selected is an index, or -1. */
type Candidates = { ids: number[]; logits: number[]; p: number[]; selected: number };

/** One that remembers tokens has accept, reset and clone, too. */
type Sampler = {
  apply(c: Candidates): void;
  accept?(token: number): void;
  reset?(): void;
  clone?(): Sampler;
};

const f32 = Math.fround; // llama.cpp computes in float

/** Selects the first largest logit. */
function greedy(): Sampler {
  return {
    apply(c) {
      c.selected = c.logits.reduce((best, x, i) => (x > c.logits[best] ? i : best), 0);
    },
  };
}

/** Divides every logit by the temperature. */
function temp(given: Record<string, any>): Sampler {
  const t = f32(number(given["temp"]));
  return {
    apply(c) {
      // Fill in: at t <= 0 the first largest logit stays, and every other becomes -Infinity.
      if (t !== 0) c.logits = c.logits.map((x) => f32(x / t));
    },
  };
}

const SAMPLERS: Record<string, (given: Record<string, any>) => Sampler> = { greedy, temp };
// For `run --accept correct`: the formats of your numbers, and more (docs/reference/protocol.md).
const ARITHMETIC = { logits: "float32", sums: "float32" };
const RANDOM = "mt19937"; // or "own", if a seed gives other numbers than in llama.cpp

// What follows is the protocol: docs/reference/protocol.md of sampler-parity.

class Unsupported extends Error {}

type Rows = { at: number; n: number };

let scratch = -1; // an open file

/** JSON has no infinities: they come as "inf" and "-inf". */
function number(x: number | string): number {
  return Number(String(x).replace("inf", "Infinity"));
}

function build(chain: Array<Record<string, Record<string, any>>>): Sampler[] {
  return chain.map((stage) => {
    const [name, given] = Object.entries(stage)[0];
    if (!Object.hasOwn(SAMPLERS, name)) throw new Unsupported(`no sampler ${name}`);
    return SAMPLERS[name](given);
  });
}

function accept(samplers: Sampler[], token: number): void {
  for (const sampler of samplers) sampler.accept?.(token);
}

function readRow(rows: Rows, index: number): Candidates {
  const row = new Float32Array(rows.n);
  readSync(scratch, row, 0, row.byteLength, rows.at + row.byteLength * index);
  return { ids: Array.from(row.keys()), logits: Array.from(row), p: Array(rows.n).fill(0), selected: -1 };
}

/** The byte behind what was written. */
function write(at: number, c: Candidates): number {
  for (const values of [Int32Array.from(c.ids), Float32Array.from(c.logits), Float32Array.from(c.p)]) {
    at += writeSync(scratch, values, 0, values.byteLength, at);
  }
  return at;
}

function run({ chain, rows, history, instances, steps, detail, out }: any): object {
  const chains = Array.from({ length: instances }, () => build(chain));
  for (const samplers of chains) for (const token of history) accept(samplers, token);
  const tokens: Array<number | null> = [];
  const stages: object[][] = [];
  let at: number = out;
  for (const step of steps) {
    for (const [operation, i] of step.before) {
      if (operation === "clone") chains.push(chains[i].map((sampler) => sampler.clone?.() ?? sampler));
      else for (const sampler of chains[i]) sampler.reset?.();
    }
    const c = readRow(rows, step.row);
    const results: object[] = [];
    for (const sampler of chains[step.instance]) {
      sampler.apply(c);
      if (detail !== "stages") continue;
      results.push({ at, n: c.ids.length, sorted: null, selected: c.selected });
      at = write(at, c);
    }
    const token = c.selected < 0 ? null : c.ids[c.selected];
    const accepted: number | null = step.accept === "selected" ? token : step.accept;
    if (accepted !== null) accept(chains[step.instance], accepted);
    tokens.push(token);
    stages.push(results);
  }
  return { ok: true, tokens, stages, ns: 0 };
}

function answer(request: any): object {
  if (request.do === "run") return run(request);
  if (request.do !== "hello" || request.protocol !== 1) throw new Unsupported(`no request ${request.do}`);
  scratch = openSync(request.scratch, "r+");
  const said = { protocol: 1, name: "mine", version: "1", capabilities: ["run"] };
  const how = { arithmetic: ARITHMETIC, random: RANDOM };
  return { ok: true, ...said, samplers: Object.keys(SAMPLERS), ...how };
}

function reply(request: any): object {
  try {
    return answer(request);
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    return { ok: false, kind: "unsupported", message: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin, terminal: false })) {
  const request = JSON.parse(line);
  if (request.do === "bye") break;
  process.stdout.write(JSON.stringify(reply(request)) + "\n");
}
