// Transformers.js takes top_p, min_p and typical_p and heeds none of them; a negative temperature is taken, too.
//
//     npm install --ignore-scripts @huggingface/transformers@4.3.1
//     node finding_46_unheeded.mjs
//
// `generate` on a model whose forward pass gives five logits, 20,000 tokens a line. Nothing else is needed.

import { env, LogLevel, PreTrainedModel, random, Tensor } from "@huggingface/transformers";

env.logLevel = LogLevel.ERROR;
const LOGITS = [1, 3, 2, 2, 0.5];
const N = 20_000;

class Table extends PreTrainedModel {
  can_generate = true;
  main_input_name = "input_ids";
  forward_params = ["input_ids"];
  prepare_inputs_for_generation = (_ids, inputs) => inputs;
  forward = async () => ({ logits: new Tensor("float32", Float32Array.from(LOGITS), [1, 1, LOGITS.length]) });

  constructor() {
    super({ model_type: "gpt2", is_encoder_decoder: false }, {}, {});
  }
}

const model = new Table();

/** How often each token came. */
async function counts(options) {
  random.seed(1);
  const all = LOGITS.map(() => 0);
  for (let i = 0; i < N; i++) {
    const inputs = new Tensor("int64", [0n], [1, 1]);
    const text = await model.generate({ inputs, max_new_tokens: 1, do_sample: true, top_k: 0, ...options });
    all[Number(text.data.at(-1))] += 1;
  }
  return all;
}

/** N times the softmax of the logits that `keep` lets through. */
function expected(keep, temperature = 1) {
  const weights = LOGITS.map((l, id) => (keep(id) ? Math.exp(l / temperature) : 0));
  const total = weights.reduce((a, b) => a + b);
  return weights.map((w) => Math.round((N * w) / total));
}

async function show(what, wanted, options) {
  const got = await counts(options).catch(() => ["an error"]);
  console.log(`${what}\n  expected ${wanted.join(" ")}\n  got      ${got.join(" ")}`);
  const refused = wanted[0] === "an error" ? got[0] === wanted[0] : true;
  if (!refused || got.some((n, id) => n > 0 && wanted[id] === 0)) process.exitCode = 1;
}

await show("no filter", expected(() => true), {});
await show("top_p 0.3: token 1 alone has 0.50", expected((id) => id === 1), { top_p: 0.3 });
await show("min_p 0.9: token 1 alone", expected((id) => id === 1), { min_p: 0.9 });
await show("top_k 2, which is heeded", expected((id) => id === 1 || id === 2), { top_k: 2 });
await show("temperature -1, which a message that is never thrown refuses", ["an error"], { temperature: -1 });
