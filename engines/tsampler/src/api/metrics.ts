// Surprisal, entropy and perplexity. They read logits and change nothing.

export type MetricBase = "nats" | "bits";

const inBase = (nats: number, base: MetricBase): number =>
  base === "bits" ? nats / Math.LN2 : nats;

const finiteOrBanned = (logit: number): number => (Number.isNaN(logit) ? -Infinity : logit);

interface Sums {
  max: number;
  exp: number; // sum of exp(x - max)
  expTimesLogit: number; // sum of exp(x - max) * x, over what has a probability
}

function sums(logits: Float32Array): Sums {
  let max = -Infinity;
  for (const logit of logits) if (logit > max) max = logit;
  let exp = 0;
  let expTimesLogit = 0;
  if (max === -Infinity) return { max, exp, expTimesLogit };
  for (let i = 0; i < logits.length; i++) {
    const x = finiteOrBanned(logits[i]);
    const e = x === max ? 1 : Math.exp(x - max);
    exp += e;
    if (e > 0) expTimesLogit += e * x;
  }
  return { max, exp, expTimesLogit };
}

/** -log p of a token under the model. Throws RangeError for a token outside. */
export function computeModelSurprisal(
  logits: Float32Array,
  tokenId: number,
  base: MetricBase = "nats",
): number {
  if (!(tokenId >= 0 && tokenId < logits.length)) {
    throw new RangeError(`token ${tokenId} is not in 0..${logits.length - 1}`);
  }
  const logit = finiteOrBanned(logits[tokenId]);
  if (logit === -Infinity) return Infinity;
  const { max, exp } = sums(logits);
  return inBase(max + Math.log(exp) - logit, base);
}

/** -log p of a token among candidates; Infinity if it is none of them. */
export function computeSamplingSurprisal(
  candidateLogits: Float32Array,
  candidateIds: ArrayLike<number>,
  tokenId: number,
  base: MetricBase = "nats",
): number {
  for (let i = 0; i < candidateIds.length; i++) {
    if (candidateIds[i] === tokenId) return computeModelSurprisal(candidateLogits, i, base);
  }
  return Infinity;
}

/** -sum p log p over all logits. */
export function computeModelEntropy(logits: Float32Array, base: MetricBase = "nats"): number {
  const { max, exp, expTimesLogit } = sums(logits);
  if (max === -Infinity) return 0;
  return inBase(max + Math.log(exp) - expTimesLogit / exp, base);
}

/** -sum p log p over candidates. */
export function computeSamplingEntropy(
  candidateLogits: Float32Array,
  base: MetricBase = "nats",
): number {
  return computeModelEntropy(candidateLogits, base);
}

/** exp of the mean of the surprisals added, in nats; 1 before any was. */
export class RollingPerplexity {
  private sum = 0;
  private added = 0;

  addSurprisal(nats: number): void {
    this.sum += nats;
    this.added += 1;
  }

  ppl(): number {
    return this.added === 0 ? 1 : Math.exp(this.sum / this.added);
  }

  get count(): number {
    return this.added;
  }

  reset(): void {
    this.sum = 0;
    this.added = 0;
  }
}
