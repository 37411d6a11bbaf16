"""The backends of this process. Each is started once and kept."""

import os
from multiprocessing.util import Finalize

from sampler_parity.harness.backends import registry
from sampler_parity.harness.protocol.process import BackendProcess

_started: dict[tuple[int, str, float], BackendProcess] = {}


def backend(name: str, timeout_s: float, version: str = "") -> BackendProcess:
    """Return this process's backend of that name. version: of the run; the backend must report
    it."""
    key = (os.getpid(), name, timeout_s)  # a forked process leaves its parent's backends alone
    if key not in _started:
        _started[key] = registry.start(name, timeout_s, copied=True)
        # not atexit, which a forked process of an executor skips
        Finalize(None, _started[key].close, exitpriority=0)
    if version:
        _started[key].version = version
    return _started[key]
