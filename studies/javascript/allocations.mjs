// The memory of tsampler's TypeScript, for studies/tsampler.py: node allocations.mjs URL_OF_API
const api = await import(process.argv[2]);
const tokens = 1000, n = 65536;
const logits = Float32Array.from({length: n}, (_, i) => 10 - 1.2 * Math.log(1 + (i * 7919) % n));
const perToken = {};
for (const penaltyRepeat of [1, 1.1]) {
  const tokenHistory = new api.TokenHistoryTracker(64), workspace = new api.SamplerWorkspace();
  const prng = new api.Xoroshiro128Plus(1), params = {penaltyRepeat};
  const opts = {tokenHistory, workspace, prng, params};
  const step = () => tokenHistory.accept(api.sampleWithStrategy(logits, opts));
  for (let i = 0; i < 500; i++) step();
  global.gc();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < tokens; i++) step();
  perToken[penaltyRepeat] = (process.memoryUsage().heapUsed - before) / tokens;
}
const full = new api.SamplerWorkspace();
api.applyTopK(logits, 0, full);
console.log(JSON.stringify({perToken, slots: [64, 256, 512, full.capacity]}));
