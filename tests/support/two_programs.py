"""A wrong and a right sampler as programs, and a bundle of each, called `mine` in both."""

import sys
from hashlib import sha256
from pathlib import Path
from unittest import mock

from sampler_parity.harness.run import shrinking
from tests.support.command_line import cli

SUITES = ("parity/greedy", "parity/logit_bias")
FAULT = "greedy/last-of-equal-wins"
PROGRAM = """\
import sys
from sampler_parity.harness.backends import worker

sys.argv = {arguments}
worker.main()
"""


def make_bundles(folder: Path, suites: tuple[str, ...] = SUITES, minimized: bool = True) -> None:
    """Write wrong.py, right.py and their bundles `wrong` and `right` into a folder.

    minimized: false to leave failures as they are, which saves seconds.
    """
    limits = {} if minimized else {"MINIMIZED": 0}
    for name, arguments in (("wrong", ["mutant", FAULT]), ("right", ["reference"])):
        program = folder / f"{name}.py"
        program.write_text(PROGRAM.format(arguments=["worker", *arguments]))
        backend = f"mine={sys.executable} {program}"
        with mock.patch.dict(vars(shrinking), limits):
            cli("run", *suites, "-b", backend, "-o", folder / name, "-q", "-j", "1")


def digest_of(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
