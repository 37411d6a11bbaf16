"""Cases that measure the logits of a prompt on every device."""

from typing import ClassVar

from sampler_parity.harness.checks.case import Case
from sampler_parity.harness.inputs.logits import Computed


class LogitsCase(Case):
    """The logits of a prompt, without a chain."""

    check: ClassVar[str] = "logits"

    logits: Computed
