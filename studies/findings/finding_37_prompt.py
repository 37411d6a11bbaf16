"""llama-cpp-python: frequency_penalty penalizes no token of the prompt, against its documentation.

    pip install llama-cpp-python
    python finding_37_prompt.py MODEL.gguf

"Apply frequency penalty to tokens based on their frequency in the prompt." Exit status 1 while a
token of the prompt comes first in spite of a penalty of 50, more than two logits are apart.
"""

import sys

import llama_cpp
import numpy as np

llama = llama_cpp.Llama(sys.argv[1], n_ctx=128, logits_all=True, verbose=False)
prompt = llama.tokenize(b"the cat sat on the mat and the cat sat on the mat and the cat sat on")
options = {"temp": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
got = next(iter(llama.generate(prompt, **options, frequency_penalty=50.0)))
row = np.array(llama.scores[len(prompt) - 1])
np.subtract.at(row, prompt, 50.0)
expected = int(row.argmax())
print("greedy, frequency_penalty 50: the first token behind a prompt")
print(f"  expected {expected}, the likeliest that is not in the prompt")
print(f"  got      {got}, which the prompt has {prompt.count(got)} times")
sys.exit(int(got != expected))
