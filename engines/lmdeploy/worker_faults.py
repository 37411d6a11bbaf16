"""Faults of lmdeploy's files, most of them in a kernel."""

from sampler_parity.engines.lmdeploy.worker import Worker
from sampler_parity.engines.shared.triton_faults import fault_of, rows

FAULTS = [fault_of(row, Worker) for row in rows("lmdeploy", "fault")]
