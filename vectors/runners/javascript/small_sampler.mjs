// A small right sampler, and four faults: FAULT=crossing, ties, once or reset.

const FAULT = process.env.FAULT ?? "";

// The ids and logits that are left, and the token; null for another sampler.
export function sample(name, test) {
  const { ids, logits, parameters: of } = test;
  // Two of -inf give NaN, which a sort takes as equal.
  const order = [...ids.keys()].sort((a, b) => logits[b] - logits[a]);
  if (name === "greedy") return { ids, logits, token: ids[order[0]] };
  if (name === "dist") {
    return { ids, logits, token: ids[drawn(probabilities(logits), test.uniform)] };
  }
  if (name === "temp" && of.temp > 0) return { ids, logits: logits.map((x) => x / of.temp) };
  if (name === "penalties") return { ids, logits: penalized(ids, logits, test.tokens ?? [], of) };
  const n = survivors(name, logits, order, of);
  if (n === null) return null;
  const kept = order.slice(0, n);
  return { ids: kept.map((i) => ids[i]), logits: kept.map((i) => logits[i]) };
}

// A sampler with a state, or null. A generator would take the seed.
export function make(name, parameters, seed) {
  return name === "penalties" || name === "dist" ? new WithHistory(name, parameters) : null;
}

class WithHistory {
  constructor(name, parameters, tokens = []) {
    Object.assign(this, { name, parameters, tokens: [...tokens] });
  }

  apply(test) {
    return sample(this.name, { ...test, parameters: this.parameters, tokens: this.tokens });
  }

  accept(token) {
    this.tokens.push(token);
  }

  reset() {
    if (FAULT !== "reset") this.tokens = [];
  }

  clone() {
    return new WithHistory(this.name, this.parameters, this.tokens);
  }
}

// How many of the largest logits stay; null for another sampler.
function survivors(name, logits, order, of) {
  const least = Math.max(1, of.min_keep ?? 0);
  if (name === "temp") return 1;
  if (name === "top_k") {
    const k = of.k > 0 ? Math.min(of.k, order.length) : order.length;
    return FAULT === "ties" ? countFrom(logits[order[k - 1]], logits) : k;
  }
  if (name === "top_p" && of.p < 1) {
    const shares = probabilities(logits);
    let mass = 0;
    for (let n = 1; n <= order.length; n++) {
      mass += shares[order[n - 1]];
      if (mass >= of.p) return Math.max(FAULT === "crossing" ? n - 1 : n, least);
    }
    return order.length;
  }
  if (name === "min_p" && of.p > 0) {
    const cut = Math.max(...logits) + Math.log(Math.min(of.p, 1));
    return Math.max(of.p <= 1 ? countFrom(cut, logits) : 1, least);
  }
  return name === "top_p" || name === "min_p" ? order.length : null;
}

function countFrom(cut, logits) {
  return logits.filter((x) => x >= cut).length;
}

function probabilities(logits) {
  const largest = Math.max(...logits);
  const weights = logits.map((x) => Math.exp(x - largest));
  const sum = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / sum);
}

function drawn(shares, u) {
  let mass = 0;
  for (let i = 0; i < shares.length; i++) {
    mass += shares[i];
    if (u < mass) return i;
  }
  return shares.findLastIndex((share) => share > 0);
}

function penalized(ids, logits, tokens, of) {
  const window = of.penalty_last_n > 0 ? tokens.slice(-of.penalty_last_n) : [];
  const { penalty_repeat: repeat = 1, penalty_freq: freq = 0, penalty_present: present = 0 } = of;
  return logits.map((x, k) => {
    const count = window.filter((token) => token === ids[k]).length;
    if (count === 0) return x;
    const times = FAULT === "once" ? count : 1;
    return (x <= 0 ? x * repeat : x / repeat) - count * freq - times * present;
  });
}
