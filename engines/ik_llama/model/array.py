"""llama_sort and llama_sample_softmax_impl of ik_llama.cpp, which its samplers share.

Up to 1,024 wanted candidates are sorted by std::sort if all are wanted, else by std::partial_sort;
more, by llama.cpp's bucket sort. Fewer than two are not marked as sorted.

Source: src/llama-sampling.cpp of ik_llama.cpp at 55d3c05.
"""

from sampler_parity.reference import floats, sorting
from sampler_parity.reference.candidates import Candidates
from sampler_parity.reference.errors import UndefinedInputError

_LARGEST_SORT = 1024


def sort(cand: Candidates, n: int | None = None) -> None:
    """Put the n largest first, all by default, and leave out the others."""
    wanted = len(cand) if n is None else n
    if cand.sorted or len(cand) < 2:
        cand.keep(slice(wanted))
        return
    cand.refuse_nan()
    if wanted > _LARGEST_SORT:
        cand.keep(sorting.bucket_sort(cand.logits, wanted))
    elif wanted == len(cand):
        cand.keep(sorting.std_sort(cand.logits))
    else:
        cand.keep(sorting.std_partial_sort(cand.logits, wanted))
    cand.sorted = True


def softmax(cand: Candidates) -> None:
    """Sort, then p = exp(logit - first) / sum. Raises UndefinedInputError without candidates."""
    if len(cand) == 0:
        raise UndefinedInputError("softmax of no candidates (ik_llama.cpp aborts)")
    sort(cand)
    cand.p = floats.softmax(cand.logits, cand.logits[0])
