// `node lloyal.mjs FOLDER FAULT`: lloyal.node with one fault, under its adapter.

import { packageOf } from "../shared/serve.mjs";

const [folder, fault] = process.argv.slice(2);
const addon = packageOf(folder, "@lloyal-labs/lloyal.node-linux-x64");
const { createContext } = addon;

/** _branchCreate with some of its parameters changed. */
const changed = (change) => ({
  _branchCreate: (context) => (position, params, size) =>
    context._branchCreate(position, { ...params, ...change(params) }, size),
});

const FAULTS = {
  "min_p-left-out": changed(() => ({ minP: 0 })),
  "window-of-64": changed(({ penalties }) => ({ penalties: { ...penalties, lastN: 64 } })),
  "another-seed": changed(({ seed }) => ({ seed: (seed + 1) % 2 ** 32 })),
  "temperature-zero-draws": changed(({ temperature }) => (temperature === 0 ? { temperature: 1 } : {})),
  "accepts-nothing": { _branchAccept: () => () => {} },
};

/** Its methods need the context itself as `this`. */
const get = (context, name) => FAULTS[fault][name]?.(context) ?? context[name]?.bind?.(context);

addon.createContext = async (options) => new Proxy(await createContext(options), { get });
await import("./adapter.mjs");
