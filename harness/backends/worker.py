"""`python -m sampler_parity.harness.backends.worker NAME`: a Python backend as a process
that speaks the protocol.

The backend is a class `Worker` with four methods (harness/protocol/interface.py); the rest is in
harness/protocol/handlers.py and serve.py.
"""

import importlib
import sys
from typing import cast

from sampler_parity.harness.backends.engines import WORKERS
from sampler_parity.harness.protocol.interface import Worker
from sampler_parity.harness.protocol.serve import run_worker


def main() -> None:
    name, *arguments = sys.argv[1:]
    run_worker(lambda: cast(Worker, importlib.import_module(WORKERS[name]).Worker(*arguments)))


if __name__ == "__main__":
    main()
