"""`python llama_texts.py MODEL`: print texts that llama-cpp-python's Llama generates."""

import json
import sys
from typing import Any

from llama_cpp import Llama, LlamaGrammar

LENGTH = 40
CHAINS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "greedy": {"temperature": 0.0},
    "penalties": {"repeat_penalty": 1.3, "presence_penalty": 0.4, "min_p": 0.05},
    "mirostat": {"mirostat_mode": 1, "mirostat_tau": 3.0},
    "mirostat_v2": {"mirostat_mode": 2, "mirostat_tau": 3.0, "mirostat_eta": 0.2},
    "typical_p": {"typical_p": 0.7, "top_k": 0, "top_p": 1.0},
    "logit_bias": {"logit_bias": {5: 3.0, 7: -2.5}},
    "grammar": {"grammar": LlamaGrammar.from_string('root ::= [a-z ]+ "."', verbose=False)},
}


def main() -> None:
    llama = Llama(sys.argv[1], n_ctx=256, n_threads=1, verbose=False)
    texts = {}
    for seed, (name, settings) in enumerate(CHAINS.items(), 1):
        llama.set_seed(seed)
        reply: Any = llama(f"The story number {seed} begins", max_tokens=LENGTH, **settings)
        texts[name] = reply["choices"][0]["text"]
    print(json.dumps(texts, indent=1))


if __name__ == "__main__":
    main()
