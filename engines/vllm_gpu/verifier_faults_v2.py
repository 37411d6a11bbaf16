"""vllm_gpu with the faults of engines/shared/verifier_faults.toml in its rejection sampler."""

from types import SimpleNamespace

from sampler_parity.engines.shared.triton_files import placed
from sampler_parity.engines.shared.verifiers import Pairs, planted
from sampler_parity.engines.vllm_gpu import worker
from sampler_parity.engines.vllm_gpu.edits import ON_GPU
from sampler_parity.engines.vllm_gpu.package import SAMPLER, vllm_gpu


class Edited(worker.Worker):
    """A worker whose edits are pairs of texts."""

    edits: Pairs = ()  # type: ignore[assignment]

    @property
    def engine(self) -> SimpleNamespace:
        return vllm_gpu((*ON_GPU, *placed(self.edits, SAMPLER)))


Worker = planted(Edited, "vllm_gpu_v2")
