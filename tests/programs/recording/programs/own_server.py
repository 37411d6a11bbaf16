"""`python own_server.py MODEL PORT draft|graph`: llama-server whose model drafts for itself,
or that has samplers in the graph."""

import sys

import xllamacpp


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.port = int(sys.argv[2])
    parameters.n_parallel = 4
    parameters.n_ctx = 2048
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    if sys.argv[3] == "draft":
        draft_with(parameters, sys.argv[1])
    else:
        parameters.sampling.backend_sampling = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


def draft_with(parameters: xllamacpp.CommonParams, model: str) -> None:
    draft = parameters.speculative.draft
    draft.mparams.path = model
    draft.n_max = 4
    draft.cpuparams.n_threads = 1
    draft.cpuparams_batch.n_threads = 1
    parameters.speculative.types = [
        xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE
    ]


if __name__ == "__main__":
    main()
