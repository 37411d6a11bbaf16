"""Programs of a few tokens, whose recordings are written from Python."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording.writer import RecordingWriter
from sampler_parity.reference import Candidates
from sampler_parity.reference.sampler import Custom

PIECES = [b"a", b" b", b"\xe2\x82", b"\xac", b"\x1b", b'"']
CHAIN, GRAMMAR = "0x1", "0x5"
Stages = list[dict[str, dict[str, Any]]]
SAMPLERS: Stages = [{"top_k": {"k": 2}}, {"greedy": {}}]
THREE: Stages = [{"top_k": {"k": 3}}, {"temp": {"temp": 0.5}}, {"dist": {"seed": 1}}]
P = (0.4, 0.3, 0.2, 0.1)


class Program:
    """A program that samples with a chain, or of which only the tokens are recorded. ctx: the
    context whose last row is sampled."""

    ctx: str | None = None

    def __init__(
        self,
        folder: Path,
        detail: Any = "survivors",
        text: bool = True,
        pieces: Sequence[bytes] = PIECES,
        chain: Stages = SAMPLERS,
    ) -> None:
        self.writer, self.q, n = RecordingWriter(folder, "a test", detail, text), 0, len(pieces)
        written = [base64.b64encode(piece).decode() for piece in pieces]
        vocabulary: dict[str, Any] = {"kind": "none", "pieces": written, "texts": [""] * n}
        vocabulary |= {"types": [1] * n, "scores": [0.0] * n, "eog": [], "eos": -1, "eot": -1}
        (folder / "m.json").write_text(json.dumps(vocabulary))
        file = "m.json" if text else ""
        self.writer.event(e.Vocabulary(m="0x9", n_vocab=n, file=file, digest="1"))
        self.writer.event(e.MadeChain(s=CHAIN))
        for i, stage in enumerate(chain, 2):
            for name, arguments in stage.items():
                self.writer.event(e.Init(s=f"0x{i}", sampler=name, args=arguments))
                self.writer.event(e.Add(c=CHAIN, s=f"0x{i}"))
        self.writer.event(e.Init(s=GRAMMAR, sampler=None, name="mine"))

    def sample(self, token: int, accept: int | None = None, allowed: int | None = None) -> None:
        """Select a token; accept it, or another one (-1: none). allowed: by a grammar before."""
        logits = np.arange(6, dtype=np.float32) / 8
        logits[token] = 3
        row = self.array(np.arange(6), logits, first=True)
        if allowed is not None:
            logits = np.where(np.arange(6) == allowed, logits, np.float32(-np.inf))
            left = self.array(np.arange(6), logits)
            self.apply(GRAMMAR, row, [], left, -1)
            row = left
        order = np.argsort(-logits, kind="stable")[:2]
        two = self.array(order, logits[order], sorted=True)
        one = self.array(order, logits[order], sorted=True, selected=0)
        chosen = int(order[0])
        self.apply(CHAIN, row, [("0x2", two), ("0x3", one)], one, chosen)
        accepted = chosen if accept is None else accept
        if accepted >= 0:
            self.writer.event(e.Accept(s=CHAIN, token=accepted))

    def array(self, ids: Any, logits: Any, **how: Any) -> e.Array:
        return e.Array(**self.writer.array(ids, logits, **how))

    def draw(self, samplers: Sequence[Any], logits: Any) -> int:
        """Select a token by the reference's samplers."""
        left, stages = Candidates.from_logits(logits), []
        before = self.array(left.ids, left.logits, first=True)
        for i, sampler in enumerate(samplers, 2):
            sampler.apply(left)
            flags = {"p": left.p, "sorted": left.sorted, "selected": left.selected}
            stages.append((f"0x{i}", self.array(left.ids, left.logits, **flags)))
        assert left.token is not None
        self.apply(CHAIN, before, stages, stages[-1][1], left.token)
        return left.token

    def apply(
        self, s: str, before: e.Array, stages: list[tuple[str, e.Array]], after: e.Array, token: int
    ) -> None:
        self.q += 1
        stages = [] if self.writer.detail == "tokens" else stages
        arrays = [e.StageArray(s=name, **array.model_dump()) for name, array in stages]
        fields = {"before": before, "stages": arrays, "after": after, "token": token}
        fields |= {"ctx": self.ctx, "i": -1} if self.ctx else {}
        self.writer.applies += 1
        self.writer.event(e.Apply.model_validate({"q": self.q, "s": s, **fields}))


def small_recording(
    folder: Path,
    pieces: Sequence[bytes] = (b" a", b" b", b" c", b" d"),
    steps: int = 3,
    *,
    detail: Any = "survivors",
    text: bool = True,
    wrong: int = -1,
    chain: Stages = THREE,
) -> list[int]:
    """Record draws by a chain from tokens whose p are P; return the tokens. wrong: the step at
    which its second stage does nothing."""
    folder.mkdir(exist_ok=True)
    program = Program(folder, detail, text, pieces, chain)
    samplers, tokens = build_chain(chain, n_vocab=len(pieces)).samplers, []
    for step in range(steps):
        applied = [Custom(on_apply=lambda *_: None) if i == 1 and step == wrong else sampler
                   for i, sampler in enumerate(samplers)]  # fmt: skip
        tokens.append(program.draw(applied, np.log(P[: len(pieces)])))
        program.writer.event(e.Accept(s=CHAIN, token=tokens[-1]))
        for sampler in samplers:
            sampler.accept(tokens[-1])
    return tokens
