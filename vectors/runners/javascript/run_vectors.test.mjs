// Run test vectors with node alone, one test for each sampler:
// `VECTORS=kit SAMPLER=./my_sampler.mjs node --test run_vectors.test.mjs`.
//
// Copy this file. The module that SAMPLER names, by a path from here, has `sample(name, test)`. It
// returns { ids, logits, token } of what is left, or null for a sampler that it lacks. The README
// of the kit has the fields. Under vitest, change the line below that imports `test`.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test"; // under vitest: from "vitest"

const KIT = process.env.VECTORS ?? ".";
const ROWS = readFileSync(join(KIT, "rows.f32"));
const { sample } = await import(process.env.SAMPLER ?? "./small_sampler.mjs");

// The numbers of a row, as an array.
function numbers(row) {
  if (Array.isArray(row)) {
    return row.map((x) => (x === "inf" ? Infinity : x === "-inf" ? -Infinity : x));
  }
  return Array.from({ length: row.n }, (_, k) => ROWS.readFloatLE(4 * (row.at + k)));
}

function vectors(file) {
  const { sampler, tests } = JSON.parse(readFileSync(join(KIT, "vectors", file), "utf8"));
  for (const vector of tests) {
    vector.logits = numbers(vector.logits).map(Math.fround);
    vector.ids ??= vector.logits.map((_, k) => k);
  }
  // Without `right` only the result of llama.cpp is known.
  return { sampler, tests: tests.filter((vector) => vector.right) };
}

function byId(ids, values) {
  return new Map(ids.map((id, k) => [id, values[k]]));
}

function idsLeft(logits) {
  return new Set([...logits.keys()].filter((id) => logits.get(id) !== -Infinity));
}

// What is wrong with a result, or "".
function problem(vector, { ids, logits, token }) {
  const right = vector.right;
  const before = byId(vector.ids, vector.logits);
  const after = byId(ids, logits);
  const left = idsLeft(after);
  if (after.size < ids.length) return "an id comes twice";
  const stay = right.stay ? new Set(right.stay) : idsLeft(before);
  const may = new Set(right.may);
  for (const id of stay) {
    if (!left.has(id)) return `token ${id} must stay`;
  }
  for (const id of left) {
    if (!stay.has(id) && !may.has(id)) return `token ${id} must go`;
  }
  const { least = stay.size, most = stay.size } = right;
  if (left.size < least || left.size > most) {
    return `${left.size} tokens stay, not ${least} to ${most}`;
  }
  const order = right.ids ?? vector.ids;
  const low = right.low ? byId(order, numbers(right.low)) : before;
  const high = right.high ? byId(order, numbers(right.high)) : before;
  for (const id of left) {
    const x = after.get(id);
    // The negation catches NaN too.
    if (!(low.get(id) <= x && x <= high.get(id))) {
      return `token ${id} has ${x}, not ${low.get(id)} to ${high.get(id)}`;
    }
  }
  if (right.tokens && !right.tokens.includes(token)) {
    return `token ${token} is selected, not ${right.tokens.join(" or ")}`;
  }
  return "";
}

// How many vectors were skipped, and a line for each that is wrong.
async function checked(sampler, tests) {
  const problems = [];
  let skipped = 0;
  for (const vector of tests) {
    try {
      const result = await sample(sampler, vector);
      const wrong = result && problem(vector, result);
      if (!result) skipped += 1;
      if (wrong) problems.push(`${vector.id}: ${wrong}`);
    } catch (error) {
      problems.push(`${vector.id}: ${error}`);
    }
  }
  return { skipped, problems };
}

function summary(n, skipped, problems) {
  const none = skipped.toLocaleString("en-US");
  if (n === 0) return `skipped, ${none} vectors`;
  return `${n - problems.length} of ${n} right` + (skipped ? `, ${none} skipped` : "");
}

for (const file of readdirSync(join(KIT, "vectors")).sort()) {
  const { sampler, tests } = vectors(file);
  test(sampler, async (context) => {
    const { skipped, problems } = await checked(sampler, tests);
    const n = tests.length - skipped;
    console.log(`${sampler}: ${summary(n, skipped, problems)}`);
    if (n === 0) return context.skip();
    const first = problems.slice(0, 10).join("\n");
    if (first) throw new Error(`${problems.length} of ${n} vectors are wrong\n${first}`);
  });
}
