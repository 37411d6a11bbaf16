"""`python -m sampler_parity.harness.backends.worker NAME`: a Python backend as a process
that speaks the protocol.

The backend is a class `Worker` with four methods (harness/protocol/interface.py); the rest is in
harness/protocol/server.py and serve.py.
"""

import importlib
import sys
from typing import TYPE_CHECKING, cast

from sampler_parity.harness.errors import InputError
from sampler_parity.harness.processes.garbage import collection_paused

if TYPE_CHECKING:
    from sampler_parity.harness.protocol.interface import Worker


def main() -> None:
    with collection_paused():
        from sampler_parity.harness.protocol.serve import run_worker
    try:
        run_worker(worker)
    except InputError as error:  # the reason why it does not run here, not a traceback
        sys.exit(str(error))


def worker() -> "Worker":
    """Return the backend of our arguments."""
    name, *arguments = sys.argv[1:]
    with collection_paused():
        from sampler_parity.harness.backends.engines import worker_module

        module = importlib.import_module(worker_module(name))
    return cast("Worker", module.Worker(*arguments))


if __name__ == "__main__":
    main()
