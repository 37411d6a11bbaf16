"""Whether this machine can put a program into a sandbox, and the command that does."""

import subprocess
import sys
import tempfile
from pathlib import Path

from sampler_parity.harness.errors import InputError

_PROGRAM = Path(__file__).with_name("sandbox.py")
_TIMEOUT_S = 30.0
_MEND = "run in a container without network, and without --sandbox"


def command(program: list[str], scratch: Path) -> list[str]:
    """What runs a program in a sandbox, in which it may write to the scratch file alone."""
    return [sys.executable, "-I", "-S", str(_PROGRAM), str(scratch), *program]


def refuse_unavailable() -> None:
    """Raises InputError where there is no sandbox to be had: nothing then runs without one."""
    if sys.platform != "linux":
        raise InputError("--sandbox", f"needs Linux, this is {sys.platform}", _MEND)
    with tempfile.NamedTemporaryFile() as scratch:
        trial = command([sys.executable, "-I", "-S", "-c", ""], Path(scratch.name))
        try:
            done = subprocess.run(trial, capture_output=True, timeout=_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError("--sandbox", f"cannot be tried here: {error}", _MEND) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = said[-1] if said else f"exit status {done.returncode}"
        raise InputError("--sandbox", f"this system allows none: {why}", _MEND)
