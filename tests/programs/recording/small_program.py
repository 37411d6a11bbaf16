"""A program of six tokens, whose recording is written from Python."""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording.writer import RecordingWriter

PIECES = [b"a", b" b", b"\xe2\x82", b"\xac", b"\x1b", b'"']
VOCABULARY = e.Vocabulary(m="0x9", n_vocab=6, file="m.json", digest="1")
CHAIN, GRAMMAR = "0x1", "0x5"


class Program:
    """A program that samples with top_k and greedy, or of which only the tokens are recorded."""

    def __init__(self, folder: Path, detail: Any = "survivors", text: bool = True) -> None:
        self.writer = RecordingWriter(folder, "a test", detail, text)
        self.q = 0
        pieces = [base64.b64encode(piece).decode() for piece in PIECES]
        vocabulary: dict[str, Any] = {
            "kind": "none",
            "pieces": pieces,
            "texts": [""] * 6,
            "types": [1] * 6,
        }
        vocabulary |= {"scores": [0.0] * 6, "eog": [], "eos": -1, "eot": -1}
        (folder / "m.json").write_text(json.dumps(vocabulary))
        events: list[Any] = [VOCABULARY if text else VOCABULARY.model_copy(update={"file": ""})]
        events += [
            e.Init(s="0x2", sampler="top_k", args={"k": 2}),
            e.Init(s="0x3", sampler="greedy"),
        ]
        events += [e.MadeChain(s=CHAIN), e.Add(c=CHAIN, s="0x2"), e.Add(c=CHAIN, s="0x3")]
        events += [e.Init(s=GRAMMAR, sampler=None, name="mine")]
        for event in events:
            self.writer.event(event)

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

    def apply(
        self, s: str, before: e.Array, stages: list[tuple[str, e.Array]], after: e.Array, token: int
    ) -> None:
        self.q += 1
        stages = [] if self.writer.detail == "tokens" else stages
        arrays = [e.StageArray(s=name, **array.model_dump()) for name, array in stages]
        event = e.Apply(q=self.q, s=s, before=before, stages=arrays, after=after, token=token)
        self.writer.event(event)
