"""gpt4all: the only seed is the second in which a model is loaded.

    pip install gpt4all==2.8.2
    python finding_62_seconds.py [MODEL.gguf]

Any model of text that llama.cpp of July 2024 reads will do. Expected: processes that load it in the
same second draw texts of their own, or take a seed. Ends with status 1 where texts are the same.
"""

import inspect
import subprocess
import sys
import time
from pathlib import Path

from gpt4all import GPT4All


def answer(path: Path, second: float) -> None:
    """Do the work of one process: wait for a second, load, and draw."""
    time.sleep(max(0.0, second - time.time()))
    of = {"allow_download": False, "device": "cpu", "n_threads": 1}
    model = GPT4All(path.name, model_path=path.parent, **of)
    text = model.generate("the", max_tokens=20, temp=2.0, top_k=0, top_p=1.0)
    print(f"text {text!r}")


def texts(path: Path) -> list[str]:
    """Return the texts of two processes that wait for the same second, and for a tenth of it."""
    command = [sys.executable, __file__, str(path), str(int(time.time()) + 5.1)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, stdout=pipe, encoding="utf-8") for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    return [line for lines in outputs for line in lines if line.startswith("text ")]


def main() -> int:
    names = [
        *inspect.signature(GPT4All).parameters,
        *inspect.signature(GPT4All.generate).parameters,
    ]
    seeds = [name for name in names if "seed" in name]
    print(f"a parameter for a seed: expected one, got {seeds or 'none'}")
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "golden/model/small.gguf").resolve()
    first, other = texts(path)
    print(f"two processes that load a model in the same second:\n  one got      {first}")
    print(f"  expected another text, got\n               {other}")
    return int(first == other)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        answer(Path(sys.argv[1]), float(sys.argv[2]))
    else:
        sys.exit(main())
