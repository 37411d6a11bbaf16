"""The token trie from TypeScript through bun:ffi, on the compiled library.

    python -m studies.trie_ffi

Behind `sampler-parity engines add bun`; takes a C++ compiler. The order of the calls, the tokens of
a text with a trie and of the next without, and what a call costs: medians, in nanoseconds. `step`
is one llama_sampler_apply and one llama_sampler_accept inside a span, `no trie` the same behind it,
greedy over the whole row; `nothing` is a call that returns a constant.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from sampler_parity.harness.engines.engine_file import engines_folder
from sampler_parity.harness.llama_cpp.compiled import SOURCES, compiled
from sampler_parity.harness.llama_cpp.libllama import default_folder
from studies.javascript_engines import ENGINES, SCRIPTS

TSAMPLER = engines_folder() / "tsampler"

RUNNER = TSAMPLER / "src" / "trie" / "runner.ts"


def output() -> dict[str, Any]:
    """Return the output of the script.

    Raises SystemExit if Bun is not installed, and CalledProcessError if the script fails.
    """
    if not Path(ENGINES["JavaScriptCore"][0]).is_file():
        sys.exit("Bun is not installed. Install it: sampler-parity engines add bun")
    libraries = [compiled(SOURCES / "token_trie.cpp"), default_folder() / "libllama.so"]
    words = [*ENGINES["JavaScriptCore"], str(SCRIPTS / "trie_ffi.ts"), *map(str, libraries)]
    done = subprocess.run(
        [*words, str(RUNNER)], check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    result = output()
    print(f"bun {result['bun']}\n")
    for text in (*result["trie"], *result["refused"]):
        print(" ".join(text["calls"]), text["tokens"])
    print("\n| candidates | nothing | step | no trie | set and clear |")
    print("| ---: " * 5 + "|")
    for row in result["costs"]:
        cells = (row[key] for key in ("n", "nothing", "step", "no_trie", "set_and_clear"))
        print("| " + " | ".join(f"{cell:,.0f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
