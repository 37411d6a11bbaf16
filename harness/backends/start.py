"""`ENVIRONMENT/bin/python -I start.py NAME`: a worker in the environment of its engine.

Only `sampler_parity` can be imported from our environment.
"""

import sys
from pathlib import Path
from types import ModuleType


def main() -> None:
    ours = ModuleType("sampler_parity")
    ours.__path__ = [str(Path(__file__).resolve().parents[2])]
    sys.modules["sampler_parity"] = ours
    from sampler_parity.harness.backends import worker

    worker.main()


if __name__ == "__main__":
    main()
