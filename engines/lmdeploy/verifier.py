"""lmdeploy/verifier: lmdeploy's rejection of drafts, rounds as requests of a launch.

`SpecModelAgent._rejection_sampling` gets raw logits, drafts and the requests' parameters. It hands
no q to its RejectionSampler, because lmdeploy's own drafts are the likeliest tokens. Here the
RejectionSampler gets the q of the cell, unless it is 1 at every drafted token.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampler_parity.engines.lmdeploy.package import AGENT, SAMPLER, lmdeploy
from sampler_parity.engines.lmdeploy.requests import SLOTS, Request
from sampler_parity.engines.lmdeploy.shown import finished, refused
from sampler_parity.engines.shared.past import Past
from sampler_parity.engines.shared.triton_files import placed
from sampler_parity.engines.shared.verifiers import Launch, VerifierAlone, in_launches
from sampler_parity.harness.errors import Unsupported
from sampler_parity.harness.protocol.interface import Rounds
from sampler_parity.harness.protocol.messages import HelloReply, SpeculativeRequest

AT_ONCE = 64  # rounds of a launch


class Worker(VerifierAlone):
    @property
    def engine(self) -> SimpleNamespace:
        return lmdeploy(placed(self.edits, (*SAMPLER, AGENT)), (AGENT,))

    def hello(self) -> HelloReply:
        return HelloReply(
            name="lmdeploy/verifier",
            version=self.engine.version,
            capabilities=["speculative"],
            samplers=list(SLOTS),
        )

    def speculate(self, request: SpeculativeRequest, rounds: Rounds) -> NDArray[np.int32]:
        """Return int32[n, drafted + 1]: the tokens of each round, -1 behind the last."""
        if request.rule != "rejection":
            raise Unsupported("lmdeploy matches drafts of greedy requests alone")
        return in_launches(rounds, AT_ONCE, lambda launch: verify(self.engine, request, launch))


def verify(engine: SimpleNamespace, request: SpeculativeRequest, launch: Launch) -> NDArray[Any]:
    """Return the tokens of a launch's rounds, -1 behind the last. Each has a seed of its own."""
    torch, (n, drafted) = engine.torch, launch.drafts.shape
    torch.manual_seed(launch.seeds[0])
    sampler, q = engine.RejectionSampler(), None if launch.certain else torch.tensor(launch.q)

    async def nothing(*_: Any) -> None:
        """Accept no tokens: there is no grammar."""

    agent = SimpleNamespace(
        num_spec_tokens=drafted,
        misc_config=SimpleNamespace(logprobs_mode=None),
        guided_helper=SimpleNamespace(
            cleanup_sessions=lambda *_: None,
            get_processors=lambda *_: {},
            accept_rejection_sampled_tokens=nothing,
        ),
        rejection_sampler=lambda *given: sampler(*given, q),
    )
    model = SimpleNamespace(
        seq_length=torch.full((n,), drafted + 1), is_dummy=False, is_decoding=True
    )
    extra = SimpleNamespace(
        target_logits=torch.tensor(launch.logits).flatten(0, 1),
        output_draft_token_ids=torch.tensor(launch.drafts).long(),
        clone=lambda **given: SimpleNamespace(**given),
    )
    sequences = [sequence(engine, request, seed) for seed in launch.seeds]
    with refused():
        inputs = engine.strategy.make_sampling_inputs(sequences).to_device("cpu")
        sample = engine.agent.SpecModelAgent._rejection_sampling
        tokens: NDArray[Any] = finished(
            sample(agent, model, extra, inputs)
        ).output_token_ids.numpy()
    return tokens


def sequence(engine: SimpleNamespace, request: SpeculativeRequest, seed: int) -> Any:
    """Return what stands for the sequence of a round."""
    chain = [*request.chain[:-1], {"dist": {"seed": seed}}]
    return Request.of(engine, chain, Past(output=list(request.history))).sequence(len(chain))
