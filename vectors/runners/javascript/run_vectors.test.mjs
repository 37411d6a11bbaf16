// Run test vectors with node alone, one test for each file of the kit:
// `VECTORS=kit SAMPLER=./my_sampler.mjs node --test run_vectors.test.mjs`.
//
// Copy this file. The module that SAMPLER names, by a path from here, has `sample(name, test)`. It
// returns { ids, logits, token } of what is left, or null for a sampler that it lacks. For scripts
// it has `make(name, parameters, seed)`: an object with `apply(test)`, `accept(token)`, `reset()`
// and `clone()`, or null. With EXACT=1 the result must be llama.cpp's to the bit: ids, logits,
// token, and also `p` and `sorted` if it has them. The README of the kit has the fields. Under
// vitest, change the line below that imports `test`.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test"; // under vitest: from "vitest"

const KIT = process.env.VECTORS ?? ".";
const ROWS = readFileSync(join(KIT, "rows.f32"));
const EXACT = process.env.EXACT === "1";
const WORDS = { inf: Infinity, "-inf": -Infinity, nan: NaN };
const { sample, make } = await import(process.env.SAMPLER ?? "./small_sampler.mjs");

// The numbers of a row, as an array.
function numbers(row) {
  if (Array.isArray(row)) return row.map((x) => WORDS[x] ?? x);
  return Array.from({ length: row.n }, (_, k) => ROWS.readFloatLE(4 * (row.at + k)));
}

// The sampler and the tests of a file.
function read(path) {
  const { sampler, tests } = JSON.parse(readFileSync(path, "utf8"));
  for (const call of tests.flatMap((test) => test.calls ?? [test])) {
    if (!call.logits) continue;
    call.logits = numbers(call.logits).map(Math.fround);
    call.p = call.p ? numbers(call.p).map(Math.fround) : call.logits.map(() => 0);
    call.ids ??= call.logits.map((_, k) => k);
  }
  // Without `right` only the result of llama.cpp is known.
  return { sampler, tests: tests.filter((test) => EXACT || test.right || test.calls) };
}

function byId(ids, values) {
  return new Map(ids.map((id, k) => [id, values[k]]));
}

function idsLeft(logits) {
  return new Set([...logits.keys()].filter((id) => logits.get(id) !== -Infinity));
}

// What is wrong with a result, or "".
function problem(test, result) {
  if (EXACT) return exactProblem(test, result);
  const { ids, logits, token } = result;
  const right = test.right;
  if (!right) return "";
  if (right.token_alone) return right.tokens.includes(token) ? "" : `token ${token} is selected`;
  const before = byId(test.ids, test.logits);
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
  const order = right.ids ?? test.ids;
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

// Where a result differs from llama.cpp's, or "".
function exactProblem(test, { ids, logits, token, p, sorted }) {
  const exact = test.exact;
  if (!areSame(ids, exact.ids ?? test.ids)) return "other ids are left, or in another order";
  for (const [name, values] of [["logits", logits], ["p", p]]) {
    const before = byId(test.ids, test[name]);
    const want = exact[name] ? numbers(exact[name]) : Array.from(ids, (id) => before.get(id));
    if (values && !areSame(values.map(Math.fround), want.map(Math.fround))) return `${name} differ`;
  }
  if (token !== (exact.token ?? token)) return `token ${token} is selected, not ${exact.token}`;
  const isSorted = exact.sorted ?? test.flags?.includes("sorted") ?? false;
  return (sorted ?? isSorted) === isSorted ? "" : `sorted is ${sorted}`;
}

// Object.is takes NaN as equal, and 0 and -0 as different.
function areSame(some, others) {
  return some.length === others.length && some.every((x, k) => Object.is(x, others[k]));
}

// What is wrong after one call, or ""; null if the sampler is missing.
async function vectorProblem(sampler, vector) {
  const result = await sample(sampler, vector);
  return result ? problem(vector, result) : null;
}

// What is wrong first in a script, or ""; null if the sampler is missing.
async function scriptProblem(sampler, { parameters, seed, instances: n = 1, calls }) {
  const instances = [];
  while (instances.length < n) instances.push((await make?.(sampler, parameters, seed)) ?? null);
  if (!instances[0]) return null;
  for (const [k, call] of calls.entries()) {
    const on = instances[call.on ?? 0];
    if (call.call === "accept") await on.accept(call.token);
    else if (call.call === "reset") await on.reset();
    else if (call.call === "clone") instances.push(await on.clone());
    else {
      const wrong = problem(call, await on.apply(call));
      if (wrong) return `call ${k + 1}: ${wrong}`;
    }
  }
  return "";
}

// How many tests were skipped, and a line for each that is wrong.
async function checked(sampler, tests) {
  const problems = [];
  let skipped = 0;
  for (const test of tests) {
    try {
      const wrong = await (test.calls ? scriptProblem : vectorProblem)(sampler, test);
      if (wrong === null) skipped += 1;
      if (wrong) problems.push(`${test.id}: ${wrong}`);
    } catch (error) {
      problems.push(`${test.id}: ${error}`);
    }
  }
  return { skipped, problems };
}

function summary(n, skipped, problems) {
  const none = skipped.toLocaleString("en-US");
  if (n === 0) return `skipped, ${none} tests`;
  return `${n - problems.length} of ${n} right` + (skipped ? `, ${none} skipped` : "");
}

// A folder is missing if git or zip dropped it, being empty.
const files = ["vectors", "scripts"]
  .filter((kind) => existsSync(join(KIT, kind)))
  .flatMap((kind) => readdirSync(join(KIT, kind)).map((file) => join(KIT, kind, file)))
  .filter((path) => path.endsWith(".json"));
for (const path of files.sort()) {
  const { sampler, tests } = read(path);
  const name = `${basename(dirname(path))}/${sampler}`;
  test(name, async (context) => {
    const { skipped, problems } = await checked(sampler, tests);
    const n = tests.length - skipped;
    console.log(`${name}: ${summary(n, skipped, problems)}`);
    if (n === 0) return context.skip();
    const first = problems.slice(0, 10).join("\n");
    if (first) throw new Error(`${problems.length} of ${n} tests are wrong\n${first}`);
  });
}
