"""llama.cpp's native chain, as a worker that measures skip ratios, too."""

from sampler_parity.harness.trie.worker import Measuring


class Worker(Measuring):
    pass
