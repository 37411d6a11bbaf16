// `node --import packages.mjs?of=FOLDER adapter.mjs`: what adapter.mjs imports and has not beside it
// is taken from FOLDER/node_modules, the environment of its engine.

import { register } from "node:module";
import { pathToFileURL } from "node:url";

const folder = new URL(import.meta.url).searchParams.get("of");
if (folder) {
  const parent = pathToFileURL(`${folder}/package.json`).href;
  register(new URL("./packages.mjs", import.meta.url), { data: parent });
}

let parentURL;

export function initialize(parent) {
  parentURL = parent;
}

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || /^([./]|[a-z]+:)/.test(specifier)) throw error;
    return next(specifier, { ...context, parentURL });
  }
}
