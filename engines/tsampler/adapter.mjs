// `node adapter.mjs own|published` starts the built adapter, or prints how to build it.

import { existsSync } from "node:fs";

const main = new URL("./dist/adapter/main.js", import.meta.url);
if (!existsSync(main)) {
  console.error("not built: run `make tsampler`, which needs npm");
  process.exit(1);
}
await import(main);
