"""The backends of this process. Each is started once and kept."""

import os
from collections.abc import Sequence
from multiprocessing.util import Finalize

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle.info import FileInfo
from sampler_parity.harness.protocol.process import BackendProcess

_started: dict[tuple[int, str, float], BackendProcess] = {}


def backend(
    name: str, timeout_s: float, version: str = "", files: Sequence[FileInfo] = ()
) -> BackendProcess:
    """Return this process's backend of that name. version: of the run; the backend must report
    it. files: of the run; each start must find them."""
    key = (os.getpid(), name, timeout_s)  # a forked process leaves its parent's backends alone
    if key not in _started:
        _started[key] = registry.start(name, timeout_s, copied=True)
        # not atexit, which a forked process of an executor skips
        Finalize(None, _started[key].close, exitpriority=0)
    if version:
        _started[key].version = version
    registry.expect(_started[key], files)
    return _started[key]
