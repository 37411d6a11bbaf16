"""The rejection sampler of vLLM's first model runner in Triton's interpreter: vllm_gpu/v1."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.shared.triton_files import Edit
from sampler_parity.engines.shared.verifiers import Launch, VerifierAlone, in_launches
from sampler_parity.engines.vllm_gpu.package import SAMPLER, vllm_gpu
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import HelloReply, SpeculativeRequest

_V1 = "vllm.v1.sample."
FILES = (
    *SAMPLER,
    *(_V1 + name for name in ("rejection_sampler", "sampler", "metadata")),
    *(_V1 + name for name in ("ops.penalties", "ops.bad_words")),
    "vllm.model_executor.layers.utils",
    "vllm.v1.spec_decode.metadata",
)
AT_ONCE = 64  # rounds of a launch
ORDER = ("penalties", "temp", "top_k", "top_p", "dist")


class Worker(VerifierAlone):
    @property
    def engine(self) -> Any:
        edits = (Edit("v1.sample.rejection_sampler", *pair) for pair in self.edits)
        return vllm_gpu(tuple(edits), files=FILES)

    def hello(self) -> HelloReply:
        return HelloReply(
            name="vllm_gpu/v1",
            version=self.engine.version,
            capabilities=["speculative"],
            samplers=list(ORDER),
        )

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        if request.rule != "rejection":
            raise Unsupported("vLLM's rejection sampler matches no drafts at a temperature")
        return in_launches(rounds, AT_ONCE, lambda launch: self.launched(request, launch))

    def launched(self, request: SpeculativeRequest, launch: Launch) -> NDArray[np.int32]:
        torch, last = self.engine.torch, request.n_vocab - 1
        past = np.array(request.history, int)
        history = [last - past if turned else past for turned in launch.turned]
        module = self.engine.rejection_sampler
        sampler = module.RejectionSampler(module.Sampler())
        with np.errstate(all="ignore"):
            given = sampler(
                self.drafted(launch.drafts),
                None if launch.certain else torch.tensor(launch.q).flatten(0, 1),
                torch.tensor(launch.logits).flatten(0, 1),
                self.parameters(request, history, launch.drafts, launch.seeds),
            )
        tokens: NDArray[np.int32] = given.sampled_token_ids.numpy()
        return tokens

    def drafted(self, drafts: NDArray[np.int32]) -> Any:
        """Return the description of a launch's drafts, as vLLM's runner makes it."""
        torch, (n, k) = self.engine.torch, drafts.shape
        rows = torch.arange(n * (k + 1)).reshape(n, k + 1)
        return self.engine.rejection_sampler.SpecDecodeMetadata(
            draft_token_ids=torch.tensor(drafts).reshape(-1),
            num_draft_tokens=[k] * n,
            cu_num_draft_tokens=torch.arange(1, n + 1, dtype=torch.int32) * k,
            cu_num_sampled_tokens=torch.arange(1, n + 1, dtype=torch.int32) * (k + 1),
            target_logits_indices=rows[:, :-1].reshape(-1),
            bonus_logits_indices=rows[:, -1],
            logits_indices=rows.reshape(-1),
        )

    def parameters(
        self, request: SpeculativeRequest, history: Any, drafts: Any, seeds: list[int]
    ) -> Any:
        """Return the parameters of a launch. Raises Unsupported for stages in another order."""
        torch, n = self.engine.torch, len(seeds)
        names = [name for stage in request.chain for name in stage]
        if names != sorted(names, key=ORDER.index):
            raise Unsupported(f"vLLM's order is {', '.join(ORDER)}")
        given = {name: values for stage in request.chain for name, values in stage.items()}
        of, top_k, top_p = (given.get(name, {}) for name in ("penalties", "top_k", "top_p"))

        def all_of(value: float) -> Any:
            return torch.full((n,), float(value))

        return self.engine.rejection_sampler.SamplingMetadata(
            temperature=all_of(given.get("temp", {"temp": 1.0})["temp"]),
            all_greedy=False,
            all_random=True,
            top_p=all_of(top_p["p"]) if top_p else None,
            top_k=all_of(top_k["k"]).int() if top_k else None,
            generators={i: torch.Generator().manual_seed(s) for i, s in enumerate(seeds)},
            max_num_logprobs=None,
            no_penalties=not of,
            prompt_token_ids=torch.tensor(np.array(history, int).reshape(n, -1)),
            frequency_penalties=all_of(of.get("penalty_freq", 0.0)),
            presence_penalties=all_of(of.get("penalty_present", 0.0)),
            repetition_penalties=all_of(of.get("penalty_repeat", 1.0)),
            output_token_ids=[[] for _ in seeds],
            allowed_token_ids_mask=None,
            bad_words_token_ids={},
            logitsprocs=SimpleNamespace(argmax_invariant=[], non_argmax_invariant=[]),
            spec_token_ids=drafts.tolist(),
        )
