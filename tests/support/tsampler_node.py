"""Run JavaScript against our TypeScript, for the tests of tsampler and of the trie's calls."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sampler_parity.harness.engines.engine_file import engines_folder

TSAMPLER = engines_folder() / "tsampler"

API = TSAMPLER / "dist" / "api" / "index.js"
TRIE_RUNNER = TSAMPLER / "dist" / "trie" / "runner.js"


def run_js(body: str, data: Any = None, module: Path = API) -> Any:
    """Return the value that `body` returns or promises, as JSON; numbers pass without loss.

    `body` sees `api`, the module, and `data`. Skip without Node.js; fail if it is installed but the
    TypeScript was not built.
    """
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    assert module.is_file(), "the TypeScript is not built: run `make tsampler`"
    script = f"""
        import * as api from {json.dumps(module.as_uri())};
        import {{ readFileSync }} from "node:fs";
        const data = JSON.parse(readFileSync(0, "utf8"));
        const number = (x) => typeof x !== "string" ? x : Number(x);
        const f32 = (xs) => Float32Array.from(xs, number);
        const result = await (() => {{ {body} }})();
        const plain = (_, x) => typeof x === "number" && !Number.isFinite(x) ? String(x) : x;
        console.log(JSON.stringify(result, plain));
    """
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps(_sendable(data)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _sendable(value: Any) -> Any:
    """Replace infinities and NaN, which JSON lacks, by strings that Number() reads."""
    names = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    if isinstance(value, float):
        return "NaN" if value != value else names.get(value, value)
    if isinstance(value, list | tuple):
        return [_sendable(item) for item in value]
    return value
