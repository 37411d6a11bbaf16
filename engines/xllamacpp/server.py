"""`python server.py MODEL PORT [NAME=VALUE...]`: llama-server's own code, of the package xllamacpp.

NAME=VALUE sets a field of its sampling parameters, as a flag does, or the chat_template.

It ends with its standard input, and so with the process that started it.
"""

import sys

import xllamacpp

SLOTS = 4
CONTEXT = 512  # of a slot


def set_by_flag(sampling: xllamacpp.CommonParamsSampling, name: str, text: str) -> None:
    """Set a field, and note that the user set it: metadata of the model then has no effect."""
    setattr(sampling, name, type(getattr(sampling, name))(text))
    bit = f"COMMON_PARAMS_SAMPLING_CONFIG_{name.upper()}"
    sampling.user_sampling_config |= int(getattr(xllamacpp.common_params_sampling_config, bit, 0))


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.port = int(sys.argv[2])
    parameters.n_parallel = SLOTS
    parameters.n_ctx = CONTEXT * SLOTS
    parameters.warmup = False
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    for field in sys.argv[3:]:
        name, text = field.split("=", 1)
        if name == "chat_template":
            parameters.chat_template = text
        else:
            set_by_flag(parameters.sampling, name, text)
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
