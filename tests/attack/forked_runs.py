"""`python -m tests.attack.forked_runs`: runs of the command line, forked from one process.

Each line of JSON on stdin is a request. `{"run": [ARGUMENT, ...], "log": PATH}` starts a run in its
own session and prints its process id. `{"wait": PID}` prints its exit status, or the negative
number of a signal. Modules are imported once for all runs. The argument `forgets` plants a fault: a
resumed run forgets the last record of the run before.
"""

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from sampler_parity.harness.bundle import disk
from sampler_parity.harness.cli.__main__ import main
from sampler_parity.harness.run import run  # noqa: F401 - loaded for those that are forked


def child(arguments: list[str], log: str) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell and
    for number in (signal.SIGHUP, signal.SIGQUIT):  # under nohup they are ignored
        signal.signal(number, signal.SIG_DFL)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["sampler-parity", *arguments]
    main()


def forgetful(path: Path, size: int) -> None:
    lines = path.read_bytes()[:size].splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: max(1, len(lines) - 1)]))


if sys.argv[1:] == ["forgets"]:
    disk.cut = forgetful

for line in sys.stdin:
    asked = json.loads(line)
    if "run" in asked:
        pid = os.fork()
        if pid == 0:
            with suppress(KeyboardInterrupt):  # one that comes before the run has begun
                child(asked["run"], asked["log"])
            sys.exit(130)
        print(pid, flush=True)
    else:
        print(os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1]), flush=True)
