"""Small recordings that Python writes."""

from pathlib import Path

import numpy as np

from sampler_parity.programs.recording.detail import Detail
from sampler_parity.programs.recording.events import Accept, Apply, Init, Library
from sampler_parity.programs.recording.writer import RecordingWriter

LOGITS = np.random.default_rng(1).normal(size=3000).astype(np.float32)
ARGUMENTS = {"top_k": {"k": 40}, "dist": {"seed": 1}}


def write_recording(
    folder: Path,
    detail: Detail = "survivors",
    steps: int = 3,
    sampler: str = "top_k",
    library: Library | None = None,
) -> RecordingWriter:
    """Write a recording of some steps: all logits before, 40 survivors after."""
    folder.mkdir(exist_ok=True)
    writer = RecordingWriter(folder, "a test", detail)
    if library is not None:
        writer.event(library)
    writer.event(Init(s="0x1", sampler=sampler, args=ARGUMENTS[sampler]))
    for step in range(steps):
        sampled(writer, step, "0x1")
    return writer


def sampled(writer: RecordingWriter, step: int, sampler: str) -> None:
    """Write a step: the 40 largest logits are left, and the largest is selected."""
    ids = np.argsort(-LOGITS)[:40].astype(np.int32)
    before = writer.array(np.arange(3000), LOGITS, first=True)
    after = writer.array(ids, LOGITS[ids], sorted=True)
    writer.applies += 1
    token = int(ids[0])
    writer.event(Apply(q=step, s=sampler, before=before, after=after, token=token))
    writer.event(Accept(s=sampler, token=token))
