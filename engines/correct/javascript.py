"""correct/javascript: javascript.mjs on Node.js, float32 by Math.fround, exp and log in double."""

import shutil
from pathlib import Path

from sampler_parity.engines.correct import worker
from sampler_parity.engines.correct.program import CALLS, Program
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.arithmetic import Arithmetic


class JavaScript(Program):
    arithmetic = Arithmetic(summation="sequential", exp_ulps=1, stable_sort=True)


class Worker(worker.Worker):
    name = "correct/javascript"
    samplers = CALLS

    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None:
            raise InputError(self.name, "needs Node.js", "install it")
        super().__init__(JavaScript([node, str(Path(__file__).with_suffix(".mjs"))]))
