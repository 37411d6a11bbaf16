"""Edits of the text of vLLM's files: what the interpreter lacks, the GPU's choices, faults."""

from sampler_parity.engines.shared.triton_files import Edit

_TOP = "topk_topp_triton"
# In the interpreter the variable of a loop is a number of Python, and pointers have 64 bits anyway.
_NUMBER_OF_PYTHON = Edit(_TOP, "LOGITS + row_id.to(tl.int64)", "LOGITS + row_id")
# Of a function that only FlashInfer's path calls; it loads torch's compiler, which takes seconds.
_NOT_COMPILED = Edit(
    "topk_topp_sampler",
    "@torch.compile(dynamic=True, backend=current_platform.simple_compile_backend)\n",
    "",
)
INTERPRETER = (_NUMBER_OF_PYTHON, _NOT_COMPILED)

# The block sizes and the split of rows that a tensor on a GPU gets.
ON_GPU = (
    Edit(_TOP, 'if logits.device.type == "cpu":', "if False:"),
    Edit(_TOP, 'and logits.device.type == "cuda"', ""),
)
