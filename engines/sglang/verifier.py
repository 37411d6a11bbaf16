"""sglang/verifier: SGLang's verifiers of drafts, rounds as requests of a launch.

Rejection is `accept_sampling_triton`, which DSpark calls, with the kernel that EAGLE calls with
--speculative-use-rejection-sampling. Matching is the kernel for trees with both thresholds at 1 and
a tree of one draft for each place, as DFlash calls it. Both get raw logits and the parameters of a
request, and draw their random numbers with torch.rand.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.sglang.kernels import FILES, kernels
from sampler_parity.engines.shared.triton_files import Edit, placed
from sampler_parity.engines.shared.verifiers import Launch, VerifierAlone, in_launches
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import ChainSpec, HelloReply, SpeculativeRequest

AT_ONCE = 64  # rounds of a launch
ORDER = ("temp", "top_k", "top_p", "dist")


class Worker(VerifierAlone):
    def hello(self) -> HelloReply:
        return HelloReply(
            name="sglang/verifier",
            version=kernels().version,
            capabilities=["speculative"],
            samplers=list(ORDER),
        )

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""
        matching = request.rule == "matching"
        cuda = tuple(Edit("sampling.cuh", *pair) for pair in self.edits)
        edits = cuda if matching else placed(self.edits, FILES)
        verify = Verifier(kernels(edits), request.chain)
        verify.engine.torch.manual_seed(int(rounds.seeds[0]))
        return in_launches(rounds, AT_ONCE, getattr(verify, request.rule))


class Verifier:
    """The verifiers for requests with the parameters of a chain. Raises Unsupported for stages in
    another order."""

    def __init__(self, engine: SimpleNamespace, chain: ChainSpec) -> None:
        self.engine = engine
        self.given = {name: values for stage in chain for name, values in stage.items()}
        names = [name for stage in chain for name in stage]
        if names != [name for name in ORDER if name in names]:
            raise Unsupported(f"SGLang's order is {', '.join(ORDER)}")

    def parameters(self, n: int) -> Any:
        """Return what stands for the SamplingBatchInfo of n requests."""
        torch, given = self.engine.torch, self.given
        temperature = given.get("temp", {"temp": 1.0})["temp"]
        return SimpleNamespace(
            temperatures=torch.full((n, 1), float(temperature)),
            top_ks=torch.full((n,), given.get("top_k", {"k": 1 << 30})["k"], dtype=torch.int32),
            top_ps=torch.full((n,), float(given.get("top_p", {"p": 1.0})["p"])),
            need_top_k_sampling="top_k" in given,
            need_top_p_sampling="top_p" in given,
        )

    def candidates(self, launch: Launch) -> Any:
        """Return the tokens of each request: the last of its text, which nothing reads, and the
        drafts."""
        last = np.zeros((len(launch.drafts), 1), np.int64)
        return self.engine.torch.tensor(np.concatenate([last, launch.drafts], 1, dtype=np.int64))

    def rejection(self, launch: Launch) -> NDArray[Any]:
        torch, (n, drafted) = self.engine.torch, launch.drafts.shape
        with np.errstate(all="ignore"):
            accepted, last, _ = self.engine.accept_sampling(
                candidates=self.candidates(launch),
                target_logits=torch.tensor(launch.logits).flatten(0, 1),
                draft_probs=torch.tensor(launch.q),
                sampling_info=self.parameters(n),
                draft_input=SimpleNamespace(max_top_k=None, uniform_top_k_value=None),
                gamma=drafted,
                verify_num_draft_tokens=drafted + 1,
            )
        return tokens_of(launch, accepted.numpy(), last.numpy())

    def matching(self, launch: Launch) -> NDArray[Any]:
        logits = self.engine.torch.tensor(launch.logits).flatten(0, 1)
        accepted, last = self.engine.tree_sampling(
            candidates=self.candidates(launch),
            next_token_logits=logits,
            sampling_info=self.parameters(len(launch.drafts)),
            threshold_single=1.0,
            threshold_acc=1.0,
        )
        return tokens_of(launch, accepted.numpy(), last.numpy())


def tokens_of(launch: Launch, accepted: NDArray[Any], last: NDArray[Any]) -> NDArray[Any]:
    """Return the accepted drafts of each round and its last token, -1 behind them."""
    places = np.arange(launch.drafts.shape[1] + 1)
    drafts = np.concatenate([launch.drafts, last[:, None]], 1)
    tokens = np.where(places == accepted[:, None], last[:, None], drafts)
    return np.where(places > accepted[:, None], -1, tokens)
