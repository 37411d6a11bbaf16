"""Small recordings that Python writes."""

from pathlib import Path

import numpy as np

from sampler_parity.harness.recording.detail import Detail
from sampler_parity.harness.recording.events import Accept, Apply, Init
from sampler_parity.harness.recording.writer import RecordingWriter

LOGITS = np.random.default_rng(1).normal(size=3000).astype(np.float32)


def write_recording(folder: Path, detail: Detail = "survivors", steps: int = 3) -> RecordingWriter:
    """Write a recording of some steps: all logits before, 40 survivors after."""
    folder.mkdir(exist_ok=True)
    writer = RecordingWriter(folder, "a test", detail)
    writer.event(Init(s="0x1", sampler="top_k", args={"k": 40}))
    for step in range(steps):
        ids = np.argsort(-LOGITS)[:40].astype(np.int32)
        before = writer.array(np.arange(3000), LOGITS, first=True)
        after = writer.array(ids, LOGITS[ids], sorted=True, selected=0)
        writer.applies += 1
        token = int(ids[0])
        writer.event(Apply(q=step, s="0x1", before=before, after=after, token=token))
        writer.event(Accept(s="0x1", token=token))
    return writer
