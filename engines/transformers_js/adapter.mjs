// `node adapter.mjs FOLDER`: Transformers.js, from the folder's node_modules.
//
// The stage transformers_js is one step of `generate` on a model whose forward pass gives the row of
// logits; dist and greedy are its final draw and argmax, on the remaining candidates.
// The other stages are the LogitsProcessor classes. engines/transformers_js/README.md has the readings.

import { packageOf, serve, Unsupported, versionOf } from "../shared/serve.mjs";

const NAME = "@huggingface/transformers";
const folder = process.argv[2] ?? ".";
const engine = packageOf(folder, NAME);
const { env, LogLevel, PreTrainedModel, random, Tensor, topk } = engine;
env.logLevel = LogLevel.ERROR;

/** A model of one row of logits. */
class Table extends PreTrainedModel {
  can_generate = true;
  main_input_name = "input_ids";
  forward_params = ["input_ids"];
  prepare_inputs_for_generation = (_ids, inputs) => inputs;
  forward = async () => ({ logits: tensor(this.row.slice(), 1) });

  constructor() {
    super({ model_type: "gpt2", is_encoder_decoder: false }, {}, {});
  }
}

const table = new Table();
const ids = (history) => new Tensor("int64", BigInt64Array.from(history, BigInt), [1, history.length]);
const tensor = (row, ...dims) => new Tensor("float32", row, [1, ...dims, row.length]);

/** One token of `generate`. */
async function generate(logits, history, options) {
  table.row = logits;
  const text = await table.generate({ inputs: ids(history), max_new_tokens: 1, ...options });
  return Number(text.data.at(-1));
}

const UNSEEDED = 0xffffffff; // LLAMA_DEFAULT_SEED: a random one

// The package has one generator: each instance restores its own state before it draws.
let owner = null;

function turnTo(stage) {
  if (owner === stage) return;
  const { seed } = stage.parameters;
  random.seed(seed === UNSEEDED ? undefined : seed);
  for (let i = 0; i < stage.draws; i++) random.random();
  owner = stage;
}

async function sample(stage, logits, history, options) {
  turnTo(stage);
  const token = await generate(logits, history, options);
  // The drawn numbers: none at temperature 0, which is greedy.
  if (options.do_sample && options.temperature !== 0) stage.draws += 1;
  return token;
}

const only = (holds, message) => {
  if (!holds) throw new Unsupported(message);
};

/** The processor of a stage, or null if `generate` makes none. */
const PROCESSORS = {
  temp({ temp }) {
    if (temp === 0) throw new Error("temperature 0 is no processor: generate turns to greedy");
    return temp === 1 ? null : new engine.TemperatureLogitsWarper(temp);
  },
  penalties({ penalty_last_n, penalty_repeat, penalty_freq, penalty_present }) {
    only(penalty_freq === 0 && penalty_present === 0, "no frequency and no presence penalty");
    const off = penalty_repeat === 1 || penalty_last_n <= 0;
    return off ? null : new engine.RepetitionPenaltyLogitsProcessor(penalty_repeat);
  },
  transformers_repetition_penalty({ penalty, prompt_ignore_length = 0 }) {
    only(prompt_ignore_length === 0, "no prompt_ignore_length");
    return penalty === 1 ? null : new engine.RepetitionPenaltyLogitsProcessor(penalty);
  },
  transformers_no_bad_words: ({ bad_words_ids, eos_token_id = [] }) =>
    new engine.NoBadWordsLogitsProcessor(bad_words_ids, eos_token_id),
  transformers_min_length: ({ min_length = 0, eos_token_id = [] }) =>
    new engine.MinLengthLogitsProcessor(min_length, eos_token_id),
  transformers_min_new_tokens: ({ min_new_tokens = 0, eos_token_id = [] }, nPrompt) =>
    new engine.MinNewTokensLengthLogitsProcessor(nPrompt, min_new_tokens, eos_token_id),
};

async function keepTopK(candidates, k) {
  if (k <= 0) return;
  const [values, at] = await topk(tensor(candidates.logits), k);
  const take = (array) => array.constructor.from(at.data, (i) => array[Number(i)]);
  [candidates.ids, candidates.p] = [take(candidates.ids), take(candidates.p)];
  candidates.logits = values.data;
}

const SAMPLERS = ["greedy", "dist", "top_k", "transformers_js", ...Object.keys(PROCESSORS)];

class Instance {
  constructor(stages) {
    this.stages = stages.map(([name, parameters]) => ({ name, parameters, draws: 0 }));
    this.prompt = [];
    this.output = [];
    for (const { name, parameters } of this.stages) {
      only(SAMPLERS.includes(name), `no sampler ${name}`);
      PROCESSORS[name]?.(parameters, 0); // the class refuses wrong values at once
    }
  }

  async apply(index, candidates) {
    const stage = this.stages[index];
    const { name, parameters } = stage;
    const history = [...this.prompt, ...this.output];
    if (name in PROCESSORS) {
      const seen = name === "penalties" ? history.slice(-parameters.penalty_last_n || history.length) : history;
      const processor = PROCESSORS[name](parameters, this.prompt.length);
      if (processor) candidates.logits = processor(ids(seen).tolist(), tensor(candidates.logits)).data;
    } else if (name === "top_k") {
      await keepTopK(candidates, parameters.k);
    } else if (name === "transformers_js") {
      const { seed, ...options } = parameters;
      candidates.token = await sample(stage, candidates.logits, history, options);
    } else {
      const options = { do_sample: name === "dist", top_k: 0 };
      candidates.token = candidates.ids[await sample(stage, candidates.logits, [], options)];
      if (name === "dist") candidates.p = engine.softmax(candidates.logits);
    }
  }

  accept(token, ofPrompt) {
    (ofPrompt ? this.prompt : this.output).push(token);
  }

  reset() {
    [this.prompt, this.output, owner] = [[], [], null];
    for (const stage of this.stages) stage.draws = 0;
  }

  clone() {
    const twin = new Instance(this.stages.map(({ name, parameters }) => [name, parameters]));
    [twin.prompt, twin.output] = [[...this.prompt], [...this.output]];
    twin.stages.forEach((stage, i) => (stage.draws = this.stages[i].draws));
    return twin;
  }
}

await serve({
  name: "Transformers.js",
  version: versionOf(folder, NAME),
  build: `Node.js ${process.versions.node}, V8 ${process.versions.v8}`,
  samplers: SAMPLERS,
  arithmetic: { sums: "float64", summation: "sequential", exp_ulps: 1 }, // rounded as it is stored
  make: (stages) => new Instance(stages),
});
