"""The backends of this process: each is started once, and kept."""

import os
from multiprocessing.util import Finalize

from sampler_parity.harness.backends import registry
from sampler_parity.harness.protocol.process import BackendProcess

_started: dict[tuple[int, str, float], BackendProcess] = {}


def backend(name: str, timeout_s: float, version: str = "") -> BackendProcess:
    """This process's backend of that name. version: that of the run, which it must say, too."""
    key = (os.getpid(), name, timeout_s)  # what was forked leaves its parent's backends alone
    if key not in _started:
        _started[key] = registry.start(name, timeout_s, copied=True)
        # and not atexit, which a forked process of an executor passes by
        Finalize(None, _started[key].close, exitpriority=0)
    if version:
        _started[key].version = version
    return _started[key]
