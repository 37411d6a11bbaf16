"""`python server_texts.py MODEL [draft]`: start llama-server (xllamacpp) and print its texts.

One request for each chain, then four at once, then one whose client leaves, then the first again.
With `draft`, the model drafts for itself.
"""

import http.client
import json
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sampler_parity.harness.servers.launch import real_servers, started

CHAINS = tomllib.loads(Path(__file__).with_name("chains.toml").read_text(encoding="utf-8"))
LENGTH = 40


def main() -> None:
    model = Path(sys.argv[1])
    server = real_servers()["llama-server"]
    if sys.argv[2:] == ["draft"]:
        server = server.model_copy(update={"script": Path(__file__).with_name("draft_server.py")})
    texts: dict[str, Any] = {}
    with started(server, model) as address:
        to = f"{address.host}:{address.port}"
        for seed, (name, settings) in enumerate(CHAINS.items(), 1):
            texts[name] = complete(to, seed, **settings)
        with ThreadPoolExecutor(4) as pool:
            four = [pool.submit(complete, to, seed, id_slot=seed % 4) for seed in range(20, 24)]
            texts["four at once"] = [one.result() for one in four]
        leave(to)
        texts["again"] = complete(to, 1)
    print(json.dumps(texts, indent=1))


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
