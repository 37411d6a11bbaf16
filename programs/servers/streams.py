"""Compare streams with answers in one part: both have the same text."""

from sampler_parity.programs.servers.client import Client
from sampler_parity.programs.servers.observation import Observation
from sampler_parity.programs.servers.parameters import prepare
from sampler_parity.programs.servers.probe import Probe

NAME = "texts of streams"


def check_streams(client: Client) -> Observation:
    """Require of streams the greedy text, and those of three seeds if a seed repeats."""
    probe = Probe(client)
    prepare(probe)
    loss = stream_loss(probe)
    return loss or Observation("honoured", "as those in one part", probe.greedy())


def stream_loss(probe: Probe) -> Observation | None:
    """Return what a stream loses; None if nothing."""
    for plain in (probe.greedy(), *(probe.hots() if probe.seeds else ())):
        sent = probe.client.parameters_of(plain.sent)
        parts = probe.client.streamed(probe.prompt, sent)
        if not (plain.refusal or parts.refusal or plain.same(parts)):
            line = f"{plain.lost_in(parts)}: {parts.got}, in one part {plain.got}"
            return Observation("other meaning", line, parts)
    return None
