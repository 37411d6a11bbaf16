"""The command that runs a worker: its name and arguments follow."""

import sys

# -P: a random.py of the current folder is not loaded.
WORKER_COMMAND = [sys.executable, "-P", "-m", "sampler_parity.harness.backends.worker"]
