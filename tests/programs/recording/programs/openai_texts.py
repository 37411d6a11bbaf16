"""`python openai_texts.py MODEL`: start the server of llama-cpp-python and print its texts."""

import http.client
import json
import sys
from pathlib import Path
from typing import Any

from sampler_parity.programs.servers.launch import real_servers, started

CHAINS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "greedy": {"temperature": 0.0},
    "penalties": {"repeat_penalty": 1.3, "presence_penalty": 0.4, "min_p": 0.05},
    "mirostat": {"mirostat_mode": 1, "mirostat_tau": 3.0},
    "mirostat_v2": {"mirostat_mode": 2, "mirostat_tau": 3.0, "mirostat_eta": 0.2},
    "logit_bias": {"logit_bias": {"5": 3.0, "7": -2.5}},
    "grammar": {"grammar": 'root ::= [a-z ]+ "."'},
}


def main() -> None:
    texts = {}
    with started(real_servers()["llama-cpp-python"], Path(sys.argv[1])) as address:
        for seed, (name, settings) in enumerate(CHAINS.items(), 1):
            connection = http.client.HTTPConnection(f"{address.host}:{address.port}", timeout=60)
            body = {"prompt": f"The story number {seed} begins", "max_tokens": 40, "seed": seed}
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/completions", json.dumps(body | settings), headers)
            reply = json.loads(connection.getresponse().read())
            texts[name] = reply["choices"][0]["text"] if "choices" in reply else str(reply)
            connection.close()
    print(json.dumps(texts, indent=1))


if __name__ == "__main__":
    main()
