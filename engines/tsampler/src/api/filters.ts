// The filters. Each narrows a CandidateSet in place and returns it. None normalizes what it leaves.

import { heapify, pop, selectLargest } from "./heap.js";
import { random, Xoroshiro128Plus } from "./prng.js";
import { CandidateSet, SamplerWorkspace } from "./workspace.js";

export type PenaltyAccessor = (tokenId: number, baseLogit: number) => number;

/** A logit as a set holds it: float32, and -Infinity for NaN. */
function entering(logit: number): number {
  return Number.isNaN(logit) ? -Infinity : Math.fround(logit);
}

/** The whole vocabulary in the order of ids. */
export function candidateSetFromFullLogits(
  logits: Float32Array,
  ws: SamplerWorkspace,
  penaltyAccessor?: PenaltyAccessor,
): CandidateSet {
  ws.ensureCapacity(logits.length);
  const set = new CandidateSet(ws, logits.length);
  for (let id = 0; id < logits.length; id++) {
    set.indices[id] = id;
    set.logits[id] = entering(penaltyAccessor ? penaltyAccessor(id, logits[id]) : logits[id]);
  }
  softmax(set);
  return set;
}

/** p = exp(logit - max) / sum over the set, rounded once; 0 where every logit is -Infinity. */
export function softmax(set: CandidateSet): void {
  const { logits, probs, count } = set;
  let max = -Infinity;
  for (let i = 0; i < count; i++) if (logits[i] > max) max = logits[i];
  if (max === -Infinity) {
    probs.fill(0, 0, count);
    return;
  }
  const exp = (logit: number): number => (logit === max ? 1 : Math.exp(logit - max));
  let sum = 0;
  for (let i = 0; i < count; i++) sum += exp(logits[i]);
  for (let i = 0; i < count; i++) probs[i] = exp(logits[i]) / sum;
}

/** The k largest in descending order; all in the order of ids for k <= 0 and k >= n. */
export function applyTopK(
  logits: Float32Array,
  k: number,
  ws: SamplerWorkspace,
  penaltyAccessor?: PenaltyAccessor,
): CandidateSet {
  if (k <= 0 || k >= logits.length) return candidateSetFromFullLogits(logits, ws, penaltyAccessor);
  ws.ensureCapacity(k);
  const set = new CandidateSet(ws, k);
  const value = penaltyAccessor
    ? (id: number) => entering(penaltyAccessor(id, logits[id]))
    : (id: number) => entering(logits[id]);
  selectLargest(value, logits.length, k, set.indices, set.logits);
  softmax(set);
  return set;
}

/** Those with the most typical surprise, until their mass exceeds p. */
export function applyTypicalP(set: CandidateSet, p: number, minKeep: number = 1): CandidateSet {
  set.check();
  if (p >= 1 || set.count === 0) return set;
  softmax(set);
  const { tmpIdx, tmpLogits: closeness } = set.workspace;
  let entropy = 0;
  for (let i = 0; i < set.count; i++) {
    if (set.probs[i] > 0) entropy -= set.probs[i] * Math.log(set.probs[i]);
  }
  for (let i = 0; i < set.count; i++) {
    closeness[i] = -Math.abs(-Math.log(set.probs[i]) - entropy);
  }
  heapify(tmpIdx, closeness, set.count);
  let mass = 0;
  let kept = 0;
  while (kept < set.count) {
    mass += set.probs[pop(tmpIdx, closeness, set.count - kept)];
    kept += 1;
    if (mass > p && kept >= minKeep) break;
  }
  return takePopped(set, kept);
}

/** The most likely ones until their mass reaches p; p <= 0 leaves the most likely one. */
export function applyTopP(set: CandidateSet, p: number, _workspace?: SamplerWorkspace): CandidateSet {
  set.check();
  if (p >= 1 || set.count === 0) return set;
  softmax(set);
  const { tmpIdx } = set.workspace;
  heapify(tmpIdx, set.logits, set.count);
  let mass = 0;
  let kept = 0;
  while (kept < set.count) {
    mass += set.probs[pop(tmpIdx, set.logits, set.count - kept)];
    kept += 1;
    if (mass >= p) break;
  }
  return takePopped(set, kept);
}

/** Positions popped from a heap lie at its end, the first one last. */
function takePopped(set: CandidateSet, kept: number): CandidateSet {
  const { tmpIdx } = set.workspace;
  tmpIdx.subarray(0, set.count).reverse();
  set.take(tmpIdx, kept);
  return set;
}

/** Those at least threshold times as likely as the most likely one, which always stays. */
export function applyMinP(set: CandidateSet, threshold: number): CandidateSet {
  set.check();
  if (threshold <= 0 || set.count === 0) return set;
  const { probs } = set;
  const best = argmax(probs, set.count);
  const least = probs[best] * threshold;
  return keepWhere(set, (i) => i === best || probs[i] >= least);
}

/** Those within n standard deviations of the largest logit; one, if there is no deviation. */
export function applyTopNSigma(set: CandidateSet, n: number): CandidateSet {
  set.check();
  if (n <= 0 || set.count === 0) return set;
  const { logits, count } = set;
  let valid = 0;
  let sum = 0;
  for (let i = 0; i < count; i++) {
    if (logits[i] === -Infinity) continue;
    valid += 1;
    sum += logits[i];
  }
  if (valid === 0) return set;
  const mean = sum / valid;
  let squares = 0;
  for (let i = 0; i < count; i++) {
    if (logits[i] !== -Infinity) squares += (logits[i] - mean) * (logits[i] - mean);
  }
  const deviation = Math.sqrt(squares / valid);
  const best = argmax(logits, count);
  if (!(deviation > 0)) {
    set.collapseTo(best);
    return set;
  }
  const least = logits[best] - n * deviation;
  return keepWhere(set, (i) => logits[i] >= least);
}

/** logit / temp, and the probabilities anew. Throws RangeError unless temp > 0. */
export function applyTemperature(set: CandidateSet, temp: number): CandidateSet {
  set.check();
  if (!(temp > 0)) throw new RangeError(`temperature must be greater than 0: ${temp}`);
  if (temp === 1) return set;
  for (let i = 0; i < set.count; i++) set.logits[i] /= temp;
  softmax(set);
  return set;
}

/** A token drawn by probability; from the global generator if none is given. */
export function sampleFromSet(set: CandidateSet, prng?: Xoroshiro128Plus): number {
  set.check();
  const { indices, probs, count } = set;
  let total = 0;
  for (let i = 0; i < count; i++) total += probs[i];
  if (total === 0) throw new Error("no candidate has a probability");
  const target = (prng ? prng.next() : random()) * total;
  let running = 0;
  let last = 0;
  for (let i = 0; i < count; i++) {
    running += probs[i];
    if (running > target) return indices[i];
    if (probs[i] > 0) last = i;
  }
  return indices[last]; // target was rounded up to the total
}

/** The first position of the largest value. */
export function argmax(values: Float32Array, count: number): number {
  let best = 0;
  let most = -Infinity;
  for (let i = 0; i < count; i++) {
    if (values[i] > most) {
      most = values[i];
      best = i;
    }
  }
  return best;
}

function keepWhere(set: CandidateSet, passes: (position: number) => boolean): CandidateSet {
  let kept = 0;
  for (let i = 0; i < set.count; i++) {
    if (!passes(i)) continue;
    set.indices[kept] = set.indices[i];
    set.logits[kept] = set.logits[i];
    set.probs[kept] = set.probs[i];
    kept += 1;
  }
  set.count = kept;
  return set;
}
