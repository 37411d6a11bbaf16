// `node transformers_js.mjs FOLDER FAULT`: Transformers.js with one fault, under its adapter.

import { packageOf } from "../shared/serve.mjs";

const [folder, fault] = process.argv.slice(2);
const engine = packageOf(folder, "@huggingface/transformers");
const { generate } = engine.PreTrainedModel.prototype;

/** Changes some options of generate. */
const changed = (change) => {
  engine.PreTrainedModel.prototype.generate = function (options) {
    return generate.call(this, { ...options, ...change(options) });
  };
};

const FAULTS = {
  "temperature-multiplies"() {
    engine.TemperatureLogitsWarper.prototype._call = function (_ids, logits) {
      logits.data.forEach((l, i) => (logits.data[i] = l * this.temperature));
      return logits;
    };
  },
  "penalty-divides-negative"() {
    engine.RepetitionPenaltyLogitsProcessor.prototype._call = function (ids, logits) {
      for (const id of new Set(ids[0])) logits.data[Number(id)] /= this.penalty;
      return logits;
    };
  },
  "top_k-ignored": () => changed(() => ({ top_k: 0 })),
  "temperature-zero-draws": () => changed(({ temperature }) => (temperature === 0 ? { temperature: 1 } : {})),
  "draws-twice": () => changed(({ do_sample }) => (engine.random.random(), { do_sample })),
};

FAULTS[fault]();
await import("./adapter.mjs");
