"""A small recording, written from Python: a chain on four tokens whose p are 0.4, 0.3, 0.2, 0.1."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sampler_parity.harness.engines.samplers import build_chain
from sampler_parity.programs.recording import events as e
from sampler_parity.programs.recording.detail import Detail
from sampler_parity.programs.recording.writer import RecordingWriter
from sampler_parity.reference import Candidates

P = (0.4, 0.3, 0.2, 0.1)
CHAIN: list[dict[str, dict[str, Any]]] = [
    {"top_k": {"k": 3}},
    {"temp": {"temp": 0.5}},
    {"dist": {"seed": 1}},
]


def small_recording(
    folder: Path,
    pieces: Sequence[bytes] = (b" a", b" b", b" c", b" d"),
    steps: int = 3,
    *,
    detail: Detail = "survivors",
    text: bool = True,
    wrong: int = -1,
) -> list[int]:
    """Write it and return the sampled tokens. wrong: the step at which temp does nothing."""
    folder.mkdir(exist_ok=True)
    writer = RecordingWriter(folder, "a test", detail, text)
    if text:
        encoded = [base64.b64encode(piece).decode() for piece in pieces]
        n = len(pieces)
        vocabulary = {"kind": "spm", "pieces": encoded, "texts": [""] * n, "types": [1] * n,
                      "scores": [0.0] * n, "eog": [], "eos": -1, "eot": -1}  # fmt: skip
        (folder / "1.model-1.json").write_text(json.dumps(vocabulary))
    file = "1.model-1.json" if text else ""
    writer.event(e.Vocabulary(m="0xa", n_vocab=len(pieces), file=file))
    writer.event(e.MadeChain(s="0xc"))
    for i, stage in enumerate(CHAIN, 1):
        (name, arguments), address = next(iter(stage.items())), f"0x{i}"
        writer.event(e.Init(s=address, sampler=name, args=arguments))
        writer.event(e.Add(c="0xc", s=address))
    chain = build_chain(CHAIN, n_vocab=len(pieces))
    tokens = []
    for step in range(steps):
        candidates = Candidates.from_logits(np.log(P[: len(pieces)]))
        before = e.Array(**writer.array(candidates.ids, candidates.logits, first=True))
        stages = []
        for i, sampler in enumerate(chain.samplers, 1):
            if not (step == wrong and i == 2):
                sampler.apply(candidates)
            array = writer.array(candidates.ids, candidates.logits, candidates.p,
                                 candidates.sorted, candidates.selected)  # fmt: skip
            stages.append(e.StageArray(s=f"0x{i}", **array))
        token = candidates.token
        assert token is not None
        after = e.Array(**stages[-1].model_dump(exclude={"s"}))
        writer.applies += 1
        writer.event(
            e.Apply(q=step, s="0xc", before=before, stages=stages, after=after, token=token)
        )
        writer.event(e.Accept(s="0xc", token=token))
        chain.accept(token)
        tokens.append(token)
    return tokens
