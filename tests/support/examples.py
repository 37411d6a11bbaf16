"""How many examples of a property are drawn: the nightly workflow draws all, a commit a third."""

import os


def examples(all_of_them: int) -> int:
    return all_of_them if os.environ.get("SAMPLER_PARITY_NIGHTLY") else -(-all_of_them // 3)
