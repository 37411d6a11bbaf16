"""The tokens that a model had read when it computed a row of logits, from the recorded batches."""

from sampler_parity.programs.recording.events import Decode


class Contexts:
    """The sequences of all contexts. One with a gap (copied or shifted) is unknown until it begins
    anew: None. prompts: by chain, of engines that record no batches."""

    def __init__(self) -> None:
        self.prompts: dict[str, list[int]] = {}
        self._tokens: dict[tuple[str, int], list[int] | None] = {}
        self._rows: dict[str, list[tuple[int, int]]] = {}  # sequence and position, of a batch
        self._outputs: dict[str, list[int]] = {}  # the rows that have logits

    def take(self, batch: Decode) -> None:
        """Follow a batch. One that failed changes nothing."""
        if batch.result:
            return
        rows = self._rows[batch.ctx] = self._rows.get(batch.ctx, [])[: batch.at]
        before = self._outputs.get(batch.ctx, []) if batch.at else []
        self._outputs[batch.ctx] = before + batch.out
        for i, token in enumerate(batch.tokens):
            listed = batch.seq[i] if i < len(batch.seq) else 0
            sequences = (listed if isinstance(listed, list) else [listed]) or [-1]
            ends = [self._append(batch, i, token, sequence) for sequence in sequences]
            rows.append(ends[0])

    def _append(self, batch: Decode, i: int, token: int, sequence: int) -> tuple[int, int]:
        """Put a token at its position, instead of what followed."""
        tokens = self._tokens.get((batch.ctx, sequence), [])
        at = batch.pos[i] if i < len(batch.pos) else len(tokens or [])
        tokens = [] if not at else tokens if tokens is not None and 0 < at <= len(tokens) else None
        if tokens is not None:
            tokens[at:] = [token]
        self._tokens[batch.ctx, sequence] = tokens
        return sequence, at

    def tokens(self, ctx: str | None, row: int | None) -> list[int] | None:
        """Return the tokens before a row of logits, that of the row included; None if they are not
        recorded. row: as llama_get_logits_ith has it, negative from the end."""
        rows, outputs = self._rows.get(ctx or "", []), self._outputs.get(ctx or "", [])
        if row is not None and row < 0:
            row = outputs[row] if -row <= len(outputs) else None
        if row is None or row >= len(rows):
            return None
        sequence, at = rows[row]
        tokens = self._tokens.get((ctx or "", sequence))
        return None if tokens is None else tokens[: at + 1]
