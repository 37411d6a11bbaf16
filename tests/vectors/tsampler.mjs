// tsampler for the vector runner: its stages of llama.cpp's names, behind the documented API.

import * as api from "../../engines/tsampler/dist/api/index.js";
import { STAGES, Unsupported } from "../../engines/tsampler/dist/adapter/stages.js";

export function sample(name, test) {
  if (!(name in STAGES) || test.ids.some((id, k) => id !== k)) return null; // a whole vocabulary
  const workspace = new api.SamplerWorkspace();
  const row = Float32Array.from(test.logits);
  const candidates = { logits: row, set: null, nativeP: new Float32Array(row.length), selected: -1 };
  try {
    const stage = STAGES[name](api, test.parameters);
    for (const token of test.tokens ?? []) stage.accept(token);
    stage.apply(candidates, workspace);
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
  const { set, selected } = candidates;
  const ids = set ? [...set.indices.slice(0, set.count)] : test.ids;
  const logits = set ? [...set.logits.slice(0, set.count)] : [...candidates.logits];
  return { ids, logits, token: selected };
}
