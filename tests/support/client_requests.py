"""Requests with four tokens, for tests of what a client sends and which replies it refuses."""

import numpy as np

from sampler_parity.harness.protocol import client
from sampler_parity.harness.protocol import messages as p

V = 4
ROW = np.arange(V, dtype=np.float32)
TOP_K: p.ChainSpec = [{"top_k": {"k": 2}}]
SETTING = client.Setting(TOP_K, V)
GENERATE = p.GenerateRequest(model="m", n_vocab=V, chain=TOP_K, prompt=[1], n_tokens=2, out=0)
THROUGHPUT = p.ThroughputRequest(
    model="m", n_vocab=V, chain=TOP_K, prompt=[1], n_tokens=2, sequences=3
)
CAPTURE = p.CaptureRequest(
    model="m", n_vocab=V, tokens=[1, 2], positions=[1], n_context=2, threads=1, out=0
)
