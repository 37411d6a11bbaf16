// A model for engines that take no logits: a GGUF file whose logits after any text are one row, to the bit.
//
// One block of llama's architecture whose matrices are all zero, so that a token's embedding, (4, 0, ..., 0) of 16
// numbers, comes through it unchanged. Its mean square is 1, so the norm without epsilon leaves it; the norm's
// weight 1/4 makes it (1, 0, ..., 0), and the output matrix has the row in its first column and zeros elsewhere.
// 1 * logit + 0 * 0 + ... is exact, infinities and NaN too; only -0.0 becomes 0. The vocabulary has no texts; if an
// engine needs texts, they are <0>, <1>, ..., and the last one ends a text.

import { writeFileSync } from "node:fs";

const WIDTH = 16;
const UINT32 = 4;
const FLOAT32 = 6;
const STRING = 8;
const ARRAY = 9;
const INT32 = 5;

class Bytes {
  parts = [];
  size = 0;

  add(buffer) {
    this.parts.push(buffer);
    this.size += buffer.length;
  }

  word(method, size, value) {
    const buffer = Buffer.alloc(size);
    buffer[method](value);
    this.add(buffer);
  }

  uint32 = (value) => this.word("writeUInt32LE", 4, value);
  uint64 = (value) => this.word("writeBigUInt64LE", 8, BigInt(value));
  float32 = (value) => this.word("writeFloatLE", 4, value);

  text(value) {
    const bytes = Buffer.from(value);
    this.uint64(bytes.length);
    this.add(bytes);
  }

  key(name, type, value) {
    this.text(name);
    this.uint32(type);
    this.value(type, value);
  }

  value(type, value) {
    if (type === STRING) this.text(value);
    else if (type === FLOAT32) this.float32(value);
    else if (type === ARRAY) this.array(...value);
    else this.uint32(value);
  }

  array(type, values) {
    this.uint32(type);
    this.uint64(values.length);
    for (const value of values) this.value(type, value);
  }

  pad() {
    this.add(Buffer.alloc((32 - (this.size % 32)) % 32));
  }
}

/** n columns (rows of numbers in the file) whose first number is `first(i)`, the others 0. */
function firstOf(n, first) {
  const values = new Float32Array(WIDTH * n);
  for (let i = 0; i < n; i++) values[WIDTH * i] = first(i);
  return values;
}

function tensorsOf(row) {
  const square = new Float32Array(WIDTH * WIDTH);
  const names = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"];
  return [
    ["token_embd.weight", [WIDTH, row.length], firstOf(row.length, () => 4)],
    ["output.weight", [WIDTH, row.length], firstOf(row.length, (i) => row[i])],
    ["output_norm.weight", [WIDTH], new Float32Array(WIDTH).fill(0.25)],
    ["blk.0.attn_norm.weight", [WIDTH], new Float32Array(WIDTH).fill(1)],
    ["blk.0.ffn_norm.weight", [WIDTH], new Float32Array(WIDTH).fill(1)],
    ...names.map((name) => [`blk.0.${name}.weight`, [WIDTH, WIDTH], square]),
  ];
}

const NO_TEXTS = [["tokenizer.ggml.model", STRING, "no_vocab"]];

function texts(n) {
  const of = (make) => Array.from({ length: n }, (_, i) => make(i));
  return [
    ["tokenizer.ggml.model", STRING, "gpt2"],
    ["tokenizer.ggml.pre", STRING, "gpt-2"],
    ["tokenizer.ggml.tokens", ARRAY, [STRING, of((i) => `<${i}>`)]],
    ["tokenizer.ggml.token_type", ARRAY, [INT32, of(() => 1)]],
    ["tokenizer.ggml.merges", ARRAY, [STRING, []]],
    ["tokenizer.ggml.bos_token_id", UINT32, n - 1],
    ["tokenizer.ggml.eos_token_id", UINT32, n - 1],
  ];
}

/** Writes the model of a row of logits, as many tokens as it has. */
export function writeModel(path, row, { nContext = 512, withTexts = false } = {}) {
  const keys = [
    ["general.architecture", STRING, "llama"],
    ["llama.context_length", UINT32, nContext],
    ["llama.embedding_length", UINT32, WIDTH],
    ["llama.block_count", UINT32, 1],
    ["llama.feed_forward_length", UINT32, WIDTH],
    ["llama.attention.head_count", UINT32, 1],
    ["llama.attention.layer_norm_rms_epsilon", FLOAT32, 0],
    ["llama.rope.dimension_count", UINT32, WIDTH],
    ["llama.vocab_size", UINT32, row.length],
    ...(withTexts ? texts(row.length) : NO_TEXTS),
  ];
  const tensors = tensorsOf(row);
  const head = new Bytes();
  head.add(Buffer.from("GGUF"));
  head.uint32(3);
  head.uint64(tensors.length);
  head.uint64(keys.length);
  for (const key of keys) head.key(...key);
  let offset = 0;
  for (const [name, dimensions, values] of tensors) {
    head.text(name);
    head.uint32(dimensions.length);
    for (const size of dimensions) head.uint64(size);
    head.uint32(0); // float32
    head.uint64(offset);
    offset += Math.ceil(values.byteLength / 32) * 32;
  }
  head.pad();
  for (const [, , values] of tensors) {
    head.add(Buffer.from(values.buffer));
    head.pad();
  }
  writeFileSync(path, Buffer.concat(head.parts));
}
