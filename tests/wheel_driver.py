"""Runs commands of the installed command line one after another, in one process and this folder.

`python wheel_driver.py '[["backends"], ...]'` prints a line of JSON for each: exit status, output.
"""

import json
import sys
import time

from typer.testing import CliRunner


def main() -> None:
    from harness.cli import app  # the one of the environment that runs this file

    for arguments in json.loads(sys.argv[1]):
        start = time.monotonic()
        sys.argv[1:] = arguments
        done = CliRunner().invoke(app, arguments)
        error = done.exception if not isinstance(done.exception, SystemExit) else None
        said = f"{done.output}{error or ''}"
        seconds = round(time.monotonic() - start, 1)
        line = {"arguments": arguments, "status": done.exit_code, "said": said, "s": seconds}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
