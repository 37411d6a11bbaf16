"""ignore_eos, wrong in one way each."""

import math
from typing import Any

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.reference.pipelines.ignore_eos import IgnoreEos
from sampler_parity.reference.samplers.logit_bias import LogitBias


class OneEnd(IgnoreEos):
    """Of several tokens that end a generation only EOS is banned."""

    def __init__(self, vocab: Any) -> None:
        super().__init__(vocab)
        self.bans = LogitBias([[vocab.eos, -math.inf]])


class BansNothing(IgnoreEos):
    """As vLLM's parameter of the same name: the generation goes on, the token may be drawn."""

    def __init__(self, vocab: Any) -> None:
        super().__init__(vocab)
        self.bans = LogitBias([])


class LargeBias(IgnoreEos):
    """A bias of -1e9 in place of -inf."""

    def __init__(self, vocab: Any) -> None:
        super().__init__(vocab)
        self.bans = LogitBias([[token, -1e9] for token in self.ends])


class LastId(IgnoreEos):
    """A vocabulary without EOT has -1 there, which is read from the end."""

    def __init__(self, vocab: Any) -> None:
        super().__init__(vocab)
        ends = {*self.ends, vocab.eot % len(vocab)}
        self.bans = LogitBias([[token, -math.inf] for token in sorted(ends)])


MUTANTS = [
    Mutant("ignore_eos/one-end", OneEnd, case="origin/ignore_eos-bans-every-end"),
    Mutant("ignore_eos/bans-nothing", BansNothing, case="origin/ignore_eos-bans-every-end"),
    Mutant("ignore_eos/large-bias", LargeBias, case="origin/ignore_eos-as-biases"),
    Mutant("ignore_eos/last-id", LastId, case="origin/ignore_eos-of-one-end"),
]
