"""The command line, in this process or in one of its own."""

import contextlib
import io
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from sampler_parity.harness.cli.app import DEFECT, main

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = [sys.executable, "-c", "from sampler_parity.harness.cli.app import main; main()"]


class Done(NamedTuple):
    """What a finished command left."""

    returncode: int
    stdout: str
    stderr: str


def cli(*arguments: str | Path) -> Done:
    """`sampler-parity` in the root of the repository, without the start of another process."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    with (
        contextlib.chdir(ROOT),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["sampler-parity", *map(str, arguments)]),
    ):
        try:
            main()
        except SystemExit as exit:
            status = exit.code or 0
    assert isinstance(status, int), status
    assert DEFECT not in err.getvalue(), err.getvalue()  # the roof must not hide a failure of ours
    return Done(status, out.getvalue(), err.getvalue())


def refused(done: Done) -> str:
    """The one line of a refusal."""
    assert done.returncode == 2, done.stdout + done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0]
