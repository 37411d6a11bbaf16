// sampleWithStrategy: penalties, top-k, typical-p, top-p, min-p, top-n-sigma, temperature, draw.

import {
  applyMinP,
  applyTemperature,
  applyTopK,
  applyTopNSigma,
  applyTopP,
  applyTypicalP,
  argmax,
  PenaltyAccessor,
  sampleFromSet,
} from "./filters.js";
import { selectLargest } from "./heap.js";
import { applyPenalties, PenaltyParams, TokenHistoryTracker } from "./penalties.js";
import { initializePRNG, isPRNGInitialized, Xoroshiro128Plus } from "./prng.js";
import { DEFAULT_KCAP, SamplerWorkspace, TYPICAL_P_KCAP } from "./workspace.js";

export interface SamplingParams {
  topK?: number; // default 40
  topP?: number; // default 0.95
  minP?: number; // default 0.05
  typicalP?: number; // default 1 (off)
  topNSigma?: number; // default -1 (off)
  temperature?: number; // default 0.8
  penaltyRepeat?: number; // default 1.1
  penaltyFreq?: number; // default 0
  penaltyPresent?: number; // default 0
  seed?: number; // of the global generator, where it is needed and was not started
}

export type SamplerMode = "fast" | "parity";

export interface SampleOptions {
  tokenHistory: TokenHistoryTracker;
  params?: SamplingParams;
  workspace?: SamplerWorkspace;
  mode?: SamplerMode; // default fast
  prng?: Xoroshiro128Plus;
}

/** The id of the token chosen. The logits are not modified. */
export function sampleWithStrategy(logits: Float32Array, opts: SampleOptions): number {
  const { tokenHistory, params = {}, mode = "fast", prng } = opts;
  const { topK = 40, topP = 0.95, minP = 0.05, typicalP = 1, topNSigma = -1 } = params;
  const { temperature = 0.8 } = params;
  const workspace = opts.workspace ?? new SamplerWorkspace();
  const penalties = penaltiesOf(tokenHistory, params);
  const row = penalties ? penalizedCopy(logits, tokenHistory, penalties, workspace) : logits;
  const accessor: PenaltyAccessor | undefined =
    penalties && row === logits
      ? (tokenId, logit) => tokenHistory.computeAdjustment(tokenId, logit, penalties)
      : undefined;
  if (temperature < 1e-3 || topK === 1) {
    return accessor ? applyTopK(row, 1, workspace, accessor).indices[0] : greedy(row);
  }
  if (prng === undefined && !isPRNGInitialized()) initializePRNG(params.seed);
  const k = topK > 0 ? topK : poolSize(mode, typicalP, row.length);
  const set = applyTopK(row, k, workspace, accessor);
  applyTypicalP(set, typicalP);
  applyTopP(set, topP);
  applyMinP(set, minP);
  applyTopNSigma(set, topNSigma);
  applyTemperature(set, temperature);
  return sampleFromSet(set, prng);
}

function poolSize(mode: SamplerMode, typicalP: number, vocabSize: number): number {
  if (mode === "parity") return vocabSize;
  return typicalP < 1 ? TYPICAL_P_KCAP : DEFAULT_KCAP;
}

function penaltiesOf(
  history: TokenHistoryTracker,
  params: SamplingParams,
): PenaltyParams | undefined {
  const { penaltyRepeat = 1.1, penaltyFreq = 0, penaltyPresent = 0 } = params;
  const penalties: PenaltyParams = {
    repeat: penaltyRepeat,
    frequency: penaltyFreq,
    presence: penaltyPresent,
  };
  return history.size() > 0 && TokenHistoryTracker.hasPenalties(penalties) ? penalties : undefined;
}

/** The logits themselves where the workspace has no workingLogits of their length. */
function penalizedCopy(
  logits: Float32Array,
  history: TokenHistoryTracker,
  penalties: PenaltyParams,
  workspace: SamplerWorkspace,
): Float32Array {
  const { workingLogits } = workspace;
  if (workingLogits?.length !== logits.length) return logits;
  workingLogits.set(logits);
  applyPenalties(workingLogits, history, penalties);
  return workingLogits;
}

/** The first largest logit; 0 where none is larger than -Infinity. */
export function greedy(logits: Float32Array): number {
  return argmax(logits, logits.length);
}

/** The n most likely tokens with their probability over the whole vocabulary. */
export function getTopCandidates(
  logits: Float32Array,
  n: number = 10,
): Array<{ tokenId: number; probability: number }> {
  const size = Math.min(Math.max(0, n), logits.length);
  const ids = new Uint32Array(size);
  const values = new Float32Array(size);
  const value = (id: number): number => (Number.isNaN(logits[id]) ? -Infinity : logits[id]);
  if (size > 0) selectLargest(value, logits.length, size, ids, values);
  const max = size > 0 ? values[0] : 0;
  let sum = 0;
  const exp = (x: number): number => (x === max ? 1 : Math.exp(x - max));
  for (let id = 0; id < logits.length; id++) sum += exp(value(id));
  return Array.from(ids, (tokenId, i) => ({
    tokenId,
    probability: max === -Infinity ? 0 : exp(values[i]) / sum,
  }));
}
