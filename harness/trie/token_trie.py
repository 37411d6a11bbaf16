"""The native chain with the token trie in it, as a worker that measures skip ratios, too."""

from sampler_parity.harness.llama_cpp import token_trie
from sampler_parity.harness.trie.worker import Measuring


class Worker(Measuring, token_trie.Worker):
    pass
