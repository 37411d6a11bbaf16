// `node main.js own|published`: the protocol (docs/reference/protocol.md) in front of the API, either
// our implementation of it or the package @lloyal-labs/tsampler where that is installed.

import { createInterface } from "node:readline";
import { Scratch } from "./scratch.js";
import { Api, Candidates, Parameters, Stage, STAGES, Unsupported } from "./stages.js";

const PACKAGE = "@lloyal-labs/tsampler";

const which = process.argv[2] ?? "own";
const api: Api = await load(which);
let scratch: Scratch | null = null;

async function load(name: string): Promise<Api> {
  if (name === "own") return import("../api/index.js");
  try {
    return (await import(PACKAGE)) as Api;
  } catch {
    console.error(`the package ${PACKAGE} is not installed`);
    process.exit(1);
  }
}

/** One chain in one state. */
class Instance {
  private readonly workspace = new api.SamplerWorkspace();

  constructor(readonly stages: Stage[]) {}

  apply(index: number, candidates: Candidates): void {
    this.stages[index].apply(candidates, this.workspace);
  }

  draw(candidates: Candidates, uniform: number): void {
    const last = this.stages[this.stages.length - 1];
    if (!last?.draw) throw new Unsupported("the last stage takes no uniform number");
    last.draw(candidates, this.workspace, uniform);
  }

  accept(token: number): void {
    for (const stage of this.stages) stage.accept?.(token);
  }

  reset(): void {
    for (const stage of this.stages) stage.reset?.();
  }

  clone(): Instance {
    return new Instance(this.stages.map((stage) => stage.clone?.() ?? stage));
  }
}

type Chain = Array<Record<string, Parameters>>;

function build(chain: Chain, history: number[]): Instance {
  const stages = chain.map((stage) => {
    const [name, parameters] = Object.entries(stage)[0];
    if (!(name in STAGES)) throw new Unsupported(`no sampler ${name}`);
    return STAGES[name](api, numbers(parameters) as Parameters);
  });
  const instance = new Instance(stages);
  for (const token of history) instance.accept(token);
  return instance;
}

/** Reads the strings that stand for NaN and infinities, which JSON lacks. */
function numbers(value: unknown): unknown {
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (value === "nan") return NaN;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, numbers(item)]));
}

function fresh(row: Float32Array): Candidates {
  return { logits: row.slice(), set: null, nativeP: new Float32Array(row.length), selected: -1 };
}

/** Whether p is reported as the sets hold it, or as llama.cpp would keep it. */
const speaksTsampler = (chain: Chain): boolean =>
  chain.some((stage) => Object.keys(stage)[0].startsWith("tsampler"));

function write(at: number, c: Candidates, own: boolean): [Record<string, unknown>, number] {
  const n = c.set?.count ?? c.logits.length;
  const ids = Int32Array.from({ length: n }, (_, i) => c.set?.indices[i] ?? i);
  const logits = (c.set?.logits ?? c.logits).slice(0, n);
  const p = own
    ? (c.set?.probs.slice(0, n) ?? new Float32Array(n))
    : Float32Array.from(ids, (id) => c.nativeP[id]);
  let end = scratch!.write(at, ids);
  end = scratch!.write(end, logits);
  end = scratch!.write(end, p);
  return [{ at, n, sorted: null, selected: c.selected < 0 ? -1 : ids.indexOf(c.selected) }, end];
}

function run(request: any): object {
  const { rows, chain, history, steps, detail } = request;
  const row = (i: number): Float32Array => scratch!.floats(rows.at + 4 * rows.n * i, rows.n);
  const instances = Array.from({ length: request.instances }, () => build(chain, history));
  const tokens: Array<number | null> = [];
  const stages: object[][] = [];
  let at: number = request.out;
  let ns = 0n;
  for (const step of steps) {
    for (const [operation, index] of step.before) {
      if (operation === "reset") instances[index].reset();
      else instances.push(instances[index].clone());
    }
    const instance = instances[step.instance];
    const candidates = fresh(row(step.row));
    const results: object[] = [];
    for (let i = 0; i < chain.length; i++) {
      const start = process.hrtime.bigint();
      instance.apply(i, candidates);
      ns += process.hrtime.bigint() - start;
      if (detail !== "stages") continue;
      const [result, end] = write(at, candidates, speaksTsampler(chain));
      results.push(result);
      at = end;
    }
    const token = candidates.selected < 0 ? null : candidates.selected;
    tokens.push(token);
    if (detail === "stages") stages.push(results);
    const accepted = step.accept === "selected" ? token : step.accept;
    if (accepted !== null) instance.accept(accepted);
  }
  return { ok: true, tokens, stages, ns: Number(ns) };
}

function draws(request: any): object {
  const { rows, chain, n, out, filters_once = false, uniforms = null } = request;
  const row = scratch!.floats(rows.at, rows.n);
  const instance = build(chain, request.history);
  const given = uniforms === null ? null : scratch!.doubles(uniforms, n);
  const tokens = new Int32Array(n);
  const last = chain.length - 1;
  let candidates = fresh(row);
  const start = process.hrtime.bigint();
  for (let i = 0; i < n; i++) {
    if (i > 0 && !filters_once) candidates = fresh(row);
    for (let j = i > 0 && filters_once ? last : 0; j < last; j++) instance.apply(j, candidates);
    if (given === null) instance.apply(last, candidates);
    else instance.draw(candidates, given[i]);
    tokens[i] = candidates.selected;
  }
  const ns = process.hrtime.bigint() - start;
  scratch!.write(out, tokens);
  return { ok: true, ns: Number(ns) };
}

function time(request: any): object {
  const { rows, chain, repetitions } = request;
  const row = scratch!.floats(rows.at, rows.n);
  const instance = build(chain, request.history);
  const ns: number[] = [];
  const setup: number[] = [];
  for (let i = 0; i < repetitions; i++) {
    const begun = process.hrtime.bigint();
    const candidates = fresh(row);
    const start = process.hrtime.bigint();
    for (let j = 0; j < chain.length; j++) instance.apply(j, candidates);
    ns.push(Number(process.hrtime.bigint() - start));
    setup.push(Number(start - begun));
  }
  return { ok: true, ns, setup_ns: setup };
}

function hello(request: any): object {
  scratch = new Scratch(request.scratch);
  return {
    ok: true,
    protocol: 1,
    name: which === "own" ? "tsampler (own implementation of its documentation)" : PACKAGE,
    version: which === "own" ? "0.1.0" : "published",
    build: `Node.js ${process.versions.node}, V8 ${process.versions.v8}`,
    device: "cpu",
    capabilities: ["run", "draws", "time", "uniforms"],
    samplers: Object.keys(STAGES),
    arithmetic: { sums: "float64", summation: "sequential", exp_ulps: 1 }, // rounded as it is stored
  };
}

const ANSWERS: Record<string, (request: any) => object> = { hello, run, draws, time };

/** An error of the API refuses this input; an error of the adapter ends the process. */
function answer(request: any): object {
  const reply = ANSWERS[request.do];
  if (reply === undefined) return { ok: false, kind: "unsupported", message: request.do };
  try {
    return reply(request);
  } catch (error) {
    if (error instanceof TypeError || !(error instanceof Error)) throw error;
    const kind = error instanceof Unsupported ? "unsupported" : "rejected";
    return { ok: false, kind, message: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin, terminal: false })) {
  const request = JSON.parse(line);
  if (request.do === "bye") break;
  process.stdout.write(JSON.stringify(answer(request)) + "\n");
}
