// Every sampler in JavaScript: float32 by Math.fround, exp, log and pow in double, then rounded.
// program.py has the messages. Logits and p are Float32Arrays, which round what is stored.

import { readSync, writeSync } from "node:fs";

const f = Math.fround;
const exp = (x) => f(Math.exp(x));
const log = (x) => f(Math.log(x));
const log2 = (x) => f(Math.log2(x));
const pow = (b, e) => f(Math.pow(b, e));

function running(x) {
  const sums = new Float32Array(x.length);
  x.forEach((value, i) => (sums[i] = (i ? sums[i - 1] : 0) + value));
  return sums;
}

const total = (x) => (x.length ? running(x).at(-1) : 0);
const largest = (x) => x.reduce((a, b) => (b > a ? b : a), -Infinity);
const best = (x) => x.reduce((b, value, i) => (value > x[b] ? i : b), 0);
const every = (c, make) => Float32Array.from(c.ids, (_, i) => make(i));

function keep(c, at) {
  [c.ids, c.logits, c.p] = [c.ids, c.logits, c.p].map((values) => values.constructor.from(at, (i) => values[i]));
}

const head = (c, n) => keep(c, Array.from({ length: Math.min(n, c.ids.length) }, (_, i) => i));
const where = (c, test) => keep(c, Array.from(c.ids.keys()).filter(test));

function sort(c) {
  if (c.sorted) return;
  const at = Array.from(c.ids.keys());
  keep(c, at.sort((i, j) => (c.logits[j] > c.logits[i]) - (c.logits[j] < c.logits[i]) || c.ids[i] - c.ids[j]));
  c.sorted = true;
}

function weights({ logits }) {
  const top = largest(logits);
  return logits.map((x) => exp(f(x - top)));
}

function divide(x, by) {
  return x.map((value) => value / by);
}

function softmax(c, sortFirst = true) {
  if (sortFirst) sort(c);
  const w = weights(c);
  c.p = divide(w, total(w));
}

/** How many reach the threshold, or exceed it. */
function crossing(p, least, enough) {
  const n = running(p).findIndex((mass, i) => enough(mass) && i + 1 >= least);
  return n < 0 ? p.length : n + 1;
}

function pick(w, u, lost) {
  const sums = running(w);
  if (Number.isNaN(sums.at(-1))) return lost;
  const wanted = f(sums.at(-1) * f(u));
  return sums.findIndex((sum, i) => sum >= wanted && (w[i] > 0 || u === 0));
}

function draw(c, u) {
  c.selected = c.ids.length > 1 ? pick(c.p, u, 0) : 0;
}

function dist(c, [u]) {
  const n = c.ids.length;
  c.selected = n - 1;
  if (n === 1) c.p = Float32Array.of(1);
  if (n < 2) return;
  const w = weights(c);
  c.selected = pick(w, u, n - 1);
  c.p = divide(w, total(w));
}

function topK(c, [k]) {
  if (k <= 0) return;
  sort(c);
  head(c, k);
}

function topP(c, [p, minKeep]) {
  if (p >= 1) return;
  softmax(c);
  head(c, crossing(c.p, minKeep, (mass) => mass >= p));
}

function minP(c, [p, minKeep]) {
  if (p <= 0 || !c.ids.length) return;
  const top = largest(c.logits);
  const passes = (i) => c.logits[i] >= f(top + log(p));
  if (!c.sorted && top !== -Infinity) {
    const n = c.logits.filter((_, i) => passes(i)).length;
    if (n > 0 && n >= minKeep) return where(c, passes);
  }
  sort(c);
  const lowest = f(c.logits[0] + log(p));
  const n = c.logits.findIndex((x, i) => x < lowest && i >= Math.max(1, minKeep));
  if (n > 0) head(c, n);
}

function typicalP(c, [p, minKeep]) {
  if (p >= 1) return;
  softmax(c);
  const surprise = c.p.map((value) => -log(value));
  const entropy = total(every(c, (i) => c.p[i] * surprise[i]));
  const away = surprise.map((s) => Math.abs(f(s - entropy)));
  keep(c, Array.from(c.ids.keys()).sort((i, j) => away[i] - away[j] || i - j));
  head(c, crossing(c.p, minKeep, (mass) => mass > p));
  c.sorted = false;
}

function temp(c, [t]) {
  if (t === 1 || !c.ids.length) return;
  const kept = best(c.logits);
  c.logits = c.logits.map((x, i) => (t > 0 ? x / t : i === kept ? x : -Infinity));
}

function tempExt(c, [t, delta, exponent]) {
  const n = c.ids.length;
  if (delta <= 0) return temp(c, [t]);
  if (n < 2) return;
  softmax(c);
  const entropy = -total(c.p.filter((p) => p > 0).map((p) => p * log(p)));
  const share = pow(f(Math.max(0, entropy) / log(n)), exponent);
  const lowest = Math.max(0, f(t - delta));
  const scaled = f(lowest + f(f(f(t + delta) - lowest) * share));
  temp(c, [scaled]);
  softmax(c, false);
}

function xtc(c, [t, minKeep]) {
  softmax(c);
  const n = c.ids.length;
  const below = c.p.findIndex((p) => !(p >= t));
  const last = Math.max(0, (below < 0 ? n : below) - 1);
  if (last > 0 && n - last >= minKeep) where(c, (i) => i >= last);
}

function topNSigma(c, [n]) {
  const possible = c.logits.filter((x) => x !== -Infinity);
  if (n <= 0 || c.ids.length < 2 || !possible.length) return;
  const mean = f(total(possible) / possible.length);
  const squares = possible.map((x) => f(x - mean) * f(x - mean));
  const lowest = f(largest(possible) - f(n * f(Math.sqrt(f(total(squares) / possible.length)))));
  c.logits = c.logits.map((x) => (x < lowest ? -Infinity : x));
}

/** Normalizes, draws, and returns mu as the surprise of the token moves it. */
function steer(c, mu, tau, eta, u) {
  softmax(c);
  draw(c, u);
  return [f(mu - f(eta * f(-log2(c.p[c.selected]) - tau)))];
}

function mirostat(c, [mu, tau, eta, u, m, nVocab]) {
  softmax(c);
  const pairs = Math.min(c.ids.length - 1, m > 0 ? m - 1 : c.ids.length);
  const t = Float32Array.from({ length: pairs }, (_, i) => log(f((i + 2) / (i + 1))));
  const b = t.map((_, i) => log(f(c.p[i] / c.p[i + 1])));
  const s = f(total(t.map((x, i) => x * b[i])) / total(t.map((x) => x * x)));
  const e = f(s - 1);
  const k = pow(f(f(e * pow(2, mu)) / f(1 - pow(nVocab, -e))), f(1 / s));
  head(c, k >= 1 && k < 2 ** 31 ? Math.trunc(k) : 1);
  return steer(c, mu, tau, eta, u);
}

function mirostatV2(c, [mu, tau, eta, u]) {
  softmax(c);
  const cut = c.p.findIndex((p) => -log2(p) > mu);
  if (cut >= 0) head(c, Math.max(1, cut));
  return steer(c, mu, tau, eta, u);
}

/** Calls change(place, value) for pairs of a token and a value whose token is a candidate. */
function eachPlace(c, pairs, change) {
  const places = new Map(Array.from(c.ids, (id, i) => [id, i]));
  for (let i = 0; i < pairs.length; i += 2) if (places.has(pairs[i])) change(places.get(pairs[i]), pairs[i + 1]);
}

function penalties(c, [repeat, freq, present], counts) {
  eachPlace(c, counts, (i, count) => {
    const x = c.logits[i];
    c.logits[i] = f(x <= 0 ? x * repeat : x / repeat) - f(f(count * freq) + present);
  });
  c.sorted = false;
}

function dry(c, [multiplier, base, allowed], lengths) {
  const most = base > 1.000001 ? Math.trunc(f(f(88.7228391) / log(base))) : 0;
  eachPlace(c, lengths, (i, length) => {
    const exponent = most > 0 ? Math.min(length - allowed, most) : length - allowed;
    c.logits[i] -= f(multiplier * Math.pow(base, exponent));
  });
  c.sorted = false;
}

function logitBias(c, biases, tokens) {
  const seen = new Set();
  tokens.forEach((token, at) => eachPlace(c, [token, at], (i) => {
    if (i === token || !seen.has(token)) c.logits[i] += f(biases[at]);
    seen.add(token);
  }));
}

function infill(c, [end, nEog], whole) {
  softmax(c);
  const eog = new Set(whole.subarray(0, nEog));
  const isEnd = (i) => eog.has(c.ids[i]);
  const sum = (test) => total(c.p.filter((_, i) => test(i)));
  if (f(f(3 * sum(isEnd)) * c.ids.length) > sum((i) => !isEnd(i))) {
    where(c, isEnd);
    c.p = divide(c.p, total(c.p));
    return;
  }
  const place = new Map(Array.from(c.ids, (id, i) => [id, i]));
  const pairs = [];
  for (let i = nEog; i < whole.length; i += 2) pairs.push([place.get(whole[i]), place.get(whole[i + 1])]);
  for (const [i, j] of pairs.sort(([i, j], [k, l]) => i - k || j - l)) {
    if (c.logits[i] === -Infinity || c.logits[j] === -Infinity) continue;
    const [into, merged] = c.p[j] > c.p[i] ? [j, i] : [i, j];
    c.p[into] += c.p[merged];
    c.p[merged] = 0;
    c.logits[merged] = -Infinity;
  }
  const all = { ...c };
  where(c, (i) => !(c.p[i] < f(0.2)) || isEnd(i));
  const nText = Array.from(c.ids.keys()).filter((i) => !isEnd(i)).length;
  if (nText === 0) {
    if (!c.ids.length) Object.assign(c, all);
    head(c, 1);
    [c.ids[0], c.logits[0]] = [end, 1];
    return;
  }
  c.p = divide(c.p, total(c.p));
  where(c, (i) => !(c.p[i] < f(1 / (nText + 1))) || isEnd(i));
  c.p = divide(c.p, total(c.p));
}

/** Returns p before the transform. */
function adaptiveP(c, [target, weightedSum, totalWeight, u]) {
  softmax(c, false);
  const original = c.p;
  if (target >= 0) {
    const clamp = (x) => Math.min(1, Math.max(0, x));
    const wanted = clamp(f(f(2 * clamp(target)) - f(weightedSum / totalWeight)));
    c.logits = c.logits.map((x, i) => {
      const d = f(Math.abs(f(c.p[i] - wanted)) / f(0.3));
      return x === -Infinity ? x : f(5 - f(f(f(10 * d) * d) / f(1 + d)));
    });
    softmax(c, false);
  }
  draw(c, u);
  return Array.from(original);
}

const SAMPLERS = {
  greedy: (c) => void (c.selected = best(c.logits)), dist, top_k: topK, top_p: topP, min_p: minP, typical_p: typicalP,
  temp, temp_ext: tempExt, xtc, top_n_sigma: topNSigma, mirostat, mirostat_v2: mirostatV2, penalties, dry,
  logit_bias: logitBias, infill, adaptive_p: adaptiveP,
};

/** Reads n bytes; null at the end of the input. */
function read(n) {
  const bytes = Buffer.alloc(n);
  for (let at = 0; at < n; ) {
    const got = readSync(0, bytes, at, n - at);
    if (got === 0) return null;
    at += got;
  }
  return bytes;
}

function write(values) {
  const bytes = Buffer.isBuffer(values) ? values : Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

const HEAD = 64;
const array = (Type, n) => new Type(read(n * Type.BYTES_PER_ELEMENT).buffer, 0, n);

for (let call = read(HEAD); call !== null; call = read(HEAD)) {
  const [name, ...counts] = call.toString().trim().split(" ");
  const [n, sorted, selected, nNumbers, nWhole] = counts.map(Number);
  const [numbers, whole] = [array(Float64Array, nNumbers), array(Int32Array, nWhole)];
  const [ids, logits, p] = [array(Int32Array, n), array(Float32Array, n), array(Float32Array, n)];
  const c = { ids, logits, p, sorted: sorted === 1, selected };
  const state = Float64Array.from(SAMPLERS[name](c, numbers, whole) ?? []);
  write(Buffer.from(`${c.ids.length} ${Number(c.sorted)} ${c.selected} ${state.length}`.padEnd(HEAD)));
  for (const values of [state, c.ids, c.logits, c.p]) write(values);
}
