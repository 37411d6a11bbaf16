"""The configuration of this machine that a golden fixture's bytes may depend on, besides inputs."""

import functools
from dataclasses import dataclass
from importlib.metadata import version

from sampler_parity.harness.backends import registry
from sampler_parity.harness.bundle import machine
from sampler_parity.harness.errors import InputError
from sampler_parity.harness.protocol.interface import BackendFailure


@dataclass(frozen=True)
class FixtureConfiguration:
    """The fields of a manifest's entry about the machine that made it."""

    llama_cpp: str
    system_info: str
    cpu: str
    libc: str
    gguf: str


@functools.cache  # it stays, and to ask llama.cpp starts a process
def configuration() -> FixtureConfiguration:
    """Return the configuration here. Raises InputError if llama.cpp does not run."""
    backend = registry.start("llama.cpp")
    try:
        hello = backend.hello()
    except BackendFailure as failure:
        raise InputError("llama.cpp", f"does not run here: {failure}") from None
    finally:
        backend.close()
    ours = machine.describe()
    return FixtureConfiguration(
        hello.version, hello.device.strip(), ours.cpu, ours.libc, version("gguf")
    )
