"""`python vllm_server.py FOLDER PORT`: vLLM's server on the CPU, a model of Hugging Face's layout.

It ends with its standard input, and so do the processes that it started: it gets a signal and frees
the memory that they share. The remaining processes of its group are ended after a while.
"""

import os
import runpy
import signal
import sys
import threading
import time

_LEAVES_S = 20.0  # it takes 1.5 s on two busy cores


def main() -> None:
    folder, port = sys.argv[1:3]
    threading.Thread(target=_until_left, daemon=True).start()
    os.environ |= {
        "HF_HUB_OFFLINE": "1",  # no download, no report of usage
        "VLLM_NO_USAGE_STATS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        "TMPDIR": folder,  # it leaves files there
    }
    sys.argv = ["api_server", "--model", folder, "--host", "127.0.0.1", "--port", port]
    sys.argv += ["--dtype", "float32", "--max-model-len", "512", "--enforce-eager"]
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")


def _until_left() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_LEAVES_S)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
