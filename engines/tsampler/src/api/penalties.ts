// Token history and penalties. Values are computed in double and stored as float32 once.

export interface PenaltyParams {
  repeat?: number; // factor, 1 is off
  frequency?: number; // per occurrence, 0 is off
  presence?: number; // once, 0 is off
}

export class TokenHistoryTracker {
  private readonly ring: Int32Array;
  private readonly counts = new Map<number, number>();
  private accepted = 0;

  /** penaltyLastN: length of the window; 0 or less keeps nothing. */
  constructor(penaltyLastN: number) {
    this.ring = new Int32Array(Math.max(0, penaltyLastN));
  }

  accept(token: number): void {
    const length = this.ring.length;
    if (length === 0) return;
    const at = this.accepted % length;
    this.counts.set(token, this.getCount(token) + 1);
    if (this.accepted >= length) this.forget(this.ring[at]);
    this.ring[at] = token;
    this.accepted += 1;
  }

  private forget(token: number): void {
    const left = this.getCount(token) - 1;
    if (left > 0) this.counts.set(token, left);
    else this.counts.delete(token);
  }

  getCount(token: number): number {
    return this.counts.get(token) ?? 0;
  }

  hasToken(token: number): boolean {
    return this.counts.has(token);
  }

  reset(): void {
    this.counts.clear();
    this.accepted = 0;
  }

  /** Tokens in the window now. */
  size(): number {
    return Math.min(this.accepted, this.ring.length);
  }

  getUniqueTokens(): number[] {
    return [...this.counts.keys()];
  }

  /** The penalized logit, not rounded to float32. */
  computeAdjustment(tokenId: number, baseLogit: number, params: PenaltyParams): number {
    const count = this.getCount(tokenId);
    if (count === 0) return baseLogit;
    const { repeat = 1, frequency = 0, presence = 0 } = params;
    let logit = baseLogit;
    if (repeat !== 1) {
      if (logit <= 0) logit *= repeat;
      else logit /= repeat;
    }
    logit -= count * frequency;
    return logit - presence;
  }

  static hasPenalties({ repeat = 1, frequency = 0, presence = 0 }: PenaltyParams): boolean {
    return repeat !== 1 || frequency !== 0 || presence !== 0;
  }
}

/** All three penalties, in place, in the order repeat, frequency, presence. */
export function applyPenalties(
  logits: Float32Array,
  tokenHistory: TokenHistoryTracker,
  params: PenaltyParams,
): void {
  if (!TokenHistoryTracker.hasPenalties(params)) return;
  for (const token of tokenHistory.getUniqueTokens()) {
    if (token < 0 || token >= logits.length) continue;
    logits[token] = tokenHistory.computeAdjustment(token, logits[token], params);
  }
}

export function applyRepetitionPenalty(
  logits: Float32Array,
  tokenHistory: TokenHistoryTracker,
  penalty: number,
): void {
  applyPenalties(logits, tokenHistory, { repeat: penalty });
}

export function applyFrequencyPenalty(
  logits: Float32Array,
  tokenHistory: TokenHistoryTracker,
  penalty: number,
): void {
  applyPenalties(logits, tokenHistory, { frequency: penalty });
}

export function applyPresencePenalty(
  logits: Float32Array,
  tokenHistory: TokenHistoryTracker,
  penalty: number,
): void {
  applyPenalties(logits, tokenHistory, { presence: penalty });
}
