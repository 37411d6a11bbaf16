"""`python -m sampler_parity.harness.backends.worker NAME`: a Python backend as a process
that speaks the protocol.

The backend is a class `Worker` with four methods (harness/protocol/interface.py); the rest is in
harness/protocol/handlers.py and serve.py.
"""

import importlib
import sys
from typing import cast

from sampler_parity.harness.protocol.interface import Worker
from sampler_parity.harness.protocol.serve import run_worker

# Worker name -> the module that holds its class `Worker`.
WORKERS = {
    "reference": "sampler_parity.harness.backends.reference",
    "null": "sampler_parity.harness.backends.null",
    "llama.cpp": "sampler_parity.harness.backends.llama_cpp.worker",
    "llama.cpp/graph": "sampler_parity.harness.backends.llama_cpp.graph",
    "akunu/cpu": "sampler_parity.harness.backends.akunu.cpu",
    "akunu/gumbel": "sampler_parity.harness.backends.akunu.gumbel",
    "akunu/cuda": "sampler_parity.harness.backends.akunu.cuda",
    "power_law": "sampler_parity.harness.backends.power_law",
    "transformers": "sampler_parity.harness.backends.transformers",
    "token_trie": "sampler_parity.harness.backends.llama_cpp.token_trie",
    "llguidance": "sampler_parity.harness.backends.grammars.llguidance",
    "llguidance/rules": "sampler_parity.harness.backends.grammars.llguidance_rules",
    "xgrammar": "sampler_parity.harness.backends.grammars.xgrammar",
    "xgrammar/rules": "sampler_parity.harness.backends.grammars.xgrammar_rules",
    "mutant": "sampler_parity.harness.mutants.worker",
    "slow": "sampler_parity.harness.mutants.slow",
}


def main() -> None:
    name, *arguments = sys.argv[1:]
    run_worker(lambda: cast(Worker, importlib.import_module(WORKERS[name]).Worker(*arguments)))


if __name__ == "__main__":
    main()
