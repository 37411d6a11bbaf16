"""`python -m studies.platforms`: record what real builds give on the cases of
tests/support/platform_cases.py, each build by its worker.

    sampler-parity builds add @node-llama-cpp/linux-arm64@3.22.1
    for name in libc++ wasm arm64-gcc; do sampler-parity builds make $name; done
    python -m studies.platforms

Of a platform only what differs from the installed llama.cpp is written: the rest is as there.
"""

import json
import sys
from typing import Any

from sampler_parity.harness.backends.llama_cpp import worker as here
from sampler_parity.harness.backends.llama_cpp.recorded import find, today
from sampler_parity.harness.backends.platforms.worker import Worker
from tests.support.platform_cases import DEFAULT, FILE, cases, outcome

BUILDS = ("libc++", "wasm", "arm64-gcc", "v0.5.0-linux-arm64")


def main() -> int:
    builds = sys.argv[1:] or BUILDS
    native = here.Worker()
    expected = {name: outcome(native, case) for name, case in cases().items()}
    made: dict[str, Any] = {DEFAULT: native.hello().build}
    results: dict[str, Any] = {DEFAULT: expected}
    for name in builds:
        worker, build = Worker(name), find(name)
        assert build is not None
        outcomes = {name: outcome(worker, case) for name, case in cases().items()}
        apart = {name: steps for name, steps in outcomes.items() if steps != expected[name]}
        results[build.platform] = apart
        made[build.platform] = f"{build.package or build.again()}: {worker.hello().build}"
        print(f"{build.platform:<20} {len(apart):>3} of {len(outcomes)} cases apart")
    content = {"command": "python -m studies.platforms", "date": today(), "made": made}
    lines = json.dumps(content | {"results": results}, indent=0)
    FILE.write_text(lines + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
