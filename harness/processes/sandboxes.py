"""Make the command that runs a program in a sandbox, and test whether this machine can."""

import subprocess
import sys
import tempfile
from pathlib import Path

from sampler_parity.harness.errors import InputError

_PROGRAM = Path(__file__).with_name("sandbox.py")
_TIMEOUT_S = 30.0
_FIX = "run in a container without network, and without --sandbox"


def command(program: list[str], scratch: Path) -> list[str]:
    """Return the command that runs a program in a sandbox with one writable file."""
    return [sys.executable, "-I", "-S", str(_PROGRAM), str(scratch), *program]


def refuse_unavailable() -> None:
    """Raise InputError if no sandbox is available: the run then ends."""
    if sys.platform != "linux":
        raise InputError("--sandbox", f"needs Linux, this is {sys.platform}", _FIX)
    with tempfile.NamedTemporaryFile() as scratch:
        trial = command([sys.executable, "-I", "-S", "-c", ""], Path(scratch.name))
        try:
            result = subprocess.run(trial, capture_output=True, timeout=_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError("--sandbox", f"cannot be tried here: {error}", _FIX) from None
    if result.returncode:
        output = result.stderr.decode(errors="replace").strip().splitlines()
        why = output[-1] if output else f"exit status {result.returncode}"
        raise InputError("--sandbox", f"this system allows none: {why}", _FIX)
