"""`python -m studies.platforms`: record the results of real builds on the cases of
tests/support/platform_cases.py, each build by its worker.

    sampler-parity builds add @node-llama-cpp/linux-arm64@3.22.1
    sampler-parity builds make libc++ libc++19 wasm arm64-gcc musl x64-v3 portable
    sampler-parity builds add @node-llama-cpp/win-x64@3.21.1
    python -m studies.platforms

Windows's package was compiled with its assertions: it aborts if a logit is infinite, and does not
get these cases.

Only differences of a platform from the installed llama.cpp are written. With names of builds behind
it, only these run, and the records of others stay.
"""

import json
import sys
from typing import Any

from sampler_parity.harness.llama_cpp import worker as here
from sampler_parity.harness.llama_cpp.platforms.worker import Worker
from sampler_parity.harness.llama_cpp.recorded import find, today
from tests.support.platform_cases import DEFAULT, FILE, cases, names_of, outcome, recorded

BUILDS = (
    *("libc++", "libc++19", "wasm", "arm64-gcc", "v0.5.0-linux-arm64", "musl", "x64-v3"),
    *("v0.4.0-win-x64", "portable"),
)


def main() -> int:
    builds = sys.argv[1:] or BUILDS
    native = here.Worker()
    expected = {name: outcome(native, case) for name, case in cases().items()}
    before = recorded() if sys.argv[1:] else {"made": {}, "results": {}}
    made: dict[str, Any] = before["made"] | {DEFAULT: native.hello().build}
    results: dict[str, Any] = before["results"] | {DEFAULT: expected}
    for name in builds:
        worker, build = Worker(name), find(name)
        assert build is not None
        about = worker.hello().build
        asked = names_of(build.platform)
        outcomes = {name: outcome(worker, cases()[name]) for name in asked}
        worker.program.close()
        apart = {name: steps for name, steps in outcomes.items() if steps != expected[name]}
        results[build.platform] = apart
        made[build.platform] = f"{build.package or build.again()}: {about}"
        print(f"{build.platform:<20} {len(apart):>3} of {len(outcomes)} cases apart")
    content = {"command": "python -m studies.platforms", "date": today(), "made": made}
    lines = json.dumps(content | {"results": results}, indent=0)
    FILE.write_text(lines + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
