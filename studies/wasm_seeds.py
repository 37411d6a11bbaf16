"""`python -m studies.wasm_seeds`: two samplers without a seed, made one behind the other, again and
again, on the build of `sampler-parity builds make wasm`: how many pairs draw the same 64 tokens.

There std::random_device has no entropy, so llama.cpp takes the clock for a seed. Another build can
be named.
"""

import sys

import numpy as np

from sampler_parity.harness.llama_cpp.platforms.worker import Worker
from sampler_parity.reference.random import DEFAULT_SEED

PAIRS, TOKENS = 200, 64
WITHOUT_SEED = [{"dist": {"seed": DEFAULT_SEED}}]


def main() -> int:
    worker = Worker(sys.argv[1] if sys.argv[1:] else "wasm")
    row = np.zeros(1000, np.float32)
    same = 0
    for _ in range(PAIRS):
        pair = [worker.build(WITHOUT_SEED, len(row), None) for _ in range(2)]
        drawn = [chain.draw(worker.candidates(row), TOKENS, None).tolist() for chain in pair]
        same += drawn[0] == drawn[1]
        del pair
    worker.program.close()
    print(f"{same} of {PAIRS} pairs draw the same {TOKENS} tokens of {len(row):,} equal ones")
    return int(same > 0)


if __name__ == "__main__":
    sys.exit(main())
