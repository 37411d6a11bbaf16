// An adapter for sampler-parity in JavaScript, on Node.js alone.
//
//     sampler-parity adapter check -- node adapter.mjs
//     sampler-parity run parity/temp -b "mine=node adapter.mjs"
//
// greedy is complete; implement temp. Samplers that you add to SAMPLERS, under llama.cpp's name and
// with its parameters, are tested, too.

import { openSync, readSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const f32 = Math.fround; // llama.cpp computes in float

// Candidates are {ids, logits, p, selected}: three arrays, and an index or -1. A sampler has apply;
// one that remembers tokens has accept, reset and clone, too.

/** Selects the first largest logit. */
function greedy() {
  return {
    apply(c) {
      c.selected = c.logits.reduce((best, x, i) => (x > c.logits[best] ? i : best), 0);
    },
  };
}

/** Divides every logit by the temperature. */
function temp(given) {
  const t = f32(number(given.temp));
  return {
    apply(c) {
      // Fill in: at t <= 0 the first largest logit stays, and every other becomes -Infinity.
      if (t !== 0) c.logits = c.logits.map((x) => f32(x / t));
    },
  };
}

const SAMPLERS = { greedy, temp };
// For `run --accept correct`: the formats of your numbers, and more (docs/reference/protocol.md).
const ARITHMETIC = { logits: "float32", sums: "float32" };
const RANDOM = "mt19937"; // or "own", if a seed gives other numbers than in llama.cpp

// What follows is the protocol: docs/reference/protocol.md of sampler-parity.

class Unsupported extends Error {}

let scratch = -1; // an open file

/** JSON has no infinities: they come as "inf" and "-inf". */
function number(x) {
  return Number(String(x).replace("inf", "Infinity"));
}

function build(chain) {
  return chain.map((stage) => {
    const [name, given] = Object.entries(stage)[0];
    if (!Object.hasOwn(SAMPLERS, name)) throw new Unsupported(`no sampler ${name}`);
    return SAMPLERS[name](given);
  });
}

function accept(samplers, token) {
  for (const sampler of samplers) sampler.accept?.(token);
}

function readRow(rows, index) {
  const row = new Float32Array(rows.n);
  readSync(scratch, row, 0, row.byteLength, rows.at + row.byteLength * index);
  return { ids: Array.from(row.keys()), logits: Array.from(row), p: Array(rows.n).fill(0), selected: -1 };
}

/** The byte behind what was written. */
function write(at, c) {
  for (const values of [Int32Array.from(c.ids), Float32Array.from(c.logits), Float32Array.from(c.p)]) {
    at += writeSync(scratch, values, 0, values.byteLength, at);
  }
  return at;
}

function run({ chain, rows, history, instances, steps, detail, out }) {
  const chains = Array.from({ length: instances }, () => build(chain));
  for (const samplers of chains) for (const token of history) accept(samplers, token);
  const tokens = [];
  const stages = [];
  let at = out;
  for (const step of steps) {
    for (const [operation, i] of step.before) {
      if (operation === "clone") chains.push(chains[i].map((sampler) => sampler.clone?.() ?? sampler));
      else for (const sampler of chains[i]) sampler.reset?.();
    }
    const c = readRow(rows, step.row);
    const results = [];
    for (const sampler of chains[step.instance]) {
      sampler.apply(c);
      if (detail !== "stages") continue;
      results.push({ at, n: c.ids.length, sorted: null, selected: c.selected });
      at = write(at, c);
    }
    const token = c.selected < 0 ? null : c.ids[c.selected];
    const accepted = step.accept === "selected" ? token : step.accept;
    if (accepted !== null) accept(chains[step.instance], accepted);
    tokens.push(token);
    stages.push(results);
  }
  return { ok: true, tokens, stages, ns: 0 };
}

function answer(request) {
  if (request.do === "run") return run(request);
  if (request.do !== "hello" || request.protocol !== 1) throw new Unsupported(`no request ${request.do}`);
  scratch = openSync(request.scratch, "r+");
  const said = { protocol: 1, name: "mine", version: "1", capabilities: ["run"] };
  const how = { arithmetic: ARITHMETIC, random: RANDOM };
  return { ok: true, ...said, samplers: Object.keys(SAMPLERS), ...how };
}

function reply(request) {
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
