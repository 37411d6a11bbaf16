// A top_p of somebody else: right by docs/reference/protocol.md, but for the order of equal logits, which
// Array.sort leaves as it was. With a word behind it, wrong in that one way:
//
//     node tests/support/top_p_adapter.mjs [FAULT]

import { openSync, readSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const fault = process.argv[2] ?? "";
const f32 = Math.fround;
let scratch = -1; // an open file

/** The nearest number of eight significant bits, an even one if two are as near. */
function bf16(x) {
  const bits = new Uint32Array(new Float32Array([x]).buffer);
  bits[0] = (bits[0] + 0x7fff + ((bits[0] >>> 16) & 1)) & 0xffff0000;
  return new Float32Array(bits.buffer)[0];
}

/** glibc's expf, whose last digit is not always that of the exact value: 2^(k/32) and a polynomial. */
function expf(x) {
  if (x < -104) return 0;
  const z = (1.4426950408889634 * 32) * x;
  const k = Math.round(z);
  const r = z - k;
  const [c0, c1, c2] = [0.05550361559341535 / 32 ** 3, 0.2402284522445722 / 32 ** 2, 0.6931471806916203 / 32];
  const power = 2 ** (((k % 32) + 32) % 32 / 32) * 2 ** Math.floor(k / 32);
  return f32(((c0 * r + c1) * (r * r) + (c2 * r + 1)) * power);
}

/** What stays of rows [id, logit, p] in descending order. */
const CUTS = {
  "": crossing,
  // wrong in what it counts
  "drops-the-crossing-token": (rows, p, minKeep) => Math.max(1, minKeep, crossing(rows, p, minKeep) - 1),
  "exceeds-instead-of-reaches": (rows, p, minKeep) => crossing(rows, p, minKeep, (mass) => mass > p),
  "keeps-one-more": (rows, p, minKeep) => crossing(rows, p, minKeep) + 1,
  "ignores-min-keep": (rows, p) => crossing(rows, p, 0),
  "sums-in-bfloat16": (rows, p, minKeep) => crossing(rows, p, minKeep, undefined, bf16),
  // wrong at ties alone
  "keeps-all-that-equal-the-last": (rows, p, minKeep) => {
    let n = crossing(rows, p, minKeep);
    while (n < rows.length && rows[n][1] === rows[n - 1][1]) n++;
    return n;
  },
  "drops-equals-that-do-not-all-fit": (rows, p, minKeep) => {
    const n = crossing(rows, p, minKeep);
    if (n === rows.length || rows[n][1] !== rows[n - 1][1]) return n;
    return Math.max(1, rows.findIndex((row) => row[1] === rows[n - 1][1]));
  },
};

function crossing(rows, p, minKeep, reached = (mass) => mass >= p, round = f32) {
  let mass = 0;
  for (let i = 0; i < rows.length; i++) {
    mass = round(mass + rows[i][2]);
    if (reached(mass) && i + 1 >= minKeep) return i + 1;
  }
  return rows.length;
}

function topP(rows, { p, min_keep: minKeep = 0 }) {
  p = f32(p);
  if (p >= 1 && fault !== "one-is-not-off") return rows;
  const largest = rows.reduce((most, row) => Math.max(most, row[1]), -Infinity);
  const weights = rows.map((row) => expf(f32(row[1] - largest)));
  const total = weights.reduce((a, b) => f32(a + b), 0);
  rows = rows.map(([id, logit], i) => [id, logit, f32(weights[i] / total)]);
  rows.sort((a, b) => b[1] - a[1]);
  const n = (CUTS[fault] ?? crossing)(rows, p, minKeep);
  const kept = rows.slice(0, n);
  if (fault === "normalizes-the-rest") {
    const mass = kept.reduce((a, row) => f32(a + row[2]), 0);
    kept.forEach((row) => (row[2] = f32(row[2] / mass)));
  }
  if (fault === "takes-the-next-id-of-equals" && n > 1 && n < rows.length && rows[n][1] === kept[n - 1][1]) {
    const others = rows.slice(n).filter((row) => row[1] !== kept[n - 1][1]);
    if (others.length) kept[n - 1] = [others[0][0], kept[n - 1][1], kept[n - 1][2]];
  }
  return kept;
}

function run({ chain, n_vocab: nVocab, rows, steps, detail, out }) {
  const stages = [];
  for (const step of steps) {
    const logits = new Float32Array(nVocab);
    readSync(scratch, logits, 0, logits.byteLength, rows.at + logits.byteLength * step.row);
    let left = Array.from(logits, (logit, id) => [id, logit, 0]);
    stages.push([]);
    for (const stage of chain) {
      left = topP(left, stage.top_p);
      stages.at(-1).push({ at: out, n: left.length, sorted: null, selected: -1 });
      for (const [column, Kind] of [Int32Array, Float32Array, Float32Array].entries()) {
        const values = Kind.from(left, (row) => row[column]);
        out += writeSync(scratch, values, 0, values.byteLength, out);
      }
    }
  }
  return { ok: true, tokens: steps.map(() => null), stages: detail === "stages" ? stages : [] };
}

function hello(request) {
  scratch = openSync(request.scratch, "r+");
  return { ok: true, protocol: 1, name: "top_p", version: "1", capabilities: ["run"], samplers: ["top_p"] };
}

for await (const line of createInterface({ input: process.stdin, terminal: false })) {
  const request = JSON.parse(line);
  if (request.do === "bye") break;
  process.stdout.write(JSON.stringify({ hello, run }[request.do](request)) + "\n");
}
