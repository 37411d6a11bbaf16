// The protocol (docs/reference/protocol.md) in front of an engine that runs on Node.js.
//
// An engine exports { name, version, build, samplers, arithmetic } and make(stages, nVocab), which returns an instance
// of stages [name, parameters]: apply(stage, candidates), accept(token, ofPrompt), reset(), clone(). All may be asynchronous.
// An optional done() is called after every request and frees the resources of the instances.
// Candidates are { ids, logits, p, token }, token -1 until one is selected; a stage replaces what it changes.

import { openSync, readSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A sampler or parameter that the engine lacks. */
export class Unsupported extends Error {}

/** Requires a package from the folder that holds node_modules. */
export function packageOf(folder, name) {
  try {
    return createRequire(join(folder, "package.json"))(name);
  } catch (error) {
    console.error(`${name} does not load from ${folder}: ${error.message.split("\n")[0]}`);
    process.exit(1);
  }
}

export const versionOf = (folder, name) => packageOf(folder, join(folder, "node_modules", name, "package.json")).version;

class Scratch {
  constructor(path) {
    this.file = openSync(path, "r+");
  }

  floats(at, n) {
    const values = new Float32Array(n);
    const size = readSync(this.file, values, 0, values.byteLength, at);
    if (size !== values.byteLength) throw new TypeError(`the scratch file ends at ${at + size}`);
    return values;
  }

  /** Returns the offset behind what was written. */
  write(at, values) {
    writeSync(this.file, values, 0, values.byteLength, at);
    return at + values.byteLength;
  }
}

/** Reads the strings that stand for NaN and infinities, which JSON lacks. */
function numbers(value) {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (value === "nan") return NaN;
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(numbers);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, numbers(item)]));
}

const fresh = (row) => ({
  ids: Int32Array.from(row, (_, id) => id),
  logits: row.slice(),
  p: new Float32Array(row.length),
  token: -1,
});

class Service {
  constructor(engine) {
    this.engine = engine;
  }

  hello({ scratch, protocol }) {
    if (protocol !== 2) throw new Unsupported("this speaks protocol 2");
    this.scratch = new Scratch(scratch);
    const { name, version, build, samplers, arithmetic } = this.engine;
    const capabilities = ["run", "draws", "time", "numbers", "origin"];
    return { protocol, name, version, build, device: "cpu", capabilities, samplers, arithmetic };
  }

  /** A chain that has accepted its history, of which the first tokens are the prompt's. */
  async build({ chain, rows, history, n_prompt = 0 }) {
    const stages = chain.map((stage) => Object.entries(numbers(stage))[0]);
    const instance = await this.engine.make(stages, rows.n);
    for (const [i, token] of history.entries()) await instance.accept(token, i < n_prompt);
    return instance;
  }

  row = ({ rows }, index = 0) => this.scratch.floats(rows.at + 4 * rows.n * index, rows.n);

  write(at, { ids, logits, p, token }) {
    const end = [ids, logits, p].reduce((offset, values) => this.scratch.write(offset, values), at);
    return [{ at, n: ids.length, sorted: null, selected: token < 0 ? -1 : ids.indexOf(token) }, end];
  }

  async run(request) {
    const instances = [];
    for (let i = 0; i < request.instances; i++) instances.push(await this.build(request));
    const tokens = [];
    const stages = [];
    let at = request.out;
    let ns = 0n;
    for (const step of request.steps) {
      for (const [operation, index] of step.before) {
        if (operation === "reset") await instances[index].reset();
        else instances.push(await instances[index].clone());
      }
      const candidates = fresh(this.row(request, step.row));
      const results = [];
      for (let i = 0; i < request.chain.length; i++) {
        const start = process.hrtime.bigint();
        await instances[step.instance].apply(i, candidates);
        ns += process.hrtime.bigint() - start;
        if (request.detail !== "stages") continue;
        const [result, end] = this.write(at, candidates);
        results.push(result);
        at = end;
      }
      const token = candidates.token < 0 ? null : candidates.token;
      tokens.push(token);
      if (request.detail === "stages") stages.push(results);
      const accepted = step.accept === "selected" ? token : step.accept;
      if (accepted !== null) await instances[step.instance].accept(accepted, false);
    }
    return { tokens, stages, ns: Number(ns) };
  }

  async draws(request) {
    const { chain, n, out, filters_once = false, uniforms = null } = request;
    if (uniforms !== null) throw new Unsupported("no uniforms are taken");
    const row = this.row(request);
    const instance = await this.build(request);
    const last = chain.length - 1;
    let candidates = fresh(row);
    const tokens = new Int32Array(n);
    const start = process.hrtime.bigint();
    for (let i = 0; i < n; i++) {
      if (i > 0 && !filters_once) candidates = fresh(row);
      for (let j = i > 0 && filters_once ? last : 0; j <= last; j++) await instance.apply(j, candidates);
      tokens[i] = candidates.token;
    }
    const ns = Number(process.hrtime.bigint() - start);
    this.scratch.write(out, tokens);
    return { ns };
  }

  async time(request) {
    const row = this.row(request);
    const instance = await this.build(request);
    const ns = [];
    const setup_ns = [];
    for (let i = 0; i < request.repetitions; i++) {
      const begun = process.hrtime.bigint();
      const candidates = fresh(row);
      const start = process.hrtime.bigint();
      for (let j = 0; j < request.chain.length; j++) await instance.apply(j, candidates);
      ns.push(Number(process.hrtime.bigint() - start));
      setup_ns.push(Number(start - begun));
    }
    return { ns, setup_ns };
  }

  /** An error of the engine refuses this input; an error of this file ends the process. */
  async answer(request) {
    if (!["hello", "run", "draws", "time"].includes(request.do)) {
      return { ok: false, kind: "unsupported", message: `no request ${request.do}` };
    }
    try {
      const reply = await this[request.do](request);
      await this.engine.done?.();
      return { ok: true, ...reply };
    } catch (error) {
      if (!(error instanceof Error) || error instanceof TypeError) throw error;
      await this.engine.done?.();
      const kind = error instanceof Unsupported ? "unsupported" : "rejected";
      return { ok: false, kind, message: error.message };
    }
  }
}

export async function serve(engine) {
  const service = new Service(engine);
  for await (const line of createInterface({ input: process.stdin, terminal: false })) {
    const request = JSON.parse(line);
    if (request.do === "bye") break;
    const reply = await service.answer(request);
    if ("number" in request) reply.number = request.number;
    process.stdout.write(JSON.stringify(reply) + "\n");
  }
  process.exit(0);
}
