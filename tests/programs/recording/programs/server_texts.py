"""`python server_texts.py MODEL [draft|graph]`: start llama-server (xllamacpp) and print its texts.

One request for each chain, then four at once, then one whose client leaves, then the first again.
With `draft`, the model drafts for itself. With `graph`, samplers are in the graph, and one request
has a budget for its reasoning.
"""

import http.client
import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sampler_parity.harness.backends import environments
from sampler_parity.programs.servers.launch import free_port, real_servers

HERE = Path(__file__).parent
CHAINS = tomllib.loads((HERE / "chains.toml").read_text(encoding="utf-8"))
LENGTH = 40
# The graph samples whole chains, or begins one; with a budget it does neither.
GRAPH: dict[str, dict[str, Any]] = {
    "default": {},
    "dist": {"samplers": ["top_k", "temperature"]},
    "begun": {"samplers": ["top_k", "typ_p", "temperature"], "typical_p": 0.9},
    "not in the graph": {"backend_sampling": False},
    "budget": {
        "reasoning_budget_tokens": 5,
        "reasoning_budget_start_tag": "The",
        "reasoning_budget_end_tag": " end",
    },
}


def main() -> None:
    model, *kind = sys.argv[1:]
    script = HERE / "own_server.py" if kind else real_servers()["llama-server"].script
    texts: dict[str, Any] = {}
    with started([str(script), model], kind) as to:
        chains = GRAPH if kind == ["graph"] else CHAINS
        for seed, (name, settings) in enumerate(chains.items(), 1):
            texts[name] = complete(to, seed, **settings)
        with ThreadPoolExecutor(4) as pool:
            four = [pool.submit(complete, to, seed, id_slot=seed % 4) for seed in range(20, 24)]
            texts["four at once"] = [one.result() for one in four]
        leave(to)
        texts["again"] = complete(to, 1)
    print(json.dumps(texts, indent=1))


@contextmanager
def started(script: list[str], kind: list[str]) -> Iterator[str]:
    """Start a server and give its host and port."""
    python, port = environments.python_of(environments.folder_of("xllamacpp")), free_port()
    run = subprocess.Popen(
        [str(python), "-I", *script, str(port), *kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    to = f"127.0.0.1:{port}"
    while run.poll() is None:
        try:
            connection = http.client.HTTPConnection(to)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                break
        except OSError:
            time.sleep(0.05)
    yield to
    assert run.stdin is not None
    run.stdin.close()
    run.wait(30)


def asked(to: str, body: dict[str, Any]) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(to, timeout=60)
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/completion", json.dumps(body), headers)
    return connection


def complete(to: str, seed: int, **settings: Any) -> str:
    """Return the text of a request, or the error."""
    body = {"prompt": f"The story number {seed} begins", "n_predict": LENGTH, "seed": seed}
    connection = asked(to, {**body, "cache_prompt": False, **settings})
    reply = json.loads(connection.getresponse().read())
    return str(reply.get("content", reply))


def leave(to: str) -> None:
    """Ask for a stream and leave after its first bytes."""
    connection = asked(to, {"prompt": "Once", "n_predict": 200, "seed": 3, "stream": True})
    connection.getresponse().read(200)
    connection.close()


if __name__ == "__main__":
    main()
