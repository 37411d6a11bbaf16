// Stages of a chain in terms of the documented API alone, so that any implementation of it fits.

import type * as Tsampler from "../api/index.js";

export type Api = typeof Tsampler;
export type Parameters = Record<string, any>;
type Rng = Tsampler.Xoroshiro128Plus;

/** A request for a sampler or parameter that the API lacks. */
export class Unsupported extends Error {}

/** The candidates of one step: the logits until a filter makes a set of them. */
export interface Candidates {
  logits: Float32Array;
  set: Tsampler.CandidateSet | null;
  /** p as llama.cpp keeps it, by id: written by the stages that normalize there. */
  nativeP: Float32Array;
  selected: number; // token id, or -1
}

export interface Stage {
  apply(candidates: Candidates, workspace: Tsampler.SamplerWorkspace): void;
  accept?(token: number): void;
  reset?(): void;
  /** A stage in the same state, made from what it has accepted and drawn. */
  clone?(): Stage;
  /** As apply, with this uniform number instead of the generator's next. */
  draw?(candidates: Candidates, workspace: Tsampler.SamplerWorkspace, uniform: number): void;
}

type Make = (api: Api, p: Parameters) => Stage;

/** The set of the candidates; made of the whole vocabulary if no filter did before. */
function setOf(api: Api, c: Candidates, ws: Tsampler.SamplerWorkspace): Tsampler.CandidateSet {
  c.set ??= api.applyTopK(c.logits, c.logits.length, ws);
  return c.set;
}

type Filter = (set: Tsampler.CandidateSet) => Tsampler.CandidateSet;

function filter(change: (api: Api, p: Parameters) => Filter, normalizes = false): Make {
  return (api, p) => {
    const narrow = change(api, p);
    return {
      apply(c, ws) {
        const before = setOf(api, c, ws);
        c.set = narrow(before);
        if (!normalizes || p["p"] >= 1) return;
        for (let i = 0; i < c.set.count; i++) c.nativeP[c.set.indices[i]] = c.set.probs[i];
      },
    };
  };
}

function topK(api: Api, { k }: Parameters): Stage {
  return {
    apply(c, ws) {
      if (c.set !== null) throw new Unsupported("top-k only makes a set of logits, and must be first");
      c.set = api.applyTopK(c.logits, k > 0 ? k : c.logits.length, ws);
    },
  };
}

function oneOrNone({ min_keep }: Parameters): void {
  if (min_keep > 1) throw new Unsupported("top-p and min-p have no min_keep");
}

const topP = filter((api, p) => {
  oneOrNone(p);
  return (set) => api.applyTopP(set, p["p"]);
}, true);
const typicalP = filter((api, p) => (set) => api.applyTypicalP(set, p["p"], p["min_keep"]), true);
const minP = filter((api, p) => {
  oneOrNone(p);
  return (set) => api.applyMinP(set, p["p"]);
});
const topNSigma = filter((api, p) => (set) => api.applyTopNSigma(set, p["n"]));
const temp = filter((api, p) => {
  if (!(p["temp"] > 0)) throw new Unsupported("temperature 0 or below is greedy, not a filter");
  return (set) => api.applyTemperature(set, p["temp"]);
});

function penalties(api: Api, p: Parameters, past: number[] = []): Stage {
  const accepted: number[] = [];
  const history = new api.TokenHistoryTracker(p["penalty_last_n"]);
  const stage: Stage = {
    apply(c) {
      if (c.set !== null) throw new Unsupported("penalties work on logits, and must be first");
      api.applyPenalties(c.logits, history, {
        repeat: p["penalty_repeat"],
        frequency: p["penalty_freq"],
        presence: p["penalty_present"],
      });
    },
    accept(token) {
      accepted.push(token);
      history.accept(token);
    },
    reset() {
      accepted.length = 0;
      history.reset();
    },
    clone: () => penalties(api, p, accepted),
  };
  for (const token of past) stage.accept!(token);
  return stage;
}

function greedy(api: Api): Stage {
  return {
    apply(c) {
      if (c.set !== null) throw new Unsupported("greedy works on logits, not on a set");
      c.selected = api.greedy(c.logits);
    },
  };
}

/** A generator that counts, so that a clone of its stage can be wound forward to the same state. */
class Counting {
  drawn = 0;
  readonly rng: Rng;

  constructor(api: Api, seed: number, drawn = 0) {
    this.rng = new api.Xoroshiro128Plus(seed);
    const next = this.rng.next.bind(this.rng);
    this.rng.next = () => {
      this.drawn += 1;
      return next();
    };
    while (this.drawn < drawn) this.rng.next();
  }
}

const injected = (uniform: number): Rng => ({ next: () => uniform }) as unknown as Rng;

function sample(api: Api, p: Parameters, drawn = 0): Stage {
  let generator = new Counting(api, p["seed"], drawn);
  return {
    apply(c, ws) {
      c.selected = api.sampleFromSet(setOf(api, c, ws), generator.rng);
    },
    draw(c, ws, uniform) {
      c.selected = api.sampleFromSet(setOf(api, c, ws), injected(uniform));
    },
    reset() {
      generator = new Counting(api, p["seed"]);
    },
    clone: () => sample(api, p, generator.drawn),
  };
}

function strategy(api: Api, p: Parameters, past: number[] = [], drawn = 0): Stage {
  const accepted: number[] = [];
  const tokenHistory = new api.TokenHistoryTracker(p["penalty_last_n"]);
  let generator = new Counting(api, p["seed"], drawn);
  const params = {
    topK: p["top_k"],
    topP: p["top_p"],
    minP: p["min_p"],
    typicalP: p["typical_p"],
    topNSigma: p["top_n_sigma"],
    temperature: p["temp"],
    penaltyRepeat: p["penalty_repeat"],
    penaltyFreq: p["penalty_freq"],
    penaltyPresent: p["penalty_present"],
  };
  const select = (c: Candidates, workspace: Tsampler.SamplerWorkspace, prng: Rng): void => {
    if (c.set !== null) throw new Unsupported("sampleWithStrategy is a whole chain");
    const options = { tokenHistory, params, workspace, mode: p["mode"], prng };
    c.selected = api.sampleWithStrategy(c.logits, options);
  };
  const stage: Stage = {
    apply: (c, ws) => select(c, ws, generator.rng),
    draw: (c, ws, uniform) => select(c, ws, injected(uniform)),
    accept(token) {
      accepted.push(token);
      tokenHistory.accept(token);
    },
    reset() {
      accepted.length = 0;
      tokenHistory.reset();
      generator = new Counting(api, p["seed"]);
    },
    clone: () => strategy(api, p, accepted, generator.drawn),
  };
  for (const token of past) stage.accept!(token);
  return stage;
}

/** llama.cpp's names: its samplers as far as the API has them. tsampler_*: the API's own functions. */
export const STAGES: Record<string, Make> = {
  penalties,
  top_k: topK,
  typical_p: typicalP,
  top_p: topP,
  min_p: minP,
  top_n_sigma: topNSigma,
  temp,
  greedy,
  tsampler: strategy,
  tsampler_penalties: penalties,
  tsampler_top_k: topK,
  tsampler_typical_p: typicalP,
  tsampler_top_p: topP,
  tsampler_min_p: minP,
  tsampler_top_n_sigma: topNSigma,
  tsampler_temp: temp,
  tsampler_greedy: greedy,
  tsampler_sample: sample,
};
