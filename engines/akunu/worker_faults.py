"""Faults of the shader of akunu/webgpu, faults.toml: an edit of its text each."""

import tomllib
from pathlib import Path

from sampler_parity.engines.akunu import webgpu
from sampler_parity.engines.webgpu.worker_faults import planted

ROWS = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))["fault"]
STAGE = {"stage": "akunu_gumbel"}
FAULTS = [planted("akunu/webgpu", webgpu.Worker, row | STAGE) for row in ROWS]
