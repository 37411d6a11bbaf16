// The token trie through bun:ffi: the runner of tsampler's TypeScript on the compiled library, no spy.
//
// `bun trie_ffi.ts LIBTRIE LIBLLAMA RUNNER`, which `python -m studies.trie_ffi` calls. Prints one line of JSON.
// Prompt and generation, which a vendor's library has, stand here: a row of logits that never changes, the
// sampler of a slot, its token accepted. What is set, cleared, applied and accepted is the library's.

import { dlopen, FFIType, ptr, type Pointer } from "bun:ffi";

const [LIBTRIE, LIBLLAMA, RUNNER] = process.argv.slice(2);
const { FfiStreamingRunner } = await import(RUNNER);
const P = FFIType.ptr, I32 = FFIType.i32;
const llama = dlopen(LIBLLAMA, {
  llama_sampler_init_greedy: { args: [], returns: P },
  llama_sampler_apply: { args: [P, P], returns: FFIType.void },
  llama_sampler_accept: { args: [P, I32], returns: FFIType.void },
  llama_sampler_name: { args: [P], returns: P },
  llama_sampler_free: { args: [P], returns: FFIType.void },
}).symbols;
const trie = dlopen(LIBTRIE, {
  token_trie_slot_init: { args: [P, P], returns: P },
  eliza_inference_set_token_trie: { args: [P, P, FFIType.u64, I32], returns: FFIType.void },
  eliza_inference_clear_token_trie: { args: [P], returns: FFIType.void },
}).symbols;

/** llama_token_data_array over rows of 12 bytes: id, logit, p. The likeliest token is `first`. */
class Candidates {
  data: DataView;
  array = new BigInt64Array(4); // data, size, selected, sorted
  rows: Uint8Array;
  fresh: Uint8Array;

  constructor(readonly n: number, first: number) {
    this.rows = new Uint8Array(12 * n);
    this.data = new DataView(this.rows.buffer);
    for (let id = 0; id < n; id++) {
      this.data.setInt32(12 * id, id, true);
      this.data.setFloat32(12 * id + 4, id === first ? 9 : -id / n, true);
    }
    this.fresh = this.rows.slice();
    this.array[0] = BigInt(ptr(this.rows));
  }

  begin() {
    this.rows.set(this.fresh);
    this.array[1] = BigInt(this.n);
    this.array[2] = -1n;
    this.array[3] = 0n;
  }

  token = () => this.data.getInt32(12 * Number(this.array[2]), true);
}

const slot = () => trie.token_trie_slot_init(null, llama.llama_sampler_init_greedy()) as Pointer;

/** The functions that the runner calls, each noted. */
function library(candidates: Candidates, calls: string[]) {
  const note = <T extends unknown[], R>(name: string, of: (...args: T) => R) => (...args: T) => {
    calls.push(name);
    return of(...args);
  };
  return {
    eliza_inference_llm_stream_prefill: note("prefill", (_h: Pointer, prompt: Int32Array) => prompt.length),
    eliza_inference_llm_stream_generate: note("generate", (handle: Pointer, n: number, _t: number, _p: number,
      onToken: (token: number, text: string, isDone: boolean) => void) => {
      for (let i = 0; i < n; i++) {
        candidates.begin();
        llama.llama_sampler_apply(handle, ptr(candidates.array));
        const token = candidates.token();
        llama.llama_sampler_accept(handle, token);
        onToken(token, "", i === n - 1);
      }
      return 0;
    }),
    eliza_inference_set_token_trie: note("set", (handle: Pointer, json: string, mode: number) => {
      const text = new TextEncoder().encode(json);
      trie.eliza_inference_set_token_trie(handle, ptr(text), text.length, mode);
    }),
    eliza_inference_clear_token_trie: note("clear", (handle: Pointer) => {
      trie.eliza_inference_clear_token_trie(handle);
    }),
  };
}

const PAYLOAD = { modelId: "m", descriptors: [{ path: "action", leaves: [
  { name: "THINK", tokens: [100, 101, 102] }, { name: "EXECUTE", tokens: [200, 201] }] }] };

/** Calls and tokens of a text with a trie, and of one behind it in the same slot without. */
async function texts(payload: unknown, maxTokens: number) {
  const handle = slot();
  const candidates = new Candidates(4096, 7);
  const seen: { calls: string[]; tokens: number[] }[] = [];
  for (const tokenTreePayload of [payload, undefined]) {
    const calls: string[] = [], tokens: number[] = [];
    const runner = new FfiStreamingRunner(library(candidates, calls), handle, (line: string) => calls.push(line));
    const args = { promptTokens: Int32Array.of(1, 2), slotId: 0, maxTokens, temperature: 0, topP: 1, tokenTreePayload };
    await runner.generate(args, (token: number) => { tokens.push(token); calls.push("token"); });
    seen.push({ calls, tokens });
  }
  llama.llama_sampler_free(handle);
  return seen;
}

const middle = (ns: number[]) => ns.sort((a, b) => a - b)[ns.length >> 1];

/** Medians in ns: a span of two tokens around set and clear, by step; a call that does nothing. */
function costs(n: number, spans: number) {
  const handle = slot(), candidates = new Candidates(n, 7);
  const text = new TextEncoder().encode(JSON.stringify(PAYLOAD));
  const nothing: number[] = [], steps: number[] = [], free: number[] = [], around: number[] = [];
  const step = (of: number[]) => {
    candidates.begin();
    const array = ptr(candidates.array);
    const start = Bun.nanoseconds();
    llama.llama_sampler_apply(handle, array);
    llama.llama_sampler_accept(handle, candidates.token());
    of.push(Bun.nanoseconds() - start);
  };
  for (let i = 0; i < spans; i++) {
    let start = Bun.nanoseconds();
    llama.llama_sampler_name(handle);
    nothing.push(Bun.nanoseconds() - start);
    start = Bun.nanoseconds();
    trie.eliza_inference_set_token_trie(handle, ptr(text), text.length, 0);
    const opened = Bun.nanoseconds() - start;
    step(steps);
    step(steps);
    start = Bun.nanoseconds();
    trie.eliza_inference_clear_token_trie(handle);
    around.push(opened + Bun.nanoseconds() - start);
    step(free);
  }
  llama.llama_sampler_free(handle);
  return { n, nothing: middle(nothing), step: middle(steps), set_and_clear: middle(around), no_trie: middle(free) };
}

const refused = { modelId: "m", descriptors: [] };
console.log(JSON.stringify({
  bun: Bun.version,
  trie: await texts(PAYLOAD, 5),
  refused: await texts(refused, 2),
  costs: [costs(4096, 20000), costs(128256, 2000)],
}));
process.exit(0);
