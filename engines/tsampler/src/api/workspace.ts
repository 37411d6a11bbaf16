// Buffers that are reused from token to token, and the set of candidates that lies in them.

export const DEFAULT_KCAP = 256;
export const TYPICAL_P_KCAP = 512;

/** The capacity that these parameters need, at most the vocabulary. */
export function requiredKcap(
  topK: number | undefined,
  typicalP: number | undefined,
  vocabSize: number,
): number {
  const pool = typicalP !== undefined && typicalP < 1 ? TYPICAL_P_KCAP : DEFAULT_KCAP;
  return Math.min(vocabSize, Math.max(topK ?? 0, pool));
}

function powerOfTwo(n: number): number {
  let power = 1;
  while (power < n) power *= 2;
  return power;
}

export class SamplerWorkspace {
  idxK!: Uint32Array;
  valK!: Float32Array;
  probK!: Float32Array;
  tmpIdx!: Uint32Array;
  tmpLogits!: Float32Array;
  tmpProbs!: Float32Array;
  /** Where penalties are applied to a copy of the logits; without it through an accessor. */
  workingLogits?: Float32Array;
  version = 0;
  private slots = 0;

  constructor(kcap: number = DEFAULT_KCAP) {
    this.allocate(powerOfTwo(kcap));
  }

  get capacity(): number {
    return this.slots;
  }

  /** Grows to the next power of two; never shrinks. Sets made before it grew become stale. */
  ensureCapacity(needed: number): void {
    if (needed <= this.slots) return;
    this.allocate(powerOfTwo(needed));
    this.version += 1;
  }

  /** From now on sampleWithStrategy uses workingLogits. Reading: the document names no way to ask. */
  ensureWorkingLogits(vocabSize: number): void {
    if (this.workingLogits?.length !== vocabSize) this.workingLogits = new Float32Array(vocabSize);
  }

  private allocate(slots: number): void {
    this.slots = slots;
    this.idxK = new Uint32Array(slots);
    this.valK = new Float32Array(slots);
    this.probK = new Float32Array(slots);
    this.tmpIdx = new Uint32Array(slots);
    this.tmpLogits = new Float32Array(slots);
    this.tmpProbs = new Float32Array(slots);
  }
}

/** The first `count` slots of a workspace: ids, logits, probabilities. */
export class CandidateSet {
  readonly indices: Uint32Array;
  readonly logits: Float32Array;
  readonly probs: Float32Array;
  private readonly version: number;

  constructor(
    readonly workspace: SamplerWorkspace,
    public count: number,
  ) {
    this.indices = workspace.idxK;
    this.logits = workspace.valK;
    this.probs = workspace.probK;
    this.version = workspace.version;
  }

  /** Throws where the workspace has grown since: the buffers are no longer its own. */
  check(): void {
    if (this.version !== this.workspace.version) {
      throw new Error("stale CandidateSet: its workspace has grown since it was made");
    }
  }

  /** Keep one candidate. */
  collapseTo(position: number): void {
    this.indices[0] = this.indices[position];
    this.logits[0] = this.logits[position];
    this.probs[0] = this.probs[position];
    this.count = 1;
  }

  /** Keep the candidates at order[0..count), in this order; order may be workspace.tmpIdx. */
  take(order: Uint32Array, count: number): void {
    const { tmpLogits, tmpProbs } = this.workspace;
    for (let i = 0; i < count; i++) {
      const from = order[i];
      tmpLogits[i] = this.logits[from];
      tmpProbs[i] = this.probs[from];
      order[i] = this.indices[from];
    }
    for (let i = 0; i < count; i++) {
      this.indices[i] = order[i];
      this.logits[i] = tmpLogits[i];
      this.probs[i] = tmpProbs[i];
    }
    this.count = count;
  }
}
