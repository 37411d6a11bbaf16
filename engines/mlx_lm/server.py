"""`python mlx_lm_server.py FOLDER PORT`: MLX LM's server, on a model of Hugging Face's layout.

It ends when its standard input does.
"""

import os
import sys
import threading


def main() -> None:
    folder, port = sys.argv[1:3]
    threading.Thread(target=_until_left, daemon=True).start()
    os.environ["HF_HUB_OFFLINE"] = "1"  # no download
    sys.argv = ["mlx_lm.server", "--model", folder, "--host", "127.0.0.1", "--port", port]
    from mlx_lm.server import main as serve

    serve()


def _until_left() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
