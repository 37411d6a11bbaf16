// The documented API of @lloyal-labs/tsampler 0.2.0. This is an implementation of its documentation
// by sampler-parity, not the package.

export * from "./filters.js";
export * from "./metrics.js";
export * from "./penalties.js";
export * from "./prng.js";
export * from "./strategies.js";
export * from "./workspace.js";
