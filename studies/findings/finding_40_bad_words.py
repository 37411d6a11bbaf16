"""vLLM: a bad word that begins in the prompt passes.

    pip install vllm
    python finding_40_bad_words.py

A word's beginning is looked for in the output alone (past_tokens_ids is output_token_ids in
vllm/v1/sample/sampler.py); transformers takes prompt and output as one text. The file is run by
itself, so that none of the rest is imported. Exit status 1 while the word passes.
"""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import torch

package = find_spec("vllm")  # found, not imported
assert package is not None
assert package.origin is not None
folder = Path(package.origin).parent / "v1" / "sample"
spec = spec_from_file_location("bad_words", folder / "ops" / "bad_words.py")
assert spec is not None
assert spec.loader is not None
bad_words = module_from_spec(spec)
spec.loader.exec_module(bad_words)

prompt, output, word = [7, 1], [2], [1, 2, 3]
sampler = (folder / "sampler.py").read_text()
assert "output_token_ids" in sampler, "vLLM gives another list than the output"
banned = []
for text in (prompt + output, output):
    logits = torch.zeros(1, 5)
    bad_words.apply_bad_words(logits, {0: [word]}, [text])
    banned.append(not logits[0, 3].isfinite().item())
print("bad word 1 2 3, prompt 7 1, output 2: is 3 banned")
print(f"  expected {banned[0]}, as with prompt and output as one text\n  got      {banned[1]}")
sys.exit(int(banned[0] != banned[1]))
