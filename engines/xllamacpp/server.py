"""`python xllamacpp.py MODEL PORT`: llama-server's own code, as the package xllamacpp has it.

It ends with its standard input, and so with the process that started it.
"""

import sys

import xllamacpp

SLOTS = 4
CONTEXT = 512  # of a slot


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.port = int(sys.argv[2])
    parameters.n_parallel = SLOTS
    parameters.n_ctx = CONTEXT * SLOTS
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
