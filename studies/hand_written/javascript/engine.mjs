// A token sampler in plain JavaScript, spoken to by the adapter protocol, version 2.
//
// Numbers are float64 from the row of logits to the draw; only what is written to the scratch file is rounded to
// float32. Parameters are the JSON numbers as they come. Random numbers are the engine's own: xoshiro128**.
//
// MISTAKE=name plants one known mistake (see mistakes.toml). Without it the engine is meant to be right.

import fs from "node:fs";
import readline from "node:readline";

const MISTAKE = process.env.MISTAKE ?? "";

const RANDOM_SEED = 4294967295; // llama.cpp's LLAMA_DEFAULT_SEED: take a random seed

class Refusal extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}
const unsupported = (message) => new Refusal("unsupported", message);
const rejected = (message) => new Refusal("rejected", message);

/** A number of the protocol: JSON has no infinities, so these come as strings. */
function number(value, otherwise) {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === "number") return value;
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (value === "nan") return NaN;
  throw rejected(`not a number: ${JSON.stringify(value)}`);
}

const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// ---------------------------------------------------------------------------------------------------------------------
// Random numbers

/** xoshiro128**, its state filled from the seed by splitmix32. The stream keeps the samplers of a chain apart. */
class Generator {
  constructor(seed, stream) {
    const mix = (x) => {
      let z = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
      return (z ^ (z >>> 15)) >>> 0;
    };
    const start = mix((seed ^ Math.imul(stream, 0x85ebca6b)) >>> 0);
    this.state = [1, 2, 3, 4].map((k) => mix((start + Math.imul(k, 0x9e3779b9)) >>> 0));
  }

  word() {
    const s = this.state;
    const product = Math.imul(s[1], 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    const t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 11) | (s[3] >>> 21);
    return result;
  }

  /** Uniform in (0, 1], 53 bits. Without 0 no token of probability 0 can be drawn. */
  uniform() {
    const high = this.word() >>> 5;
    const low = this.word() >>> 6;
    return (high * 67108864 + low + 1) / 9007199254740992;
  }

  clone() {
    const copy = Object.create(Generator.prototype);
    copy.state = this.state.slice();
    return copy;
  }
}

const STREAMS = { dist: 1, xtc: 2, mirostat: 3, mirostat_v2: 4, adaptive_p: 5 };

function newGenerator(seed, sampler) {
  const chosen = seed === RANDOM_SEED ? Math.floor(Math.random() * 4294967296) : seed;
  return new Generator(chosen, STREAMS[sampler]);
}

// ---------------------------------------------------------------------------------------------------------------------
// Candidates

class Candidates {
  constructor(row) {
    const n = row.length;
    this.ids = Array.from({ length: n }, (_, i) => i);
    this.logits = Array.from(row);
    this.p = new Array(n).fill(0);
    this.sorted = false;
    this.selected = -1;
  }

  get size() {
    return this.ids.length;
  }

  copy() {
    const c = Object.create(Candidates.prototype);
    return Object.assign(c, this, { ids: this.ids.slice(), logits: this.logits.slice(), p: this.p.slice() });
  }

  /** Keep the candidates at these places, in this order. */
  take(places) {
    this.ids = places.map((i) => this.ids[i]);
    this.logits = places.map((i) => this.logits[i]);
    this.p = places.map((i) => this.p[i]);
  }

  /** Keep the places begin .. end - 1. */
  slice(begin, end) {
    this.ids = this.ids.slice(begin, end);
    this.logits = this.logits.slice(begin, end);
    this.p = this.p.slice(begin, end);
  }

  /** Sort by descending logit. Equal logits keep their order. */
  sort() {
    if (this.sorted) return;
    const logits = this.logits;
    if (logits.some(Number.isNaN)) throw rejected("a logit is NaN and cannot be sorted");
    const places = logits.map((_, i) => i);
    places.sort((a, b) => (logits[a] < logits[b] ? 1 : logits[a] > logits[b] ? -1 : 0));
    this.take(places);
    this.sorted = true;
  }

  softmax() {
    this.p = softmax(this.logits);
  }
}

const largest = (values) => values.reduce((best, x) => (x > best ? x : best), -Infinity);

function softmax(logits) {
  const top = largest(logits);
  let sum = 0;
  const weights = logits.map((x) => {
    const weight = Math.exp(x - top);
    sum += weight;
    return weight;
  });
  return weights.map((weight) => weight / sum);
}

function runningSums(weights) {
  let sum = 0;
  return weights.map((weight) => (sum += weight));
}

/** Draw a place from probabilities, as a lower bound in their running sums. */
function drawFrom(p, generator) {
  if (p.length === 1) return 0;
  const sums = runningSums(p);
  const target = generator.uniform() * sums[sums.length - 1];
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle] < target) low = middle + 1;
    else high = middle;
  }
  return low;
}

function notEmpty(c, name) {
  if (c.size === 0) throw rejected(`${name} has no candidates`);
}

/** Divide by the temperature; 0 and below leave only the first of the largest logits. */
function scale(c, temperature) {
  if (!(temperature <= 0)) {
    c.logits = c.logits.map((x) => x / temperature);
    return;
  }
  let best = 0;
  c.logits.forEach((x, i) => {
    if (x > c.logits[best]) best = i;
  });
  c.logits = c.logits.map((x, i) => (i === best ? x : -Infinity));
}

// ---------------------------------------------------------------------------------------------------------------------
// Samplers

/** A sampler without memory: nothing to accept or to reset, and a clone may share it. */
class Sampler {
  accept() {}
  reset() {}
  clone() {
    return this;
  }
}

class TopK extends Sampler {
  constructor(given) {
    super();
    this.k = number(given.k);
  }

  apply(c) {
    if (this.k <= 0 || c.size === 0) return;
    c.sort();
    c.slice(0, this.k);
  }
}

class TopP extends Sampler {
  constructor(given) {
    super();
    this.threshold = number(given.p);
    this.minKeep = number(given.min_keep, 0);
  }

  apply(c) {
    if (this.threshold >= 1) return;
    notEmpty(c, "top_p");
    c.sort();
    c.softmax();
    const least = Math.max(this.minKeep, 1);
    let mass = 0;
    let i = 0;
    while (i < c.size && !(mass >= this.threshold && i >= least)) {
      mass += c.p[i];
      i += 1;
    }
    // i is the number of tokens that were added up
    if (MISTAKE === "top-p-one-too-many") {
      c.slice(0, mass >= this.threshold ? i + 1 : i);
    } else {
      c.slice(0, i);
    }
  }
}

class MinP extends Sampler {
  constructor(given) {
    super();
    this.ratio = number(given.p);
    this.minKeep = number(given.min_keep, 0);
    if (MISTAKE === "min-p-ignores-min-keep") this.minKeep = 0;
  }

  apply(c) {
    if (this.ratio <= 0 || c.size === 0) return;
    if (!c.sorted) {
      const threshold = largest(c.logits) + Math.log(this.ratio);
      const passing = [];
      if (threshold !== -Infinity) {
        c.logits.forEach((x, i) => {
          if (x >= threshold) passing.push(i);
        });
      }
      if (passing.length > 0 && passing.length >= this.minKeep) {
        c.take(passing);
        return;
      }
    }
    c.sort();
    const threshold = c.logits[0] + Math.log(this.ratio);
    let end = 1;
    while (end < c.size && !(c.logits[end] < threshold && end >= this.minKeep)) end += 1;
    c.slice(0, end);
  }
}

class TypicalP extends Sampler {
  constructor(given) {
    super();
    this.threshold = number(given.p);
    this.minKeep = number(given.min_keep, 0);
  }

  apply(c) {
    if (this.threshold >= 1) return;
    notEmpty(c, "typical_p");
    c.sort();
    c.softmax();
    const logOf = MISTAKE === "typical-entropy-in-bits" ? Math.log2 : Math.log;
    // A probability of 0 makes the entropy NaN, as the specification has it; every distance is then equal.
    const entropy = c.p.reduce((sum, p) => sum - p * logOf(p), 0);
    const distance = c.p.map((p) => Math.abs(-Math.log(p) - entropy));
    const places = distance.map((_, i) => i);
    places.sort((a, b) => (distance[a] < distance[b] ? -1 : distance[a] > distance[b] ? 1 : 0));
    let mass = 0;
    let end = c.size;
    for (let i = 0; i < c.size; i++) {
      mass += c.p[places[i]];
      if (mass > this.threshold && i + 1 >= this.minKeep) {
        end = i + 1;
        break;
      }
    }
    c.take(places.slice(0, end));
    c.sorted = false;
  }
}

class Temp extends Sampler {
  constructor(given) {
    super();
    this.temperature = number(given.temp);
  }

  apply(c) {
    if (c.size > 0 && this.temperature !== 1) scale(c, this.temperature);
  }
}

class TempExt extends Sampler {
  constructor(given) {
    super();
    this.temperature = number(given.temp);
    this.delta = number(given.delta, 0);
    this.exponent = number(given.exponent, 1);
  }

  apply(c) {
    if (!(this.delta > 0)) {
      if (c.size > 0 && this.temperature !== 1) scale(c, this.temperature);
      return;
    }
    if (c.size <= 1) return;
    const low = MISTAKE === "temp-ext-low-end-below-zero"
      ? this.temperature - this.delta
      : Math.max(0, this.temperature - this.delta);
    const high = this.temperature + this.delta;
    c.sort();
    c.softmax();
    let entropy = 0;
    for (const p of c.p) if (p > 0) entropy -= p * Math.log(p);
    const normalized = entropy / Math.log(c.size);
    scale(c, low + (high - low) * normalized ** this.exponent);
    c.softmax();
  }
}

class Xtc extends Sampler {
  constructor(given) {
    super();
    this.probability = number(given.p);
    this.threshold = number(given.t);
    this.minKeep = number(given.min_keep, 0);
    this.seed = number(given.seed, RANDOM_SEED);
    this.reset();
  }

  apply(c) {
    if (this.probability <= 0 || this.threshold > 0.5 || c.size < 2) return;
    if (this.generator.uniform() > this.probability) return;
    c.sort();
    c.softmax();
    const threshold = MISTAKE === "xtc-threshold-relative-to-top" ? this.threshold * c.p[0] : this.threshold;
    let tops = 0;
    while (tops < c.size && c.p[tops] >= threshold) tops += 1;
    const removed = tops - 1; // the least likely top token stays
    if (removed > 0 && c.size - removed >= this.minKeep) c.slice(removed, c.size);
  }

  reset() {
    this.generator = newGenerator(this.seed, "xtc");
  }

  clone() {
    return Object.assign(Object.create(Xtc.prototype), this, { generator: this.generator.clone() });
  }
}

class TopNSigma extends Sampler {
  constructor(given) {
    super();
    this.n = number(given.n);
  }

  apply(c) {
    if (this.n <= 0 || c.size <= 1) return;
    const top = largest(c.logits);
    const possible = c.logits.filter((x) => x !== -Infinity);
    if (possible.length === 0) return;
    const mean = possible.reduce((sum, x) => sum + x, 0) / possible.length;
    const squares = possible.reduce((sum, x) => sum + (x - mean) * (x - mean), 0);
    const divisor = MISTAKE === "sigma-sample-deviation" ? Math.max(possible.length - 1, 1) : possible.length;
    const threshold = top - this.n * Math.sqrt(squares / divisor);
    c.logits = c.logits.map((x) => (x < threshold ? -Infinity : x));
  }
}

class Penalties extends Sampler {
  constructor(given) {
    super();
    this.window = Math.max(number(given.penalty_last_n, 64), 0);
    this.repeat = number(given.penalty_repeat, 1);
    this.frequency = number(given.penalty_freq, 0);
    this.presence = number(given.penalty_present, 0);
    this.recent = [];
  }

  apply(c) {
    const off = this.repeat === 1 && this.frequency === 0 && this.presence === 0;
    if (this.window === 0 || off || c.size === 0) return;
    const counts = new Map();
    for (const token of this.recent) counts.set(token, (counts.get(token) ?? 0) + 1);
    c.logits = c.logits.map((logit, i) => {
      const count = counts.get(c.ids[i]);
      if (count === undefined) return logit;
      const repeated = logit <= 0 ? logit * this.repeat : logit / this.repeat;
      if (MISTAKE === "penalties-presence-times-count") return repeated - count * (this.frequency + this.presence);
      return repeated - (count * this.frequency + this.presence);
    });
    c.sorted = false;
  }

  accept(token) {
    if (this.window === 0) return;
    this.recent.push(token);
    if (this.recent.length > this.window) this.recent.shift();
  }

  reset() {
    this.recent = [];
  }

  clone() {
    const copy = Object.assign(Object.create(Penalties.prototype), this);
    if (MISTAKE !== "penalties-clone-shares-history") copy.recent = this.recent.slice();
    return copy;
  }
}

class LogitBias extends Sampler {
  constructor(given) {
    super();
    this.biases = (given.logit_bias ?? []).map(([token, bias]) => ({ token, bias: number(bias) }));
  }

  apply(c) {
    if (MISTAKE === "bias-by-position") {
      for (const { token, bias } of this.biases) {
        if (token >= 0 && token < c.size) c.logits[token] += bias;
      }
      return;
    }
    // A token in its own place gets every bias that names it, any other only the first.
    const elsewhere = new Map();
    for (const { token, bias } of this.biases) {
      if (token >= 0 && token < c.size && c.ids[token] === token) c.logits[token] += bias;
      else if (!elsewhere.has(token)) elsewhere.set(token, bias);
    }
    if (elsewhere.size === 0) return;
    c.ids.forEach((id, i) => {
      if (elsewhere.has(id)) c.logits[i] += elsewhere.get(id);
    });
  }
}

class Dry extends Sampler {
  constructor(given) {
    super();
    this.multiplier = number(given.dry_multiplier, 0);
    this.base = number(given.dry_base, 1.75);
    this.allowed = number(given.dry_allowed_length, 2);
    this.window = Math.max(number(given.dry_penalty_last_n, 64), 0);
    this.enabled = this.multiplier !== 0 && !(this.base < 1) && this.window > 0;
    this.breakers = (given.seq_breakers ?? []).filter((breaker) => breaker !== null && breaker.length > 0);
    if (this.enabled && this.breakers.some((breaker) => typeof breaker === "string")) {
      throw unsupported("sequence breakers as strings: this engine reads no vocabulary");
    }
    this.single = new Set(this.breakers.filter((breaker) => breaker.length === 1).map((breaker) => breaker[0]));
    this.recent = [];
  }

  /** How many of the last tokens stand behind the last sequence breaker. */
  tokensSinceBreaker() {
    const text = this.recent;
    for (let back = 0; back < text.length; back++) {
      const head = text.length - 1 - back;
      let longest = 0;
      for (const breaker of this.breakers) {
        if (breaker.length <= back + 1 && breaker.every((token, k) => token === text[head + k])) {
          longest = Math.max(longest, breaker.length);
        }
      }
      if (longest > 0) {
        if (MISTAKE === "dry-breaker-counts") return back - (longest - 1) + 1;
        return back - (longest - 1);
      }
    }
    return text.length;
  }

  /** lengths[k]: how many tokens before the last k equal the last tokens (the Z function of the reversed text). */
  repeatLengths() {
    const text = this.recent.slice().reverse();
    const n = text.length;
    const lengths = new Array(n).fill(0);
    let left = 0;
    let right = 0; // the box [left, right) with the furthest end
    for (let k = 1; k < n; k++) {
      let length = k < right ? Math.min(right - k, lengths[k - left]) : 0;
      while (k + length < n && text[length] === text[k + length]) length += 1;
      lengths[k] = length;
      if (k + length > right) {
        left = k;
        right = k + length;
      }
    }
    return lengths;
  }

  apply(c) {
    if (!this.enabled || c.size === 0) return;
    const n = this.recent.length;
    if (n <= this.allowed) return;
    const limit = this.tokensSinceBreaker();
    if (limit < this.allowed) return;

    // The token behind each earlier copy, oldest copy first.
    const longest = new Map();
    const lengths = this.repeatLengths();
    for (let k = n - 1; k >= 1; k--) {
      const length = Math.min(lengths[k], limit);
      if (length < this.allowed) continue;
      const next = this.recent[n - k];
      if (MISTAKE === "dry-latest-copy-wins" || length > (longest.get(next) ?? -1)) longest.set(next, length);
    }

    const largestExponent = this.base > 1.000001 ? Math.floor(88.7228391 / Math.log(this.base)) : 0;
    c.logits = c.logits.map((logit, i) => {
      const length = longest.get(c.ids[i]);
      if (length === undefined || this.single.has(c.ids[i])) return logit;
      let exponent = length - this.allowed;
      if (largestExponent > 0) exponent = Math.min(exponent, largestExponent);
      return logit - this.multiplier * this.base ** exponent;
    });
    c.sorted = false;
  }

  accept(token) {
    if (!this.enabled) return;
    this.recent.push(token);
    if (this.recent.length > this.window) this.recent.shift();
  }

  reset() {
    this.recent = [];
  }

  clone() {
    return Object.assign(Object.create(Dry.prototype), this, { recent: this.recent.slice() });
  }
}

class Greedy extends Sampler {
  apply(c) {
    notEmpty(c, "greedy");
    let best = 0;
    for (let i = 1; i < c.size; i++) if (c.logits[i] > c.logits[best]) best = i;
    c.selected = best;
  }
}

class Dist extends Sampler {
  constructor(given) {
    super();
    this.seed = number(given.seed, RANDOM_SEED);
    this.reset();
  }

  apply(c) {
    c.selected = -1;
    if (c.size === 0) return;
    c.selected = this.place(this.prepare(c));
  }

  /** Write the probabilities; return the running sums that a draw needs. */
  prepare(c) {
    const top = largest(c.logits);
    const weights = c.logits.map((x) => Math.exp(x - top));
    const sums = runningSums(weights);
    const total = sums[sums.length - 1];
    c.p = weights.map((weight) => weight / total);
    return sums;
  }

  /** The first place whose running sum reaches the number drawn, or the last one. */
  place(sums) {
    const target = this.generator.uniform() * sums[sums.length - 1];
    let low = 0;
    let high = sums.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] >= target) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  reset() {
    this.generator = newGenerator(this.seed, "dist");
  }

  clone() {
    return Object.assign(Object.create(Dist.prototype), this, { generator: this.generator.clone() });
  }
}

class Mirostat extends Sampler {
  constructor(given, nVocab) {
    super();
    this.seed = number(given.seed, RANDOM_SEED);
    this.tau = number(given.tau, 5);
    this.eta = number(given.eta, 0.1);
    this.m = number(given.m, 100);
    this.nVocab = number(given.n_vocab, nVocab);
    this.reset();
  }

  /** The exponent of the Zipf law that fits the most likely tokens. */
  zipfExponent(p) {
    const pairs = this.m > 0 ? Math.min(this.m, p.length) - 1 : p.length - 1;
    let products = 0;
    let squares = 0;
    for (let i = 0; i < pairs; i++) {
      const t = Math.log((i + 2) / (i + 1));
      const b = Math.log(p[i] / p[i + 1]);
      products += t * b;
      squares += t * t;
    }
    return products / squares;
  }

  apply(c) {
    notEmpty(c, "mirostat");
    c.sort();
    c.softmax();
    const s = this.zipfExponent(c.p);
    const e = s - 1;
    const k = ((e * 2 ** this.mu) / (1 - this.nVocab ** -e)) ** (1 / s);
    // A k that is no int32 counts as 1, as the specification has it.
    const keep = k >= 1 && k < 2147483648 ? Math.floor(k) : 1;
    c.slice(0, keep);
    c.softmax();
    c.selected = drawFrom(c.p, this.generator);
    const logOf = MISTAKE === "mirostat-surprise-in-nats" ? Math.log : Math.log2;
    this.mu -= this.eta * (-logOf(c.p[c.selected]) - this.tau);
  }

  reset() {
    this.mu = 2 * this.tau;
    this.generator = newGenerator(this.seed, "mirostat");
  }

  clone() {
    return Object.assign(Object.create(Mirostat.prototype), this, { generator: this.generator.clone() });
  }
}

class MirostatV2 extends Sampler {
  constructor(given) {
    super();
    this.seed = number(given.seed, RANDOM_SEED);
    this.tau = number(given.tau, 5);
    this.eta = number(given.eta, 0.1);
    this.reset();
  }

  apply(c) {
    notEmpty(c, "mirostat_v2");
    c.sort();
    c.softmax();
    const before = c.p;
    let keep = c.p.findIndex((p) => -Math.log2(p) > this.mu);
    if (keep < 0) keep = c.size;
    c.slice(0, Math.max(keep, 1));
    c.softmax();
    c.selected = drawFrom(c.p, this.generator);
    const p = MISTAKE === "mirostat-v2-surprise-before-cut" ? before[c.selected] : c.p[c.selected];
    this.mu -= this.eta * (-Math.log2(p) - this.tau);
  }

  reset() {
    this.mu = 2 * this.tau;
    this.generator = newGenerator(this.seed, "mirostat_v2");
  }

  clone() {
    return Object.assign(Object.create(MirostatV2.prototype), this, { generator: this.generator.clone() });
  }
}

class AdaptiveP extends Sampler {
  static WIDTH = 0.3;
  static PEAK = 5;
  static SHARPNESS = 10;

  constructor(given) {
    super();
    this.target = number(given.target);
    this.decay = clamp(number(given.decay, 0.9), 0, 0.99);
    this.seed = number(given.seed, RANDOM_SEED);
    this.reset();
  }

  adaptedTarget() {
    const target = clamp(this.target, 0, 1);
    if (this.totalWeight === 0) return target;
    return clamp(2 * target - this.weightedSum / this.totalWeight, 0, 1);
  }

  apply(c) {
    notEmpty(c, "adaptive_p");
    c.softmax();
    if (this.target < 0) {
      c.selected = drawFrom(c.p, this.generator);
      return;
    }
    const original = c.p;
    const target = this.adaptedTarget();
    c.logits = c.logits.map((logit, i) => {
      if (logit === -Infinity) return logit;
      const distance = Math.abs(original[i] - target) / AdaptiveP.WIDTH;
      return AdaptiveP.PEAK - (AdaptiveP.SHARPNESS * distance * distance) / (1 + distance);
    });
    c.softmax();
    c.selected = drawFrom(c.p, this.generator);
    this.drawn = { token: c.ids[c.selected], p: original[c.selected] };
  }

  accept(token) {
    const drawn = this.drawn;
    this.drawn = null;
    if (drawn === null || drawn.token !== token) return;
    if (drawn.p === null) throw rejected("adaptive_p: a clone made between draw and accept has lost the probability");
    this.weightedSum = drawn.p + this.decay * this.weightedSum;
    this.totalWeight = 1 + this.decay * this.totalWeight;
  }

  reset() {
    // As if the whole history had met the target: the limits of both sums.
    if (MISTAKE === "adaptive-starts-empty") {
      this.weightedSum = 0;
      this.totalWeight = 0;
    } else {
      this.weightedSum = this.target / (1 - this.decay);
      this.totalWeight = 1 / (1 - this.decay);
    }
    this.drawn = null;
    this.generator = newGenerator(this.seed, "adaptive_p");
  }

  clone() {
    // The stream begins again and the probability of a pending draw is lost, as documented.
    return Object.assign(Object.create(AdaptiveP.prototype), this, {
      drawn: this.drawn && { token: this.drawn.token, p: null },
      generator: newGenerator(this.seed, "adaptive_p"),
    });
  }
}

const SAMPLERS = {
  top_k: TopK,
  top_p: TopP,
  min_p: MinP,
  typical_p: TypicalP,
  temp: Temp,
  temp_ext: TempExt,
  xtc: Xtc,
  top_n_sigma: TopNSigma,
  penalties: Penalties,
  logit_bias: LogitBias,
  dry: Dry,
  greedy: Greedy,
  dist: Dist,
  mirostat: Mirostat,
  mirostat_v2: MirostatV2,
  adaptive_p: AdaptiveP,
};

class Chain {
  constructor(stages) {
    this.stages = stages;
  }

  static build(specification, nVocab, history) {
    const stages = specification.map((stage) => {
      const [name, given] = Object.entries(stage)[0];
      if (!Object.hasOwn(SAMPLERS, name)) throw unsupported(`no sampler ${name}`);
      return new SAMPLERS[name](given ?? {}, nVocab);
    });
    const chain = new Chain(stages);
    for (const token of history) chain.accept(token);
    return chain;
  }

  /** Apply every stage; show is called after each. */
  apply(c, show = () => {}) {
    for (const stage of this.stages) {
      stage.apply(c);
      show(c);
    }
  }

  accept(token) {
    for (const stage of this.stages) stage.accept(token);
  }

  reset() {
    for (const stage of this.stages) stage.reset();
  }

  clone() {
    return new Chain(this.stages.map((stage) => stage.clone()));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Protocol

let scratch = -1;

function readRow(rows, index) {
  if ((rows.dtype ?? "float32") !== "float32") throw unsupported(`rows of ${rows.dtype}`);
  const bytes = new Uint8Array(rows.n * 4);
  let done = 0;
  while (done < bytes.length) {
    const got = fs.readSync(scratch, bytes, done, bytes.length - done, rows.at + index * bytes.length + done);
    if (got === 0) throw new Error("a row lies beyond the scratch file");
    done += got;
  }
  return new Float32Array(bytes.buffer);
}

function writeBytes(bytes, at) {
  let done = 0;
  while (done < bytes.length) done += fs.writeSync(scratch, bytes, done, bytes.length - done, at + done);
}

/** Writes candidates one stage behind the other from the offset on. */
class StageWriter {
  constructor(at) {
    this.at = at;
  }

  write(c) {
    const n = c.size;
    const buffer = new ArrayBuffer(12 * n);
    new Int32Array(buffer, 0, n).set(c.ids);
    new Float32Array(buffer, 4 * n, n).set(c.logits);
    new Float32Array(buffer, 8 * n, n).set(c.p);
    writeBytes(new Uint8Array(buffer), this.at);
    const result = { at: this.at, n, sorted: c.sorted, selected: c.selected };
    this.at += buffer.byteLength;
    return result;
  }
}

/** Sample one row with one chain and accept a token. */
function sample(chain, logits, accept, writer) {
  const c = new Candidates(logits);
  const stages = [];
  chain.apply(c, (now) => writer && stages.push(writer.write(now)));
  const token = c.selected >= 0 ? c.ids[c.selected] : null;
  const accepted = accept === "selected" ? token : accept;
  if (accepted !== null) chain.accept(accepted);
  return { token, stages };
}

function hello(request) {
  if (request.protocol !== 2) throw unsupported(`protocol ${request.protocol}`);
  scratch = fs.openSync(request.scratch, "r+");
  return {
    protocol: 2,
    name: "plain-js",
    version: "1",
    build: `node ${process.versions.node}`,
    device: "cpu",
    capabilities: ["run", "draws", "batch", "no_vocab"],
    samplers: Object.keys(SAMPLERS),
    dtypes: ["float32"],
    arithmetic: {
      logits: "float64",
      probabilities: "float64",
      sums: "float64",
      summation: "sequential",
      exp_ulps: 2,
      stable_sort: true,
      flushes_subnormals: false,
    },
    random: "own",
  };
}

function run(request) {
  const { rows, n_vocab: nVocab, history = [], detail = "stages" } = request;
  const chains = Array.from({ length: request.instances ?? 1 }, () => Chain.build(request.chain, nVocab, history));
  const writer = detail === "stages" ? new StageWriter(request.out) : null;
  const tokens = [];
  const stages = [];
  for (const step of request.steps) {
    for (const [operation, i] of step.before ?? []) {
      if (operation === "reset") chains[i].reset();
      else if (operation === "clone") chains.push(chains[i].clone());
      else throw unsupported(`operation ${operation}`);
    }
    const accept = step.accept === undefined ? "selected" : step.accept;
    const result = sample(chains[step.instance ?? 0], readRow(rows, step.row), accept, writer);
    tokens.push(result.token);
    stages.push(result.stages);
  }
  return writer ? { tokens, stages, ns: 0 } : { tokens, ns: 0 };
}

function batch(request) {
  const { rows, n_vocab: nVocab, sequences, detail = "stages" } = request;
  const writer = detail === "stages" ? new StageWriter(request.out) : null;
  const live = [];
  const operations = {
    join(s) {
      const { chain, prompt = [], output = [] } = sequences[s];
      live.push(Chain.build(chain, nVocab, [...prompt, ...output]));
    },
    leave: (i) => live.splice(i, 1),
    clone: (i) => live.push(live[i].clone()),
    swap: (i, j) => ([live[i], live[j]] = [live[j], live[i]]),
    reset: (i) => live[i].reset(),
  };
  const tokens = [];
  const stages = [];
  for (const step of request.steps) {
    for (const [operation, ...places] of step.before ?? []) {
      if (!Object.hasOwn(operations, operation)) throw unsupported(`operation ${operation}`);
      operations[operation](...places);
    }
    const results = (step.sample ?? []).map(({ at, row, accept }) =>
      sample(live[at], readRow(rows, row), accept === undefined ? "selected" : accept, writer));
    tokens.push(results.map((result) => result.token));
    stages.push(results.map((result) => result.stages));
  }
  return writer ? { tokens, stages, ns: 0 } : { tokens, ns: 0 };
}

function draws(request) {
  const { rows, n_vocab: nVocab, history = [], n } = request;
  const chain = Chain.build(request.chain, nVocab, history);
  const row = readRow(rows, 0);
  const tokens = new Int32Array(n);
  const drawn = (c) => {
    if (c.selected < 0) throw rejected("the chain selects no token");
    return c.ids[c.selected];
  };
  const last = chain.stages.at(-1);
  if (request.filters_once && last) {
    const filtered = new Candidates(row);
    new Chain(chain.stages.slice(0, -1)).apply(filtered);
    if (last instanceof Dist && filtered.size > 0) {
      const sums = last.prepare(filtered);
      for (let i = 0; i < n; i++) tokens[i] = filtered.ids[last.place(sums)];
    } else {
      for (let i = 0; i < n; i++) {
        const c = filtered.copy();
        last.apply(c);
        tokens[i] = drawn(c);
      }
    }
  } else {
    for (let i = 0; i < n; i++) {
      const c = new Candidates(row);
      chain.apply(c);
      tokens[i] = drawn(c);
    }
  }
  writeBytes(new Uint8Array(tokens.buffer), request.out);
  return { ns: 0 };
}

const REQUESTS = { hello, run, batch, draws };

function answer(request) {
  try {
    if (!Object.hasOwn(REQUESTS, request.do)) throw unsupported(`request ${request.do}`);
    return { ok: true, ...REQUESTS[request.do](request) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, kind: error.kind, message: error.message };
  }
}

function sendLine(text) {
  const bytes = Buffer.from(text + "\n");
  let done = 0;
  while (done < bytes.length) {
    try {
      done += fs.writeSync(1, bytes, done);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim() === "") continue;
  const request = JSON.parse(line);
  if (request.do === "bye") break;
  sendLine(JSON.stringify(answer(request)));
}
process.exit(0);
