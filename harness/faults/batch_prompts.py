"""Batches whose rows take another row's prompt for a measure, in one way each."""

from sampler_parity.harness.faults.mutant import Mutant
from sampler_parity.harness.protocol.sampling import accept_past
from sampler_parity.harness.protocol.serving import Occupant, Serving

PADDING = 0  # a token of the vocabulary


class PaddingPenalized(Serving):
    """Prompts are made as long as the longest with a token of the vocabulary, which counts."""

    def join(self, number: int) -> Occupant:
        row = super().join(number)
        longest = max(len(sequence.prompt) for sequence in self.request.sequences)
        missing = longest - len(row.sequence.prompt)
        prompt = [PADDING] * missing + row.sequence.prompt
        row.instance.reset()
        accept_past(row.instance, [*prompt, *row.sequence.output], longest)
        return row


class BorderOfTheFirst(Serving):
    """The output of every row begins where that of the first sequence does."""

    def join(self, number: int) -> Occupant:
        row = super().join(number)
        past = [*row.sequence.prompt, *row.sequence.output]
        row.instance.reset()
        accept_past(row.instance, past, len(self.request.sequences[0].prompt))
        return row


_CASE = "batches/padding/V24-x4-steady"
MUTANTS = [
    Mutant(
        "batch/padding-penalized",
        PaddingPenalized,
        "text-generation-inference #1765",
        at="vllm_penalties",
        case=_CASE,
    ),
    Mutant("batch/border-of-the-first", BorderOfTheFirst, at="vllm_penalties", case=_CASE),
]
