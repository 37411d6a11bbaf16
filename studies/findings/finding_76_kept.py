"""llama-server: three answers to one prompt spoil a prompt that another slot keeps.

    pip install xllamacpp
    python finding_76_kept.py MODEL.gguf

A prompt with cache_prompt is asked over and over, together with another one that asks for three
answers (n_cmpl), and a third. Its probability must stay. Exit status 1 while it does not.
"""

import json
import random
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import xllamacpp

KEPT = [4, 771, 974, 264, 258, 16, 13, 17, 13, 23, 281, 258, 1096, 264, 560, 11, 258, 829, 264, 316]
ROUNDS, NEAR = 400, 0.02  # nats; a batch moves a logit by less


def asked(url: str, prompt: list[int], **more: object) -> float:
    """Return the logprob of the most likely token after a prompt."""
    fields = {"temperature": 0, "n_predict": 1, "n_probs": 1, "cache_prompt": False, **more}
    body = json.dumps({"prompt": prompt, **fields}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        answer = json.load(reply)
    first = answer[0] if isinstance(answer, list) else answer
    return float(first["completion_probabilities"][0]["top_logprobs"][0]["logprob"])


def main() -> int:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_parallel, parameters.n_ctx, parameters.port = 4, 2048, 18672
    server = xllamacpp.Server(parameters)  # it ends with this object
    url = f"{server.listening_address}/completion"
    right, spoiled = asked(url, KEPT), []
    with ThreadPoolExecutor(3) as pool:
        for nth in range(ROUNDS):
            rng = random.Random(nth)
            jobs: list[tuple[list[int], dict[str, object]]] = [
                (KEPT, {"cache_prompt": True}),
                ([320, 325] * 6, {"n_cmpl": 3, "n_predict": rng.randint(1, 9)}),
                ([4, 541, 653], {"n_predict": rng.randint(1, 9)}),
            ]
            rng.shuffle(jobs)
            list(pool.map(lambda job: asked(url, job[0], **job[1]), jobs))
            if abs((got := asked(url, KEPT, cache_prompt=True)) - right) > NEAR:
                spoiled.append(got)
    print(f"{ROUNDS} times the logprob of the first token behind a kept prompt")
    print(f"  expected {right:.4f} each time\n  got      {len(spoiled)} others: {spoiled[:3]}")
    return int(bool(spoiled))


sys.exit(main())
