"""`python llama_cpp_python.py PACKAGES MODEL PORT`: llama-cpp-python's server, with this Python's
llama_cpp and the packages of an environment.

The environment comes last on the path, so packages that both have are ours. The server ends with
its standard input.
"""

import os
import sys
import threading


def main() -> None:
    packages, model, port = sys.argv[1:4]
    sys.path.append(packages)
    threading.Thread(target=_until_left, daemon=True).start()
    sys.argv = ["llama_cpp.server", "--model", model, "--host", "127.0.0.1", "--port", port]
    sys.argv += ["--n_ctx", "512", "--n_threads", "1", "--n_threads_batch", "1"]
    sys.argv += ["--flash_attn", "true"]  # llama.cpp's own default: else logits differ by 0.001
    from llama_cpp.server.__main__ import main as serve

    serve()


def _until_left() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
