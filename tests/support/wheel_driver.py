"""Run commands of the installed command line one after another, in one process and this folder.

`python wheel_driver.py '[["backends"], ...]'` prints a line of JSON for each: exit status, output.
It is one process, because importing takes longer than most of the commands.
"""

import json
import sys

import pytest
from typer.testing import CliRunner

ROUNDS = (10, 20)  # of a trial; after the default of 80 the command prints nothing more
FEW = ("llama.cpp", "reference", "null", "tsampler", "akunu/webgpu")


def main() -> None:
    from sampler_parity.harness import lint
    from sampler_parity.harness.backends import (
        engines,  # those of the environment that runs this file
    )
    from sampler_parity.harness.cli.app import app
    from sampler_parity.harness.errors import InputError
    from sampler_parity.harness.run import shrinking as smaller
    from sampler_parity.maintenance.calibration import timing_selfcheck as selfcheck

    # tests/suite/test_lint.py expands all suites: these are the same to the byte.
    items = lint._items
    lint._items = lambda file, profile: (
        items(file, profile) if file.path.stem == "top_p" else iter(())
    )

    smaller.MINIMIZED = 0  # tests/run/test_shrinking.py makes failures small
    selfcheck.ROUNDS = ROUNDS
    every, monkey = tuple(engines.ENGINES), pytest.MonkeyPatch()
    for arguments in json.loads(sys.argv[1]):
        sys.argv[1:] = arguments
        named = FEW if arguments == ["backends"] else every  # to start all takes half a minute
        monkey.setattr(engines.Engines, "__iter__", lambda _, named=named: iter(named))
        done = CliRunner().invoke(app, arguments)
        error = "" if isinstance(done.exception, SystemExit) else done.exception or ""
        status = 2 if isinstance(done.exception, InputError) else done.exit_code  # as in main
        line = {"status": status, "output": f"{done.output}{error}"}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
