"""tsampler's arithmetic in other JavaScript engines than Node.js: JavaScriptCore and Hermes.

`python -m studies.javascript_engines math` and `... api`, after `sampler-parity engines add bun
hermes`, for tsampler's page.

math: for how many arguments Math.exp and Math.log differ from V8 and from glibc, and by how many
units in the last place.
api: which sets, tokens and metrics of our TypeScript differ from those on Node.js.
"""

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sampler_parity.harness.backends.environments import folder_of
from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.inputs import fixtures
from sampler_parity.reference import floats

TSAMPLER = engines_folder() / "tsampler"

ENGINES = {
    "V8": ["node"],
    "JavaScriptCore": [
        str(folder_of("bun") / "node_modules" / "@oven" / "bun-linux-x64" / "bin" / "bun")
    ],
    "Hermes": [
        str(folder_of("hermes") / "node_modules" / "hermes-engine-cli" / "linux64-bin" / "hermes")
    ],
}
SCRIPTS = Path(__file__).parent / "javascript"
N = 500_000


def output_of(engine: str, script: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.js"
        path.write_text(script)
        done = subprocess.run(
            [*ENGINES[engine], str(path)], check=True, capture_output=True, encoding="utf-8"
        )
    return done.stdout.splitlines()


def _doubles(lines: list[str]) -> list[NDArray[np.float64]]:
    """Return argument and result of exp, argument and result of log."""
    words = np.array([line.split() for line in lines], dtype=np.uint64)
    high, low = words[:, 0::2] << np.uint64(32), words[:, 1::2]
    return [np.ascontiguousarray(column).view(np.float64) for column in (high | low).T]


def math() -> None:
    script = f"var N = {N};\n{(SCRIPTS / 'math.js').read_text()}"
    results = {engine: _doubles(output_of(engine, script)) for engine in ENGINES}
    for name, at in (("exp", 1), ("log", 3)):
        argument = results["V8"][at - 1]
        results["glibc"] = [argument, getattr(floats, name)(argument)] * 2
        for one, other in (
            ("JavaScriptCore", "V8"),
            ("Hermes", "V8"),
            ("JavaScriptCore", "glibc"),
            ("Hermes", "glibc"),
        ):
            a, b = results[one][at], results[other][at]
            ulps = np.abs(a.view(np.int64) - b.view(np.int64))
            rounded = int((a.astype(np.float32) != b.astype(np.float32)).sum())
            print(
                f"{name}: {one} differs from {other} for {int((ulps > 0).sum()):,} of {N:,},"
                f" by {int(ulps.max())} ulp at most; rounded to float32 for {rounded}"
            )


def _rows() -> str:
    """Return the 320 rows of golden/small.gguf as the bits of float32."""
    rows = [fixtures.load("small")[i].astype(np.float32).view(np.uint32) for i in range(320)]
    return "\n".join(f"ROWS.push([{','.join(map(str, row.tolist()))}]);" for row in rows)


def api() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "api.js"
        tsc = [str(TSAMPLER / "node_modules" / ".bin" / "tsc"), str(TSAMPLER / "src/api/index.ts")]
        tsc += ["--target", "es5", "--lib", "es2023", "--module", "amd", "--outFile", str(out)]
        tsc += ["--downlevelIteration", "--moduleResolution", "node"]
        tsc += ["--ignoreDeprecations", "5.0"]
        subprocess.run(
            tsc, check=False, capture_output=True, cwd=TSAMPLER
        )  # refuses 1n below ES2020, and writes
        text = (SCRIPTS / "define.js").read_text() + out.read_text()
    script = (
        f"{text}\nvar api = made.index, ROWS = [];\n{_rows()}\n{(SCRIPTS / 'api.js').read_text()}"
    )
    lines = {engine: output_of(engine, script) for engine in ENGINES}
    for engine in ("JavaScriptCore", "Hermes"):
        all_of, other = Counter[str](), Counter[str]()
        for ours, theirs in zip(lines["V8"], lines[engine], strict=True):
            kind = ours.split()[0]
            all_of[kind] += 1
            other[kind] += ours != theirs
        print(f"{engine}: " + ", ".join(f"{other[k]} of {n} {k}" for k, n in all_of.items()))


if __name__ == "__main__":
    for section in sys.argv[1:] or ["math", "api"]:
        {"math": math, "api": api}[section]()
