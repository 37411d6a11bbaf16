"""transformers: `generate` divides by the temperature before it filters, llama.cpp behind.

    pip install transformers torch
    python finding_28_temperature_first.py

The model is never run: `generate` applies its list of processors to a row, in their order.
Exit status 1 while the filter sees other probabilities than the model's.
"""

import sys
from typing import Any

import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

size = {"vocab_size": 5, "n_positions": 8, "n_embd": 4, "n_layer": 1, "n_head": 1}
config = GPT2Config(**size, bos_token_id=None, eos_token_id=None)
model: Any = GPT2LMHeadModel(config)
sampled = GenerationConfig(do_sample=True, top_k=0, top_p=0.75, temperature=2.0, pad_token_id=0)
row = torch.tensor([[0.5, 0.25, 0.15, 0.06, 0.04]]).log()
processors = model._get_logits_processor(
    generation_config=sampled, input_ids_seq_length=1, logits_processor=[]
)
names = [type(processor).__name__ for processor in processors]
scores = row.clone()
for processor in processors:
    scores = processor(torch.tensor([[1]]), scores)
left = scores.isfinite().sum().item()
print(f"the processors of generate: {', '.join(names)}")
print("top_p 0.75 and temperature 2 on .5, .25, .15, .06, .04: tokens left")
print(f"  expected 2, which have 0.75 of the model's mass\n  got      {left}")
sys.exit(int(left != 2))
